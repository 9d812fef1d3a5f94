"""Batches of several corpora without the trainer: the same with any number of workers."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from torch.utils.data import DataLoader

from synth.base.errors import CorpusError, SpecError
from synth.corpus.corpus import Corpus
from train.config.run import AudioMode
from train.data.blended import BlendedCorpora

Batch = list[dict[str, Any]]


@pytest.fixture(scope="module")
def other(build_corpus: Callable[..., Path]) -> Path:
    return build_corpus(
        corpus="pairs",
        recipe={"acba": {"pairs": {"train": 10, "val": 2, "test": 2}, "crossfade_s": 0.25}},
        source={"foley": {"classes": ["rooster", "crow", "wind"], "takes": 5}},
    ).with_name("pairs")


def ids(batches: list[Batch]) -> list[list[str]]:
    return [[sample["id"] for sample in batch] for batch in batches]


def test_samples_are_those_of_the_corpora_in_their_shares(corpus: Path, other: Path) -> None:
    data = BlendedCorpora({corpus: 3, other: 1}, batch=6)
    batches = list(islice(data, 20))
    samples = [sample for batch in batches for sample in batch]
    assert [len(batch) for batch in batches] == [6] * 20
    assert sum(sample["corpus"] == "pairs" for sample in samples) == 30
    for folder in (corpus, other):
        found = Corpus.open(folder)
        rows = {row["id"]: row for row in found.samples("train").to_pylist()}
        own = [sample for sample in samples if sample["corpus"] == found.name]
        # Wholly, before any comes again.
        assert len({sample["id"] for sample in own[: len(rows)]}) == min(len(rows), len(own))
        for sample in own[:12]:
            row = rows[sample["id"]]
            assert sample["caption"] == row["caption"]
            assert sample["positives"] == [each["text"] for each in row["positives"]]
            assert sample["negatives"] == [each["text"] for each in row["negatives"]]
            assert sample["sample_rate"] == 16_000
            assert np.array_equal(sample["pcm"], found.virtual_pcm(row))


@pytest.mark.parametrize("workers", [1, 3])
def test_any_number_of_workers_gives_the_same_batches(
    corpus: Path, other: Path, workers: int
) -> None:
    alone = ids(list(islice(BlendedCorpora({corpus: 0.7, other: 0.3}, batch=4, seed=5), 8)))
    data = BlendedCorpora({corpus: 0.7, other: 0.3}, batch=4, seed=5)
    loader = DataLoader(data, batch_size=None, num_workers=workers)
    assert ids(list(islice(loader, 8))) == alone
    data.load_state_dict({"step": 5})
    assert ids(list(islice(loader, 3))) == alone[5:]
    assert ids([pickle.loads(pickle.dumps(data)).batch(2)]) == alone[2:3]


def test_an_iteration_goes_on_where_its_state_was_taken(corpus: Path, other: Path) -> None:
    whole = ids(list(islice(BlendedCorpora({corpus: 1, other: 1}, batch=5), 9)))
    first = BlendedCorpora({corpus: 1, other: 1}, batch=5, mode=AudioMode.VIRTUAL)
    assert ids(list(islice(first, 4))) == whole[:4]
    second = BlendedCorpora({corpus: 1, other: 1}, batch=5)
    second.load_state_dict(first.state_dict())
    assert ids(list(islice(second, 5))) == whole[4:]
    other_seed = BlendedCorpora({corpus: 1, other: 1}, batch=5, seed=1)
    assert ids(list(islice(other_seed, 9))) != whole


def test_processes_take_parts_of_the_same_batches(corpus: Path, other: Path) -> None:
    whole = BlendedCorpora({corpus: 2, other: 1}, batch=7).batch(3)
    parts = [
        BlendedCorpora({corpus: 2, other: 1}, batch=7, rank=rank, ranks=2).batch(3)
        for rank in range(2)
    ]
    assert [len(part) for part in parts] == [4, 3]
    joint = [sample["id"] for part in parts for sample in part]
    assert sorted(joint) == sorted(sample["id"] for sample in whole)


def test_what_cannot_be_blended_is_told(corpus: Path, other: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    again.symlink_to(corpus)
    cases: list[tuple[dict[str | Path, float], dict[str, Any], str]] = [
        ({corpus: 1, again: 1}, {}, "again: is mixed with itself"),
        ({corpus: 1, other: 0}, {}, "weights 1, 0: expected numbers above 0"),
        ({corpus: 1, other: 1}, {"split": "dev"}, "has no split 'dev'"),
        ({corpus: 1, other: 9}, {"batch": 90}, "has 10 samples in play, a batch takes 81"),
        ({corpus: 1}, {"batch": 2, "ranks": 3}, "cannot be shared by 3 processes"),
        ({corpus: 1}, {"rank": 2, "ranks": 2}, "rank 2 of 2: expected 0 to ranks - 1"),
        ({corpus: 1}, {"rank": -1, "ranks": 2}, "rank -1 of 2"),
        ({corpus: 1}, {"ranks": 0}, "rank 0 of 0"),
        ({corpus: 1}, {"batch": 0}, "a batch of 0 samples"),
        ({}, {}, "expected corpora to blend"),
    ]
    for weights, changes, told in cases:
        with pytest.raises(SpecError, match=told):
            BlendedCorpora(weights, **{"batch": 4} | changes)
    with pytest.raises(CorpusError, match="no finished corpus here"):
        BlendedCorpora({tmp_path: 1}, batch=4)
