"""Where groups are drafted: in this process, or by the workers of an engine.

Groups are pure functions of their numbers, so workers draft runs of them, and their rows are taken
in order: the bytes are the same, however many there are. Making the groups may take far longer than
drafting them, so this is done once: workers read them from a file beside the plan.
"""

from __future__ import annotations

import hashlib
import mmap
import pickle
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Final, Self, cast

import numpy as np

from pipelines.build.drafting import DraftedRows, Drafter, GroupRun
from pipelines.build.schedule import MAX_THREADS
from pipelines.engines.engine import Engine
from synth.base.atomic import PARTIAL_SUFFIX, translate_disk_errors
from synth.base.errors import CorpusError
from synth.recipes.base import Groups

RUN_GROUPS: Final = 32
"""Groups of a run: half a second at most, which Ctrl-C has to wait for."""

LEAST_SHARED: Final = 2048
"""Fewer groups are drafted before workers are ready for them."""

AHEAD: Final = 2
"""Runs under way for each worker, so that none waits for this process."""


@dataclass(frozen=True, slots=True)
class SharedDrafter:
    """A drafter in a file: its pickle, the levels of its clips, and how long each of these is.

    Args:
        sha256: Of its bytes; nothing else is unpickled.
        lengths: Where the lengths begin.
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
            yield from _in_order(lambda run: where.run(_draft_shared, shared, run), runs, where)


def cut_runs(groups: Mapping[str, Groups]) -> Iterator[GroupRun]:
    """All groups, in runs."""
    for split, found in groups.items():
        for start in range(0, len(found), RUN_GROUPS):
            yield GroupRun(split, range(start, min(start + RUN_GROUPS, len(found))))


def _draft_here(drafter: Drafter) -> Iterator[DraftedRows]:
    made = dict.fromkeys(drafter.groups, 0)
    for run in cut_runs(drafter.groups):
        drafted = drafter.draft(run, made[run.split])
        made[run.split] += len(drafted.texts)
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


def _in_order(
    call: Callable[[GroupRun], DraftedRows], runs: Iterator[GroupRun], where: Engine
) -> Iterator[DraftedRows]:
    """What a call gives for each run, in order; a few are under way at a time."""
    pending: deque[Future[DraftedRows]] = deque()
    threads = ThreadPoolExecutor(MAX_THREADS)
    try:
        for run in runs:
            pending.append(threads.submit(call, run))
            if len(pending) > AHEAD * where.width:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    except BaseException:
        where.cancel()
        raise
    finally:
        threads.shutdown(wait=False)  # a pool that is closed gives up what it has not begun
