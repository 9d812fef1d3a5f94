"""Batches of several corpora, in the trainer and without; what a loss asks of a corpus."""

from __future__ import annotations

import csv
import pickle
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
import torch
from pydantic import ValidationError
from torch.utils.data import DataLoader

from synth.base.errors import CorpusError, SpecError
from synth.corpus.corpus import Corpus
from tests.kit.runs import Dies, equal
from train.config.loss import InfoNce, Loss, TeminalA, TeminalB, TextSwap
from train.config.run import AudioMode, Mix, Stage, TrainConfig
from train.data.blended import BlendedCorpora, join_splits, open_splits
from train.data.frames import sounds_of
from train.data.loader import Assembler, Loader, refuse_unsuitable
from train.data.recordings import load_recordings
from train.data.split import SplitData
from train.data.tokenizer import TextTokenizer
from train.engine.loop import train

Settings = Callable[..., TrainConfig]
PAIRS: dict[str, Any] = {
    "corpus": "tiny",
    "recipe": {"acba": {"pairs": {"train": 10, "val": 2, "test": 2}, "crossfade_s": 0.25}},
    "source": {"foley": {"classes": ["rooster", "crow", "wind"], "takes": 5}},
}


ACBA_TEST = {"acba": {"pairs": {"test": 2}, "crossfade_s": 0.25}}


@pytest.fixture(scope="module")
def other(build_corpus: Callable[..., Path]) -> Path:
    return build_corpus(**PAIRS)


@pytest.fixture(scope="module")
def twin(build_corpus: Callable[..., Path]) -> Path:
    """Such a corpus as the run's own, of another seed."""
    return build_corpus(seed=8)


@pytest.fixture
def mixed(settings: Settings, other: Path) -> TrainConfig:
    return settings(mix=(Mix(corpus=other, weight=0.25),), batch=12)


def load(config: TrainConfig, rank: int = 0, ranks: int = 1) -> tuple[SplitData, Loader]:
    data = join_splits(open_splits(config))
    tokenizer = TextTokenizer.of_texts(data.vocabulary())
    assembler = Assembler.of(data, tokenizer, config, cached=True)
    return data, Loader(assembler, config, rank, ranks)


def test_every_batch_holds_its_share_and_in_the_end_every_sample(mixed: TrainConfig) -> None:
    data, loader = load(mixed)
    main, other = open_splits(mixed)
    assert len(data) == len(main) + len(other)
    (own,) = data.mixed
    seen: set[int] = set()
    for step in range(mixed.steps):
        positions = loader.batch(step).audio.positions
        drawn = [each for each in positions if each in own]
        assert len(drawn) == 3
        assert len(positions) == 3 + 9  # whole groups of three beside them
        seen |= set(drawn)
    assert seen == set(own.tolist())


@pytest.mark.parametrize("ranks", [1, 2])
def test_samples_keep_to_weights(settings: Settings, other: Path, twin: Path, ranks: int) -> None:
    mix = (Mix(corpus=other, weight=0.3), Mix(corpus=twin, weight=0.15))
    config = settings(mix=mix, batch=7, keep_groups=False)
    loaders = [load(config, rank, ranks)[1] for rank in range(ranks)]
    data = load(config)[0]
    ends = np.cumsum([0, *map(len, open_splits(config))])
    counts = np.zeros(3)
    for step in range(config.steps):
        batches = [loader.batch(step) for loader in loaders]
        positions = [each for batch in batches for each in batch.audio.positions]
        assert len(set(positions)) == 7
        assert max(batches[0].counts) - min(batches[0].counts) <= 3
        counts += np.histogram(positions, ends)[0]
        weighed = 7 * (step + 1) * np.array([0.55, 0.3, 0.15])
        assert np.abs(counts - weighed).max() < 1
        rows = data.rows([each for each in positions if each < ends[1]])
        assert step >= 5 or {row["relation"] for row in rows} == {"before"}


def test_processes_share_samples_and_a_step_is_the_same(mixed: TrainConfig) -> None:
    _, alone = load(mixed)
    halves = [load(mixed, rank, 2)[1] for rank in range(2)]
    for step in (0, 7):
        whole = alone.batch(step)
        parts = [half.batch(step) for half in halves]
        together = [each for part in parts for each in part.audio.positions]
        assert sorted(together) == sorted(whole.audio.positions)
        assert all(part.counts == parts[0].counts for part in parts)
        assert [len(part.audio.positions) for part in parts] == list(parts[0].counts)
        again = load(mixed)[1].batch(step)
        assert again.audio.positions == whole.audio.positions
        assert torch.equal(again.texts.ids, whole.texts.ids)


