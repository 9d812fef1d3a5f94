"""Engines: where the work of a build is done, which never changes its bytes.

`local[:N]` is a pool of processes here; `dask://HOST:PORT` is a Dask cluster that somebody else
started.
"""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final, Generic, ParamSpec, Protocol, TypeVar

from pipelines.engines.executor import Runner, workers
from synth.base.errors import CorpusError, SpecError
from synth.base.processors import processors

_ADDRESS: Final = re.compile(r"(dask|tcp|tls)://([^\s/:]+|\[[0-9a-fA-F:]+\]):(\d{1,5})")


class Engine(Protocol):
    """Where the work of a build is done."""

    @property
    def run(self) -> Runner:
        """Runs a picklable function; may be called from several threads at once."""
        ...

    @property
    def width(self) -> int:
        """Calls worth having under way at once now; 0 where they run in this process."""
        ...

    def cancel(self) -> None:
        """Give up all calls that wait for their turn; those that wait for them are told."""
        ...


@contextmanager
def engine(where: str | int | Engine | None = None) -> Iterator[Engine]:
    """The engine that `--engine` names.

    Args:
        where: `local` (also None): a process a processor; `local:N`: N processes, none for 0;
            `dask://HOST:PORT`, or `tcp://` or `tls://`: the cluster of that Dask scheduler. A
            number is that of local processes; an open engine is given back, and stays open.
    """
    if isinstance(where, int):
        where = f"local:{where}"
    if where is None:
        where = "local"
    if not isinstance(where, str):
        yield where
    elif (count := _count_processes(where)) is not None:
        with workers(count) as run:
            yield _Local(run, count)
    elif address := _ADDRESS.fullmatch(where):
        scheme, host, port = address.groups()
        from pipelines.engines.cluster import cluster

        with cluster(f"{'tcp' if scheme == 'dask' else scheme}://{host}:{port}") as there:
            yield there
    else:
        raise SpecError(
            f"no engine is called {where!r}",
            fix="local, local:4 for four processes, or dask://HOST:8786 for a Dask scheduler",
        )


def _count_processes(where: str) -> int | None:
    """The processes that a local engine's name asks for; None for other engines."""
    name = re.fullmatch(r"local(?::(\d{1,4}))?", where)
    if name is None:
        return None
    return processors() if name[1] is None else int(name[1])


@dataclass(frozen=True, slots=True)
class _Local:
    run: Runner
    width: int

    def cancel(self) -> None:
        """What waits for its turn is not in the pool yet."""


# A call with a name and a time limit, which runs from the moment a worker begins it.


P = ParamSpec("P")
T = TypeVar("T")

LAST_WORDS_S: Final = 0.5


class OverdueError(CorpusError):
    """A call that did not end in time; a thread of its worker is still at it."""


@dataclass(frozen=True, slots=True)
class Call(Generic[P, T]):
    """A function that is given up when it takes too long, on whatever worker runs it.

    The worker keeps the time, so waiting in the queue of a pool or a cluster costs nothing. Who
    sets a limit tries again by itself: a cluster does not.

    Args:
        limit_s: Longest that it may take.
    """

    function: Callable[P, T]
    label: str
    limit_s: float

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        """The function's result."""
        outcome: Future[T] = Future()

        def work() -> None:
            try:
                outcome.set_result(self.function(*args, **kwargs))
            except BaseException as error:
                outcome.set_exception(error)

        deadline = monotonic() + self.limit_s
        threading.Thread(target=work, daemon=True).start()
        while not outcome.done() and (left := deadline - monotonic()) > 0:
            wait([outcome], left)
        if not outcome.done():
            raise OverdueError(
                f"{self.label}: not rendered within {self.limit_s:g} s",
                fix="check whether the file system hangs, then run the same command again; "
                "finished shards are kept",
            )
        return outcome.result()


def label_of(function: Callable[..., Any]) -> str:
    """A function's name for people."""
    return function.label if isinstance(function, Call) else function.__name__


def end_soon() -> None:
    """End this process, and with it an overdue call, once it has answered."""
    timer = threading.Timer(LAST_WORDS_S, os._exit, (1,))
    timer.daemon = True
    timer.start()
