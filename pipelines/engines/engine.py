"""Engines: where the work of a build is done, which never changes its bytes.

`local[:N]` is this process, or a pool of processes of this machine; `dask://HOST:PORT` is a Dask
cluster that somebody else started.
"""

from __future__ import annotations

import os
import re
import signal
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, Final, Generic, ParamSpec, Protocol, TypeVar, runtime_checkable

from pipelines.engines.executor import (
    FEWER_PROCESSES,
    end_pool,
    make_context,
    start_worker,
    starting_process,
)
from synth.base.errors import CorpusError, MachineError, SegueError, SpecError
from synth.base.processors import processors

P = ParamSpec("P")
T = TypeVar("T")
Item = TypeVar("Item")

_LOCAL: Final = re.compile(r"local(?::(\d{1,4}))?")
_ADDRESS: Final = re.compile(r"(dask|tcp|tls)://([^\s/:]+|\[[0-9a-fA-F:]+\]):(\d{1,5})")


class Engine(Protocol):
    """Where the work of a build is done."""

    cancelled: threading.Event

    @property
    def width(self) -> int:
        """Calls worth having under way at once now; 0 where they run in this process."""
        ...

    def submit(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Begin a call of a picklable function; any thread may ask for one."""
        ...

    def cancel(self) -> None:
        """Begin no further call; what a worker is at may end."""
        ...


@runtime_checkable
class RemoteEngine(Engine, Protocol):
    """Runs functions on other machines, which must see the files that this one sees."""

    def share(self, folder: Path, holder: str = "") -> None:
        """Have every worker, present and to come, prove that it reads and writes `folder`.

        Args:
            folder: Is made if it is not there.
            holder: Name under which one process at a time does this; what a killed one left there
                is removed.
        """
        ...


class GivenUpError(SegueError):
    """A call that was not begun, or not seen through, since the engine was cancelled."""


class OverdueError(CorpusError):
    """A call that did not end in time."""


@dataclass(frozen=True, slots=True)
class Call(Generic[P, T]):
    """A function that is given up when a worker takes too long for it; waiting costs nothing."""

    function: Callable[P, T]
    label: str
    limit_s: float

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """Its result; the system ends this process over the limit, also in a read that hangs."""
        if not hasattr(signal, "setitimer"):
            return self.function(*args, **kwargs)
        signal.setitimer(signal.ITIMER_REAL, self.limit_s)
        try:
            return self.function(*args, **kwargs)
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0)

    @property
    def overdue(self) -> OverdueError:
        """What is told where the limit was reached."""
        return OverdueError(
            f"{self.label}: not rendered within {self.limit_s:g} s",
            fix="check whether the file system hangs, then run the same command again; "
            "finished shards are kept",
        )


def settle(future: Future[T], result: Callable[[], T]) -> None:
    """Give a future what another one has: a result, or an error."""
    try:
        future.set_result(result())
    except BaseException as error:
        future.set_exception(error)


def run_in_order(
    where: Engine, function: Callable[..., T], items: Iterable[Any], *first: Any, ahead: int = 1
) -> Generator[T]:
    """What a function returns for each item, in order; the first error gives up the others.

    Args:
        first: The function's arguments before the item.
        ahead: Calls under way for each worker.
    """
    pending: deque[Future[T]] = deque()
    try:
        for item in items:
            pending.append(where.submit(function, *first, item))
            if len(pending) > ahead * where.width:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    except BaseException:
        where.cancel()
        raise


@contextmanager
def engine(where: str | int | Engine | None = None) -> Iterator[Engine]:
    """The engine that `--engine` names.

    Args:
        where: `local` (also None): a process a processor; `local:N`: N processes, none for 0;
            `dask://HOST:PORT`, or `tcp://` or `tls://`: the cluster of that Dask scheduler. A
            number is that of local processes; an open engine is given back, and stays open.
    """
    if where is None:
        where = "local"
    if not isinstance(where, str | int):
        yield where
        return
    count = check_engine(where)
    if isinstance(count, str):
        from pipelines.engines.cluster import cluster

        with cluster(count) as opened:
            yield opened
        return
    if not count:
        yield _Here()
        return
    # What workers are forks of may be older than a variable.
    executor = ProcessPoolExecutor(count, make_context(), start_worker, (dict(os.environ),))
    try:
        yield _Pool(executor, count)
    finally:
        end_pool(executor)


def check_engine(where: str | int) -> str | int:
    """The number of local processes that an engine's name asks for, or a scheduler's address."""
    name = f"local:{where}" if isinstance(where, int) else where
    if local := _LOCAL.fullmatch(name):
        return processors() if local[1] is None else int(local[1])
    if address := _ADDRESS.fullmatch(name):
        scheme, host, port = address.groups()
        return f"{'tcp' if scheme == 'dask' else scheme}://{host}:{port}"
    raise SpecError(
        f"unknown engine {where!r}",
        fix="give local, local:4 for four processes, or dask://HOST:8786 for a Dask scheduler",
    )


class _Here:
    """This process: a call has ended when it was begun, and has no time limit."""

    width: Final = 0

    def __init__(self) -> None:
        self.cancelled = threading.Event()

    def submit(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        if self.cancelled.is_set():
            raise GivenUpError("given up")
        answer: Future[T] = Future()
        try:
            work = function.function if isinstance(function, Call) else function
            answer.set_result(work(*args, **kwargs))
        except Exception as error:  # Ctrl-C goes its own way
            answer.set_exception(error)
        return answer

    def cancel(self) -> None:
        self.cancelled.set()


class _Pool:
    """Processes of this machine."""

    def __init__(self, executor: ProcessPoolExecutor, width: int) -> None:
        self.cancelled = threading.Event()
        self.width = width
        self._executor = executor
        self._lock = threading.Lock()
        self._limits: dict[Future[Any], tuple[Call[..., Any], float]] = {}
        self._broken: SegueError | None = None

    def submit(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        answer: Future[T] = Future()
        # Nothing answers for a pool that could not start, so no call may wait for it.
        with self._lock, starting_process():
            if self.cancelled.is_set():
                raise GivenUpError("given up")
            if self._broken is not None:
                raise self._broken
            if isinstance(function, Call):
                self._limits[answer] = function, monotonic() + function.limit_s
            try:
                pending = self._executor.submit(function, *args, **kwargs)
            except BrokenProcessPool:
                raise self._explain_death() from None
            except (RuntimeError, OSError, EOFError) as error:
                self._broken = MachineError(
                    f"a worker process could not be started: {error}", fix=FEWER_PROCESSES
                )
                raise self._broken from error
        pending.add_done_callback(partial(self._hand_on, answer))
        return answer

    def cancel(self) -> None:
        self.cancelled.set()

    def _hand_on(self, answer: Future[T], ended: Future[T]) -> None:
        def result() -> T:
            try:
                return ended.result()
            except BrokenProcessPool as error:
                raise self._explain_death() from error
            finally:
                self._limits.pop(answer, None)

        settle(answer, result)

    def _explain_death(self) -> SegueError:
        """Why the pool has lost a worker, and with it all calls: one error for all of them."""
        if self._broken is None:
            now = monotonic()
            late = [call for call, due in [*self._limits.values()] if due <= now]
            self._broken = (
                late[0].overdue
                if late
                else MachineError(
                    "a worker process was killed",
                    fix="free some memory or use fewer --workers, then run the same command again; "
                    "finished shards are kept",
                )
            )
        return self._broken
