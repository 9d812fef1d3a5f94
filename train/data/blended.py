"""Several corpora as one: mixed into a run's own, or blended for a training loop of one's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import accumulate, count, groupby, pairwise
from pathlib import Path
from typing import Any, Final

import numpy as np
from jaxtyping import Bool, Int
from torch.utils.data import IterableDataset, get_worker_info

from synth.audio.dsp import Pcm
from synth.base.errors import SpecError
from synth.corpus.corpus import Corpus
from synth.labels.lexicon import Tag
from synth.storage import format_place
from train.config.run import AudioMode, TrainConfig
from train.data.order import Blend, Stream, refuse_few
from train.data.rows import Row
from train.data.samples import read_sample
from train.data.split import TRAIN, SplitData
from train.data.tokenizer import CutTexts, TextTokenizer


class MixedData(SplitData):
    """A split and those mixed into it; their positions follow its own, one split after another.

    Pools, groups and what losses ask for are those of the first split. The others are in play in
    every stage, as their own groups.
    """

    def __init__(self, main: SplitData, others: Sequence[SplitData]) -> None:
        super().__init__(main.corpus, main.split, main.mode, main._rows)
        self._parts = (main, *others)
        self._starts = tuple(accumulate(map(len, self._parts), initial=0))

    def __len__(self) -> int:
        return self._starts[-1]

    @property
    def mixed(self) -> Sequence[Int[np.ndarray, " _samples"]]:
        """Positions of the samples of each split that is mixed in."""
        return [np.arange(start, stop) for start, stop in pairwise(self._starts[1:])]

    @cached_property
    def frames(self) -> Int[np.ndarray, " samples"]:
        """Length of every sample in frames."""
        return np.concatenate([part.frames for part in self._parts])

    def rows(self, positions: Sequence[int]) -> list[Row]:
        """The rows at `positions`."""
        rows: list[Row] = []
        for number, run in groupby(positions, self._number_of):
            start = self._starts[number]
            part = self._parts[number]
            own = part.rows([position - start for position in run])
            if number:
                own = [
                    replace(row.retell(group=f"{number}/{row['group']}"), mixed=True) for row in own
                ]
            rows += [replace(row, position=row.position + start) for row in own]
        return rows

    def pcm(self, row: Row) -> Pcm:
        """The audio of a manifest row."""
        return self._parts[self._number_of(row.position)].pcm(row)

    def _number_of(self, position: int) -> int:
        return int(np.searchsorted(self._starts, position, side="right")) - 1

    @cached_property
    def tags(self) -> Mapping[str, tuple[Tag, ...]]:
        """Tags of each clip that bears any."""
        return {clip: tags for part in self._parts for clip, tags in part.tags.items()}

    @cached_property
    def clip_captions(self) -> Mapping[str, tuple[str, ...]]:
        """Captions of each clip that has any; each describes the whole clip."""
        return {clip: texts for part in self._parts for clip, texts in part.clip_captions.items()}

    @cached_property
    def is_labelled(self) -> Bool[np.ndarray, " samples"]:
        """Of which samples the labels name every sound that is heard."""
        return np.concatenate([part.is_labelled for part in self._parts])

    def find_labels(self) -> set[str]:
        """The labels of the samples' sounds."""
        return set().union(*(part.find_labels() for part in self._parts))

    def vocabulary(self) -> set[str]:
        """Every word, as spaces part them, of the texts, true or false."""
        return set().union(*(part.vocabulary() for part in self._parts))

    def count_cut(self, tokenizer: TextTokenizer) -> CutTexts:
        """How many of the texts of all splits a tokenizer cuts."""
        counts = [part.count_cut(tokenizer) for part in self._parts]
        return CutTexts(
            sum(part.cut for part in counts), sum(part.texts for part in counts), counts[0].tokens
        )


def open_splits(config: TrainConfig) -> list[SplitData]:
    """What a run learns from: the split `train` of its corpus, and of those mixed in."""
    main = SplitData(Corpus.open(config.corpus), TRAIN, config.mode)
    splits = [main]
    for number, mix in enumerate(config.mix):
        where = f"mix.{number}: {format_place(mix.corpus)}"
        corpus = Corpus.open(mix.corpus)
        refuse_unlike(where, corpus, TRAIN, [split.corpus for split in splits])
        data = SplitData(corpus, TRAIN, config.mode)
        if data.audible != main.audible:
            raise SpecError(
                f"{where}: was built with another `truth.min_overlap_s` than {config.corpus}",
                fix="build both with the same `truth.min_overlap_s`",
            )
        splits.append(data)
    return splits


def refuse_unlike(where: str, corpus: Corpus, split: str, others: Sequence[Corpus]) -> None:
    """Check that samples of a split can be in one batch with those of other corpora."""
    if split not in corpus.splits:
        raise SpecError(
            f"{where}: has no split {split!r}", fix=f"its splits are {', '.join(corpus.splits)}"
        )
    for other in others:
        if corpus.facts["digest"] == other.facts["digest"]:
            raise SpecError(
                f"{where}: is mixed with itself, as {other.name} {other.version}",
                fix="name each corpus once",
            )
        if corpus.sample_rate != other.sample_rate:
            raise SpecError(
                f"{where}: its sounds are at {corpus.sample_rate} Hz, those of {other.name} at "
                f"{other.sample_rate} Hz",
                fix=f"build it with sample_rate: {other.sample_rate}",
            )


def join_splits(splits: Sequence[SplitData]) -> SplitData:
    """Splits as one, the first of them alone where nothing is mixed in."""
    return MixedData(splits[0], splits[1:]) if len(splits) > 1 else splits[0]


_OPENED: Final = ("_parts", "_streams")


class BlendedCorpora(IterableDataset[list[dict[str, Any]]]):
    """Batches without end, in which each corpus has its share of the samples.

    A batch is a list of samples, as `read_sample` gives them. It depends on nothing but the
    arguments and its number, so give it to `DataLoader(..., batch_size=None)`, with any number
    of workers. After every batch, each corpus is within one sample of its share. It is passed
    through wholly before it repeats, in another order each time.

    Args:
        weights: Of each corpus, by manifest folder or URL; they need not sum to 1.
        batch: Samples of a batch, over all processes.
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
        share = drawn[self._rank :: self._ranks]
        return [read_sample(self._parts[number], position) for number, position in share]

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
