"""Drafting: the rows of a plan, a run of groups at a time, in whatever process.

What tells a row's place in the corpus is still empty, as it depends on all rows before it.
"""

from __future__ import annotations

import gc
import hashlib
import mmap
import pickle
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple, Self, cast

import numpy as np
import pyarrow as pa

from pipelines.builder.usable import Shortage
from pipelines.config.enrich import Enrichment
from pipelines.config.spec import AudioSpec
from pipelines.engines.engine import Engine, run_in_order
from synth.base.atomic import PARTIAL_SUFFIX, translate_disk_errors
from synth.base.errors import CorpusError, LeftOutError, PlanError
from synth.base.units import Frames
from synth.captions.narrative import dense_captions
from synth.corpus.schema import PLAN, Sample, plan_text, to_table
from synth.corpus.shards import refuse_large
from synth.recipes.base import Draft, Groups
from synth.scene.scene import events
from synth.scene.timeline import delay, duration
from synth.truth.listener import Listener


class GroupRun(NamedTuple):
    """Groups of one split that follow one another."""

    split: str
    groups: range


@dataclass(frozen=True, slots=True)
class DraftedRows:
    """The rows of a run of groups.

    Args:
        rows: Of `schema.PLAN`; `id` and `shard` are empty, `index` is 0.
        texts: The same rows as canonical JSON.
        sizes: Rows of each group, 0 for one that is left out.
    """

    split: str
    rows: pa.Table
    texts: Sequence[str]
    sizes: Sequence[int]
    left_out: Sequence[LeftOutError] = ()

    @classmethod
    def of(
        cls, split: str, groups: Sequence[Sequence[Sample]], left_out: Sequence[LeftOutError] = ()
    ) -> Self:
        """From the samples of each group."""
        rows = [sample.row() for group in groups for sample in group]
        texts = [plan_text(row) for row in rows]
        sizes = [len(group) for group in groups]
        return cls(split, to_table(rows, PLAN), texts, sizes, left_out)

    def __reduce__(self) -> tuple[Any, ...]:
        """Tables travel as Arrow's stream, which costs a tenth of its pickles."""
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, self.rows.schema) as stream:
            stream.write_table(self.rows)
        others = self.texts, self.sizes, self.left_out
        return _receive, (self.split, sink.getvalue().to_pybytes(), *others)


@contextmanager
def _collecting_later() -> Iterator[None]:
    """Drafts hold no cycles, and the search for some would take an eighth of the time."""
    is_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_enabled:
            gc.enable()


@dataclass(frozen=True)
class Drafter:
    """Drafts the groups of a corpus; a value that travels to workers.

    Args:
        enrichment: Captions that were bought for some samples.
        shortage: Tells why clips are missing where a group cannot be made.
    """

    corpus: str
    recipe: str
    groups: Mapping[str, Groups]
    listener: Listener
    audio: AudioSpec
    enrichment: Enrichment
    shortage: Shortage

    @_collecting_later()
    def draft(self, run: GroupRun, first: int = 0) -> DraftedRows:
        """The rows of a run of groups.

        Args:
            first: The number in its split of the first sample; only enrichment asks for it.
        """
        groups: list[list[Sample]] = []
        left_out: list[LeftOutError] = []
        number = first
        for group in run.groups:
            drafts: Sequence[Draft] = ()
            with self.shortage.explained(by_ear=True):
                try:
                    drafts = self.groups[run.split].group(group)
                except LeftOutError as error:
                    left_out.append(error)
            samples = [self._sample(draft, run.split, group) for draft in drafts]
            groups.append([self._enrich(sample, number + at) for at, sample in enumerate(samples)])
            number += len(samples)
        return DraftedRows.of(run.split, groups, left_out)

    @cached_property
    def _length(self) -> tuple[Frames | None, Frames]:
        """Of every sample exactly, None for any, and at least."""
        return self.audio.exact_frames, self.audio.least_frames

    def _sample(self, draft: Draft, split: str, group: int) -> Sample:
        placed = self.listener.locate(draft.timeline or self.listener.hear(draft.scene))
        placed = delay(placed, draft.lead)
        frames, (exact, least) = draft.lead + duration(draft.scene), self._length
        if exact is not None and frames > exact:
            rate = self.audio.sample_rate
            raise PlanError(
                f"{draft.captions.caption.text!r} lasts {frames / rate:.2f} s, "
                f"audio.length is exactly {exact / rate:g} s",
                fix="raise audio.length, or lower the recipe's max_event_s",
            )
        frames = max(frames, draft.frames, least)
        if self.audio.stems:
            refuse_large(self.audio.format, frames, len(events(draft.scene)))
        envelopes = self.listener.envelopes
        return Sample(
            id="",
            index=0,
            group=f"{split}-{group:08d}",
            split=split,
            shard="",
            recipe=self.recipe,
            scene=draft.scene,
            activity=tuple(place.heard for place in placed.placements),
            caption=draft.captions.caption,
            positives=draft.captions.positives,
            negatives=draft.captions.negatives,
            frames=frames,
            excerpts=sum(
                event.played.frames < envelopes[event.played.clip].frames
                for event in events(draft.scene)
            ),
            sample_rate=self.audio.sample_rate,
            dense=dense_captions(placed, frames, self.enrichment.audible)
            if draft.timeline and draft.is_labelled
            else (),
            lead=draft.lead,
        )

    def _enrich(self, sample: Sample, number: int) -> Sample:
        """The sample with the captions that were bought for the one of this number."""
        name = sample_id(self.corpus, sample.split, number)
        if name not in self.enrichment.answers:
            return sample
        return replace(self.enrichment.add_captions(replace(sample, id=name)), id="")