def test_the_sounds_of_a_batch_are_those_of_each_corpus(mixed: TrainConfig) -> None:
    data, _ = load(mixed)
    parts = open_splits(mixed)
    assert data.is_labelled.tolist() == [one for part in parts for one in part.is_labelled]
    assert data.is_labelled.all()
    assert data.find_labels() == {"dog", "rain", "siren", "wind", "rooster", "crow"}
    rows = data.rows([0, len(data) - 1])
    assert sounds_of(data, rows) == tuple(sorted({*rows[0]["labels"], *rows[1]["labels"]}))


def test_rows_and_sounds_are_those_of_each_corpus(mixed: TrainConfig) -> None:
    data = join_splits(open_splits(mixed))
    main, other = open_splits(mixed)
    start = len(main)
    rows = data.rows([start + 1, 0, start])
    assert [row.position for row in rows] == [start + 1, 0, start]
    captions = [row["caption"] for row in (*other.rows([1]), *main.rows([0]), *other.rows([0]))]
    assert [row["caption"] for row in rows] == captions
    for row, part, position in zip(rows, (other, main, other), (1, 0, 0), strict=True):
        assert np.array_equal(data.pcm(row), part.pcm(part.rows([position])[0]))
    assert rows[1]["group"] == main.rows([0])[0]["group"]
    assert not {row["group"] for row in data.rows(range(start))} & {
        row["group"] for row in data.rows(range(start, len(data)))
    }
    assert data.vocabulary() == main.vocabulary() | other.vocabulary()
    assert data.longest == max(main.longest, other.longest)


def test_relations_of_a_stage_are_about_the_corpus_alone(settings: Settings, twin: Path) -> None:
    config = settings(
        mix=(Mix(corpus=twin, weight=0.5),),
        stages=(Stage(steps=9, relations=("before",)),),
        crop_s=1.5,
    )
    data, loader = load(config)
    told = {False: set[str](), True: set[str]()}
    for step in range(9):
        for row in data.rows(loader.batch(step).audio.positions):
            told[row.position in data.mixed[0]].add(row["relation"])
    assert told[False] == {"before"}
    assert told[True] == {"before", "after", "while"}


def test_a_mixed_run_resumes_anywhere(mixed: TrainConfig, twin: Path, other: Path) -> None:
    whole = mixed.scale_steps(6)
    train(whole)
    broken = whole.model_copy(update={"out": whole.out.with_name("broken")})
    with pytest.raises(RuntimeError, match="killed"):
        train(broken, Dies(5))
    for mix, told in (
        ((Mix(corpus=twin, weight=0.25),), "another corpus"),
        ((Mix(corpus=other, weight=0.3),), "other settings: mix"),
    ):
        with pytest.raises(SpecError, match=told):
            train(broken.model_copy(update={"mix": mix}), resume=True)
    elsewhere = other.with_name("elsewhere")
    elsewhere.symlink_to(other)
    moved = broken.model_copy(update={"mix": (Mix(corpus=elsewhere, weight=0.25),)})
    assert train(moved, resume=True).finished
    assert equal(whole.out, broken.out)
    heard = load_recordings(whole.out)
    assert any("rooster" in name for name in heard.clips)
    assert any("siren" in name for name in heard.clips)


def test_what_cannot_be_mixed_is_told(
    settings: Settings, corpus: Path, other: Path, build_corpus: Callable[..., Path]
) -> None:
    slow = build_corpus(**PAIRS, audio={"sample_rate": 8000})
    no_train = build_corpus(**PAIRS | {"recipe": ACBA_TEST}, splits={"test": [1, 2]})
    again = other.with_name("again")
    again.symlink_to(other)
    for change, told in (
        (
            {"mix": (Mix(corpus=slow, weight=0.2),)},
            r"mix\.0: .*at 8000 Hz, those of .* at 16000 Hz",
        ),
        ({"mix": (Mix(corpus=no_train, weight=0.2),)}, r"mix\.0: .*has no split 'train'"),
        ({"mix": (Mix(corpus=corpus, weight=0.2),)}, r"mix\.0: .*is mixed with itself"),
        (
            {"mix": (Mix(corpus=other, weight=0.2), Mix(corpus=again, weight=0.1))},
            r"mix\.1: .*is mixed with itself",
        ),
        (
            {"mix": (Mix(corpus=other, weight=0.9),), "batch": 90},
            r"mix\.0: .*has 10 samples in play, a batch takes 81",
        ),
        ({"mix": (Mix(corpus=other, weight=0.1234567),)}, "are too fine"),
        ({"mix": (Mix(corpus=other, weight=0.99),)}, "mix leaves no sample of `corpus` in some"),
    ):
        with pytest.raises(SpecError, match=told):
            train(settings(**change))


