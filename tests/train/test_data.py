"""A corpus as the trainer sees it."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from synth.corpus import Corpus
from synth.errors import SpecError
from train.config import Mode, Stage
from train.data import SplitData, meaning, numbered

ALL = Stage(steps=1, negatives=True)


@pytest.fixture(scope="module")
def data(corpus: Path) -> SplitData:
    return SplitData(Corpus.open(corpus), "train", Mode.SHARDS)


def test_shards_and_virtual_shards_give_the_same_audio(corpus: Path, data: SplitData) -> None:
    virtual = SplitData(Corpus.open(corpus), "train", Mode.VIRTUAL)
    positions = range(len(data))
    assert torch.equal(data.waveforms(positions), virtual.waveforms(positions))


def test_waveforms_are_padded_with_silence_to_the_longest(data: SplitData) -> None:
    frames = data.table["frames"].to_pylist()
    order = np.argsort(frames)
    short, long = int(order[0]), int(order[-1])
    batch = data.waveforms([short, long])
    assert batch.shape == (2, data.longest)
    assert not batch[0, frames[short] :].any()
    assert batch.abs().max() <= 1


def test_texts_are_a_pure_function_of_seed_step_and_sample(data: SplitData) -> None:
    positions = list(range(12))
    drawn = data.texts(positions, ALL, True, 0, 3)
    assert drawn == data.texts(positions, ALL, True, 0, 3)
    turned = data.texts(positions[::-1], ALL, True, 0, 3)
    assert turned.captions == drawn.captions[::-1]
    others = {data.texts(positions, ALL, True, 0, step).captions for step in range(5)}
    assert len(others) == 5


def test_captions_are_true_and_negatives_are_of_their_owner(data: SplitData) -> None:
    positions = list(range(len(data)))
    texts = data.texts(positions, ALL, True, 0, 0)
    for number, row in enumerate(data.rows(positions)):
        true = {row["caption"], *(text["text"] for text in row["positives"])}
        own = {
            text
            for text, owner in zip(texts.negatives, texts.owner, strict=True)
            if owner == number
        }
        assert texts.captions[number] in true
        assert own == {text["text"] for text in row["negatives"]}


def test_a_stage_keeps_to_its_relations(data: SplitData) -> None:
    stage = Stage(steps=1, relations=("before",), negatives=True)
    pool = data.pool(stage).tolist()
    assert {data.relations[position] for position in pool} == {"before"}
    texts = data.texts(pool, stage, True, 0, 0)
    assert all(" before " in text for text in texts.captions + texts.negatives)
    with pytest.raises(SpecError, match="relations are after, before, while"):
        data.pool(Stage(steps=1, relations=("during",)))


def test_meaning_forgets_the_order_of_what_is_heard_together() -> None:
    dog, rain = {"event": "dog"}, {"event": "rain"}
    together = [{"overlay": [dog, rain], "offset": 0}, {"overlay": [rain, dog], "offset": 0}]
    follows = [{"sequence": [dog, rain], "crossfade": 0}, {"sequence": [rain, dog], "crossfade": 0}]
    assert len({meaning(json.dumps(claim)) for claim in together}) == 1
    assert len({meaning(json.dumps(claim)) for claim in follows}) == 2
    assert meaning(json.dumps({"not": together[0]})) == meaning(json.dumps({"not": together[1]}))


def test_numbers_are_equal_where_keys_are() -> None:
    assert numbered(["b", "a", "b"]).tolist() == [0, 1, 0]