def _receive(split: str, stream: bytes, *others: Any) -> DraftedRows:
    return DraftedRows(split, pa.ipc.open_stream(stream).read_all(), *others)


def sample_id(corpus: str, split: str, number: int) -> str:
    """The id of a sample of a split."""
    return f"{corpus}-{split}-{number:08d}"


# Where groups are drafted: in this process, or by the workers of an engine.


RUN_GROUPS: Final = 32
"""Groups of a run: half a second at most, which Ctrl-C has to wait for."""

LEAST_SHARED: Final = 2048
"""Fewer groups are drafted before workers are ready for them."""

AHEAD: Final = 2
"""Runs under way for each worker, so that none waits for this process."""


@dataclass(frozen=True, slots=True)
class SharedDrafter:
    """A drafter in a file: its pickle, the levels of its clips, and how long each of these is.

    Nothing is unpickled but what has its hash.
    """

    path: Path
    sha256: str
    lengths: int

    @classmethod
    def write(cls, path: Path, drafter: Drafter) -> Self:
        """Write a drafter."""
        arrays: list[pickle.PickleBuffer] = []
        with translate_disk_errors(path), path.open("w+b") as file:
            pickle.dump(drafter, file, pickle.HIGHEST_PROTOCOL, buffer_callback=arrays.append)
            lengths = [file.tell()]
            for array in arrays:
                lengths.append(file.write(array.raw()))
            start = file.tell()
            file.write(np.array(lengths, dtype=np.int64).tobytes())
            file.seek(0)
            return cls(path, hashlib.file_digest(file, "sha256").hexdigest(), start)

    def read(self) -> Drafter:
        """The drafter; the levels stay in the file, mapped, and all workers share them."""
        with self.path.open("rb") as file:
            mapped = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
        if hashlib.sha256(mapped).hexdigest() != self.sha256:
            raise CorpusError(
                f"{self.path}: another process overwrote what workers plan from",
                fix="run the same command again, with no other command on this corpus",
            )
        ends = np.frombuffer(mapped[self.lengths :], dtype=np.int64).cumsum().tolist()
        arrays = [mapped[start:end] for start, end in pairwise(ends)]
        return cast(Drafter, pickle.loads(mapped[: ends[0]], buffers=arrays))


def draft_all(drafter: Drafter, where: Engine, folder: Path, key: str) -> Generator[DraftedRows]:
    """The rows of all groups of all splits, in order.

    Args:
        where: Whose workers draft; few groups, or enriched ones, are drafted in this process.
        folder: Of the plan; the workers see it, too.
        key: Of the plan: equal keys have equal groups.
    """
    total = sum(map(len, drafter.groups.values()))
    # An answer is of a sample of a number, which is known once all before it are drafted.
    if where.width < 2 or total < LEAST_SHARED or drafter.enrichment.answers:
        yield from _draft_here(drafter)
        return
    with _share(drafter, folder / f".groups-{key}{PARTIAL_SUFFIX}") as shared:
        if shared is None:
            yield from _draft_here(drafter)
        else:
            runs = cut_runs(drafter.groups)
            yield from run_in_order(where, _draft_shared, runs, shared, ahead=AHEAD)


def cut_runs(groups: Mapping[str, Groups]) -> Iterator[GroupRun]:
    """All groups, in runs."""
    for split, members in groups.items():
        for start in range(0, len(members), RUN_GROUPS):
            yield GroupRun(split, range(start, min(start + RUN_GROUPS, len(members))))


def _draft_here(drafter: Drafter) -> Iterator[DraftedRows]:
    counts = dict.fromkeys(drafter.groups, 0)
    for run in cut_runs(drafter.groups):
        drafted = drafter.draft(run, counts[run.split])
        counts[run.split] += len(drafted.texts)
        yield drafted


@contextmanager
def _share(drafter: Drafter, path: Path) -> Iterator[SharedDrafter | None]:
    """The drafter in a file, for as long as the block runs; None if it cannot be pickled.

    A recipe of somebody else's may hold anything.
    """
    shared: SharedDrafter | None = None
    try:
        with suppress(pickle.PicklingError, AttributeError, TypeError):
            shared = SharedDrafter.write(path, drafter)
        yield shared
    finally:
        with suppress(PermissionError):  # of a file that a worker still maps, on Windows
            path.unlink(missing_ok=True)


def _draft_shared(shared: SharedDrafter, run: GroupRun) -> DraftedRows:
    """On a worker."""
    return _read_kept(shared).draft(run)


@lru_cache(maxsize=1)
def _read_kept(shared: SharedDrafter) -> Drafter:
    return shared.read()


def forget_groups() -> None:
    """Let go of the groups that this process drafted last; those of many clips are large."""
    _read_kept.cache_clear()