def test_weights_that_leave_nothing_are_refused_as_they_are_written() -> None:
    """In binary, 0.7 + 0.2 + 0.1 is less than 1."""
    mix = [
        {"corpus": name, "weight": weight} for name, weight in (("a", 0.7), ("b", 0.2), ("c", 0.1))
    ]
    with pytest.raises(ValidationError, match="mix leaves no sample of `corpus`"):
        TrainConfig.model_validate({"corpus": "x", "out": "y", "mix": mix})
    with pytest.raises(ValidationError, match=r"mix\.0\.weight"):
        TrainConfig.model_validate({"corpus": "x", "out": "y", "mix": [{**mix[0], "weight": 0}]})


@pytest.fixture(scope="module")
def captioned(tmp_path_factory: pytest.TempPathFactory, build_corpus: Callable[..., Path]) -> Path:
    """Single sounds with several captions each, and nothing else that is known of them."""
    root = tmp_path_factory.mktemp("captioned")
    (root / "audio").mkdir()
    with (root / "train.csv").open("w", newline="") as file:
        table = csv.writer(file)
        table.writerow(["audiocap_id", "youtube_id", "start_time", "caption"])
        for hertz in range(200, 1000, 40):
            wave = np.sin(2 * np.pi * hertz * np.arange(32_000) / 16_000)
            soundfile.write(root / "audio" / f"{hertz}.wav", 0.3 * wave, 16_000)
            for what in WHATS:
                table.writerow([hertz, f"video{hertz}", 0, f"{what} at {hertz} hertz"])
    return build_corpus(
        source={"audiocaps": {"root": str(root)}},
        recipe="clips",
        splits={"train": ["train"]},
    )


WHATS = ("a hum", "a steady tone", "someone whistles", "a sine wave", "a beep")


def test_plain_captions_are_told_apart(settings: Settings, captioned: Path) -> None:
    config = settings(mix=(Mix(corpus=captioned, weight=0.5),), batch=12)
    data, loader = load(config)
    (own,) = data.mixed
    for row in data.rows(own.tolist()):
        said = [row["caption"], *(text["text"] for text in row["positives"])]
        assert {text.partition(" at ")[0] for text in said} == set(WHATS)
        assert len({text.partition(" at ")[2] for text in said}) == 1
    assert {"whistles", "sine"} <= data.vocabulary()
    for step in range(6):
        batch = loader.batch(step)
        places = [k for k, each in enumerate(batch.audio.positions) if each in own]
        assert len({int(batch.keys[1, k]) for k in places}) == len(places) == 6
    # A part of such a sound is told by none of them.
    cropped = Assembler.of(data, loader.assembler.tokenizer, settings(crop_s=1.0), cached=True)
    with pytest.raises(SpecError, match=r"no part of 1 s proves a caption"):
        cropped.check(config.stages[0], own, 16_000)


# Batches of several corpora without the trainer: the same with any number of workers.


Batch = list[dict[str, Any]]


@pytest.fixture(scope="module")
def pairs(build_corpus: Callable[..., Path]) -> Path:
    return build_corpus(
        corpus="pairs",
        recipe={"acba": {"pairs": {"train": 10, "val": 2, "test": 2}, "crossfade_s": 0.25}},
        source={"foley": {"classes": ["rooster", "crow", "wind"], "takes": 5}},
    ).with_name("pairs")


def ids(batches: list[Batch]) -> list[list[str]]:
    return [[sample["id"] for sample in batch] for batch in batches]


def test_samples_are_those_of_the_corpora_in_their_shares(corpus: Path, pairs: Path) -> None:
    data = BlendedCorpora({corpus: 3, pairs: 1}, batch=6)
    batches = list(islice(data, 20))
    samples = [sample for batch in batches for sample in batch]
    assert [len(batch) for batch in batches] == [6] * 20
    assert sum(sample["corpus"] == "pairs" for sample in samples) == 30
    for folder in (corpus, pairs):
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
def test_workers_do_not_change_the_batches(corpus: Path, pairs: Path, workers: int) -> None:
    alone = ids(list(islice(BlendedCorpora({corpus: 0.7, pairs: 0.3}, batch=4, seed=5), 8)))
    data = BlendedCorpora({corpus: 0.7, pairs: 0.3}, batch=4, seed=5)
    loader = DataLoader(data, batch_size=None, num_workers=workers)
    assert ids(list(islice(loader, 8))) == alone
    data.load_state_dict({"step": 5})
    assert ids(list(islice(loader, 3))) == alone[5:]
    assert ids([pickle.loads(pickle.dumps(data)).batch(2)]) == alone[2:3]


