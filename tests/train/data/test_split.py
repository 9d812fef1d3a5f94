"""A corpus as the trainer sees it."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pyarrow as pa
import pytest
import torch

from synth.base.errors import SpecError
from synth.corpus.corpus import Corpus
from train.config.run import Mode, Stage, TrainConfig
from train.data.loader import Assembler, Loader, Share
from train.data.meaning import meaning
from train.data.split import Row, SplitData, number_keys
from train.data.tokenizer import TextTokenizer


@pytest.fixture(scope="module")
def data(corpus: Path) -> SplitData:
    return SplitData(Corpus.open(corpus), "train", Mode.SHARDS)


def test_shards_and_virtual_shards_give_the_same_audio(corpus: Path, data: SplitData) -> None:
    virtual = SplitData(Corpus.open(corpus), "train", Mode.VIRTUAL)
    positions = range(len(data))
    rows = data.rows(positions)
    assert torch.equal(data.waveforms(rows), virtual.waveforms(rows))


def test_waveforms_are_padded_with_silence_to_the_longest(data: SplitData) -> None:
    frames = data.table["frames"].to_pylist()
    order = np.argsort(frames)
    short, long = int(order[0]), int(order[-1])
    batch = data.waveforms(data.rows([short, long]))
    assert batch.shape == (2, data.longest)
    assert not batch[0, frames[short] :].any()
    assert batch.abs().max() <= 1


def test_a_stage_keeps_to_its_relations(data: SplitData) -> None:
    stage = Stage(steps=1, relations=("before",))
    assert {data.relations[position] for position in data.pool(stage)} == {"before"}
    with pytest.raises(SpecError, match="relations are after, before, while"):
        data.pool(Stage(steps=1, relations=("during",)))


def test_rows_come_from_one_piece_however_the_manifest_is_cut(corpus: Path) -> None:
    opened = Corpus.open(corpus)
    whole = SplitData(opened, "train", Mode.SHARDS)
    pieces = opened.samples("train")
    pieces = pa.concat_tables([pieces.slice(k, 1) for k in range(len(pieces))])
    cut = SplitData(
        Mock(Corpus, samples=lambda split, columns: pieces.select(columns)), "train", Mode.SHARDS
    )
    assert all(column.num_chunks == 1 for column in cut.table.columns)
    assert cut.rows([3, 1, 3]) == whole.rows([3, 1, 3])
    assert [row["position"] for row in cut.rows([3, 1, 3])] == [3, 1, 3]
    said = {
        text
        for row in whole.rows(range(len(whole)))
        for text in [row["caption"], *(one["text"] for one in row["positives"] + row["negatives"])]
    }
    assert cut.vocabulary() == whole.vocabulary() == said


def test_a_batch_takes_its_rows_once(
    data: SplitData, settings: Callable[..., TrainConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    assembler = Assembler.of(
        data, TextTokenizer.of_texts(data.vocabulary()), settings(), cached=False
    )
    loader = Loader(assembler, settings(), Share())
    asked: list[int] = []
    rows = SplitData.rows

    def counted(self: SplitData, positions: Sequence[int]) -> list[Row]:
        asked.append(len(positions))
        return rows(self, positions)

    monkeypatch.setattr(SplitData, "rows", counted)
    assert loader.batch(0).audio.waveform is not None
    assert len(asked) == 1


def test_meaning_forgets_the_order_of_what_is_heard_together() -> None:
    dog, rain = {"event": "dog"}, {"event": "rain"}
    together = [{"overlay": [dog, rain], "offset": 0}, {"overlay": [rain, dog], "offset": 0}]
    follows = [{"sequence": [dog, rain], "crossfade": 0}, {"sequence": [rain, dog], "crossfade": 0}]
    assert len({meaning(json.dumps(claim)) for claim in together}) == 1
    assert len({meaning(json.dumps(claim)) for claim in follows}) == 2
    assert meaning(json.dumps({"not": together[0]})) == meaning(json.dumps({"not": together[1]}))


@pytest.mark.parametrize("kind", ["sequence", "overlay", "and"])
def test_meaning_forgets_how_equal_compositions_are_nested(kind: str) -> None:
    a, b, c = ({"event": name} for name in "abc")
    rest = {"sequence": {"crossfade": 0}, "overlay": {"offset": 0}, "and": {}}[kind]

    def join(first: object, second: object) -> dict[str, object]:
        return {kind: [first, second], **rest}

    left, right = join(join(a, b), c), join(a, join(b, c))
    assert meaning(json.dumps(left)) == meaning(json.dumps(right))
    other = {"overlay": [join(a, b), c], "offset": 1}
    assert meaning(json.dumps(left)) != meaning(json.dumps(other))


def test_numbers_are_equal_where_keys_are() -> None:
    assert number_keys(["b", "a", "b"]).tolist() == [0, 1, 0]
