"""The samples of a split for a training loop of one's own, by number."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from torch.utils.data import Dataset

from synth.corpus.corpus import Corpus
from train.config.run import AudioMode
from train.data.split import TRAIN, SplitData


class SampleDataset(Dataset[dict[str, Any]]):
    """The samples of a split; a `DataLoader` takes lists of them with `collate_fn=list`."""

    def __init__(self, corpus: Path, split: str = TRAIN) -> None:
        self._opened = corpus, split
        self._data = SplitData(Corpus.open(corpus), split, AudioMode.SHARDS)

    def __len__(self) -> int:
        return len(self._data)

    def __getitem__(self, number: int) -> dict[str, Any]:
        return read_sample(self._data, range(len(self))[number])

    def __reduce__(self) -> tuple[Any, ...]:
        return SampleDataset, self._opened


def read_sample(data: SplitData, position: int) -> dict[str, Any]:
    """A sample as plain values.

    Returns:
        `id`, `corpus`, `caption`, `positives` and `negatives` (further true, and false captions),
        `pcm` (int16, mono), `sample_rate` in Hz.
    """
    (row,) = data.rows([position])
    return {
        "id": row["id"],
        "corpus": data.corpus.name,
        "caption": row["caption"],
        "positives": [text["text"] for text in row["positives"]],
        "negatives": [text["text"] for text in row["negatives"]],
        "pcm": data.pcm(row),
        "sample_rate": data.corpus.sample_rate,
    }
