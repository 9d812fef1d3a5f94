"""Engines: where the work of a build is done, which never changes its bytes.

`local[:N]` is a pool of processes here; `dask://HOST:PORT` is a Dask cluster that somebody else
started.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, Protocol

from pipelines.engines.executor import Runner, workers
from synth.base.errors import SpecError
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
        return
    check_engine(where)
    if (count := _count_processes(where)) is not None:
        with workers(count) as run:
            yield _Local(run, count)
    elif address := _ADDRESS.fullmatch(where):
        scheme, host, port = address.groups()
        from pipelines.engines.cluster import cluster

        with cluster(f"{'tcp' if scheme == 'dask' else scheme}://{host}:{port}") as there:
            yield there


def check_engine(where: str | int) -> None:
    """Check that there is an engine of this name."""
    if isinstance(where, str) and not (
        _ADDRESS.fullmatch(where) or _count_processes(where) is not None
    ):
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
