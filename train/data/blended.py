"""Batches of several corpora, for a training loop of one's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count
from pathlib import Path
from typing import Any, Final

from torch.utils.data import IterableDataset, get_worker_info

from synth.base.errors import SpecError
from synth.corpus.corpus import Corpus
from synth.storage import format_place
from train.config.run import AudioMode
from train.data.blend import Blend
from train.data.mixed import refuse_unlike
from train.data.order import refuse_few
from train.data.split import TRAIN, SplitData
from train.data.stream import Stream

_OPENED: Final = ("_parts", "_streams")


class BlendedCorpora(IterableDataset[list[dict[str, Any]]]):
    """Batches without end, in which each corpus has its share of the samples.

    A batch is a list of samples: `id`, `corpus`, `caption`, `positives` and `negatives` (further
    true, and false captions), `pcm` (int16, mono), `sample_rate` in Hz. It depends on nothing but
    the arguments and its number, so give it to `DataLoader(..., batch_size=None)`, with any number
    of workers. After every batch, each corpus is within one sample of its share. It is passed
    through wholly before it repeats, in another order each time.

    Args:
        weights: Of each corpus, by manifest folder or URL; they need not sum to 1.
        batch: Samples of a batch, over all processes.
        split: Of every corpus.
        mode: Read shards, or render from plan and bank.
        rank: Number of this process.
        ranks: Processes, each of which takes a part of every batch.
    """

    def __init__(
        self,
        weights: Mapping[str | Path, float],
        batch: int,
        *,
        split: str = TRAIN,
        seed: int = 0,
        mode: AudioMode = AudioMode.SHARDS,
        rank: int = 0,
        ranks: int = 1,
    ) -> None:
        self._weights, self._split, self._mode = dict(weights), split, AudioMode(mode)
        self._seed, self._rank, self._ranks = seed, rank, ranks
        self._blend = Blend.of(list(weights.values()), batch)
        self._step = 0
        if not 0 <= rank < ranks:
            raise SpecError(f"rank {rank} of {ranks}: expected 0 to ranks - 1")
        refuse_few(batch, ranks)
        self._open()

    def batch(self, step: int) -> list[dict[str, Any]]:
        """This process's part of batch number `step`."""
        starts, stops = self._blend.before(step), self._blend.before(step + 1)
        drawn = [
            (number, position)
            for number, (start, stop) in enumerate(zip(starts, stops, strict=True))
            for position in self._streams[number].take(start, stop).tolist()
        ]
        return [self._sample(*each) for each in drawn[self._rank :: self._ranks]]

    def __iter__(self) -> Iterator[list[dict[str, Any]]]:
        worker = get_worker_info()
        first, stride = (worker.id, worker.num_workers) if worker else (0, 1)
        for step in count(self._step + first, stride):
            self._step = step + stride - first
            yield self.batch(step)

    def state_dict(self) -> dict[str, int]:
        """The number of the next batch.

        Workers of a `DataLoader` have copies of this: where there are any, count the batches. With
        torchdata's `StatefulDataLoader` each worker keeps its own state.
        """
        return {"step": self._step}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Let the next iteration begin with batch number `state["step"]`."""
        self._step = state["step"]

    def _sample(self, number: int, position: int) -> dict[str, Any]:
        data = self._parts[number]
        (row,) = data.rows([position])
        return {
            "id": row["id"],
            "corpus": data.corpus.name,
            "caption": row["caption"],
            "positives": [each["text"] for each in row["positives"]],
            "negatives": [each["text"] for each in row["negatives"]],
            "pcm": data.pcm(row),
            "sample_rate": data.corpus.sample_rate,
        }

    def _open(self) -> None:
        self._parts: list[SplitData] = []
        self._streams: list[Stream] = []
        for place, most in zip(self._weights, self._blend.extremes[1], strict=True):
            where = format_place(place)
            corpus = Corpus.open(Path(place))
            refuse_unlike(where, corpus, self._split, [part.corpus for part in self._parts])
            part = SplitData(corpus, self._split, self._mode)
            name = f"blend-{len(self._parts)}"
            self._streams.append(Stream.of(range(len(part)), most, self._seed, name, where))
            self._parts.append(part)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in _OPENED}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._open()
