"""How many searches are at work at once, how long each may wait and take."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from enum import Enum
from typing import Final, TypeVar

import duckdb
from anyio import CapacityLimiter, fail_after, to_thread
from anyio.lowlevel import RunVar

from synth.base.errors import SegueError

WAIT_S: Final = 20.0
"""How long a search may wait for others, before it begins."""
SEARCH_S: Final = 20.0
"""How long a search may take."""
Result = TypeVar("Result")


class SlowSearchError(SegueError):
    """A search that was stopped, so that it does not keep others waiting."""


class BusyError(SegueError):
    """A search that did not begin, since too many others are at work."""


class WorkKind(Enum):
    """Kinds of work, none of which waits for another.

    Args:
        PAGE: What takes milliseconds, whoever waits for it is served in turn.
        REMOTE: Audio that may have to come from afar.
        SEARCH: Searches for text, which may take long.
    """

    PAGE = "page"
    REMOTE = "remote"
    SEARCH = "search"


_AT_ONCE: Final[Mapping[WorkKind, int]] = {
    WorkKind.PAGE: 6,
    WorkKind.REMOTE: 16,
    WorkKind.SEARCH: 3,
}
"""Threads of each kind; more would wait for each other, but for those that wait for a store."""


async def run_limited(work: WorkKind, function: Callable[[], Result]) -> Result:
    """What a function gives that is called in a thread, as soon as its kind of work has one."""
    limits = _limits.get(None)
    if limits is None:
        limits = {each: CapacityLimiter(_AT_ONCE[each]) for each in WorkKind}
        _limits.set(limits)
    place = object()
    try:
        with fail_after(WAIT_S if work is WorkKind.SEARCH else None):
            await limits[work].acquire_on_behalf_of(place)
    except TimeoutError as error:
        raise BusyError(
            f"other searches ran for {WAIT_S:g} s, so this one did not start",
            fix="search again in a moment",
        ) from error
    try:
        return await to_thread.run_sync(function, limiter=CapacityLimiter(1))
    finally:
        limits[work].release_on_behalf_of(place)


_limits: Final[RunVar[dict[WorkKind, CapacityLimiter] | None]] = RunVar("limits of segue browse")
"""Of this event loop."""


@contextmanager
def limit_time(cursor: duckdb.DuckDBPyConnection, limit_s: float) -> Iterator[None]:
    """Interrupt what a connection does when the time is over, until it ends; 0 for never.

    Once is not enough: a query that begins just behind an interrupt does not feel it.
    """
    if not limit_s:
        yield
        return
    ended = threading.Event()

    def interrupt() -> None:
        if not ended.wait(limit_s):
            cursor.interrupt()
            while not ended.wait(0.05):
                cursor.interrupt()

    clock = threading.Thread(target=interrupt, name="segue-search-limit", daemon=True)
    clock.start()
    try:
        yield
    except duckdb.InterruptException as error:
        raise SlowSearchError(
            f"this search took longer than {limit_s:g} s",
            fix="search for fewer words, or choose a split or a label first",
        ) from error
    finally:
        ended.set()
        clock.join()