def test_an_iteration_goes_on_where_its_state_was_taken(corpus: Path, pairs: Path) -> None:
    whole = ids(list(islice(BlendedCorpora({corpus: 1, pairs: 1}, batch=5), 9)))
    first = BlendedCorpora({corpus: 1, pairs: 1}, batch=5, mode=AudioMode.VIRTUAL)
    assert ids(list(islice(first, 4))) == whole[:4]
    second = BlendedCorpora({corpus: 1, pairs: 1}, batch=5)
    second.load_state_dict(first.state_dict())
    assert ids(list(islice(second, 5))) == whole[4:]
    other_seed = BlendedCorpora({corpus: 1, pairs: 1}, batch=5, seed=1)
    assert ids(list(islice(other_seed, 9))) != whole


def test_ranks_take_parts_of_the_same_batches(corpus: Path, pairs: Path) -> None:
    whole = BlendedCorpora({corpus: 2, pairs: 1}, batch=7).batch(3)
    parts = [
        BlendedCorpora({corpus: 2, pairs: 1}, batch=7, rank=rank, ranks=2).batch(3)
        for rank in range(2)
    ]
    assert [len(part) for part in parts] == [4, 3]
    joint = [sample["id"] for part in parts for sample in part]
    assert sorted(joint) == sorted(sample["id"] for sample in whole)


def test_what_cannot_be_blended_is_told(corpus: Path, pairs: Path, tmp_path: Path) -> None:
    again = tmp_path / "again"
    again.symlink_to(corpus)
    cases: list[tuple[dict[str | Path, float], dict[str, Any], str]] = [
        ({corpus: 1, again: 1}, {}, "again: is mixed with itself"),
        ({corpus: 1, pairs: 0}, {}, "weights 1, 0: expected numbers above 0"),
        ({corpus: 1, pairs: 1}, {"split": "dev"}, "has no split 'dev'"),
        ({corpus: 1, pairs: 9}, {"batch": 90}, "has 10 samples in play, a batch takes 81"),
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


# A loss is not trained on a corpus that gives it nothing to do.


STAGE_A = {"triplets": {"stage_a": True, "max_event_s": 1.0}}
ACBA = {"acba": {"pairs": {"train": 12}, "relations": ["then"], "crossfade_s": 0.25}}


def opened(folder: Path) -> SplitData:
    return SplitData(Corpus.open(folder), "train", AudioMode.SHARDS)


def stage(loss: Loss, **changes: Any) -> Stage:
    return Stage(steps=1, loss=loss, **changes)


def test_a_loss_has_what_it_is_about(corpus: Path, build_corpus: Callable[..., Path]) -> None:
    triplets = opened(corpus)
    singles = opened(build_corpus(recipe=STAGE_A))
    pairs = opened(build_corpus(recipe=ACBA, splits={"train": [1, 2, 3]}))
    refuse_unsuitable(triplets, stage(TeminalB()))
    refuse_unsuitable(singles, stage(TeminalA()))
    refuse_unsuitable(triplets, stage(TextSwap()))
    for data, loss in ((triplets, TeminalA()), (pairs, TeminalA())):
        with pytest.raises(SpecError, match="needs single and combined sounds"):
            refuse_unsuitable(data, stage(loss, relations=("before", "after")))
    for data in (singles, pairs):
        with pytest.raises(SpecError, match="needs triplets"):
            refuse_unsuitable(data, stage(TeminalB()))
    with pytest.raises(SpecError, match=r"needs fully negated captions.*negation"):
        refuse_unsuitable(triplets, stage(InfoNce(), dissimilarity=0.1))


def test_what_a_run_lacks_is_told_before_it_writes(
    settings: Callable[..., TrainConfig], build_corpus: Callable[..., Path]
) -> None:
    config = settings(stages=(stage(InfoNce(), dissimilarity=0.1),))
    with pytest.raises(SpecError, match="fully negated"):
        train(config)
    assert not config.out.exists()
    without = build_corpus(splits={"train": [1, 2, 3]})
    with pytest.raises(SpecError, match="`patience` needs validation"):
        train(settings(corpus=without, patience=2))
