"""The schedule of a build: as many shards under way as the engine has use for.

This is the only place that tries a shard again. The bytes depend on none of it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import suppress
from heapq import heappop, heappush
from time import monotonic
from typing import Any, Final, TypeVar

from pydantic import Field

from pipelines.engines.engine import Engine, GivenUpError
from synth.base.choice import StrictModel
from synth.base.errors import SegueError

T = TypeVar("T")

MOST_TIMEOUT_S: Final = 1e8
MOST_RETRIES: Final = 5
WIDTH_POLL_S: Final = 5.0
DELAY_GROWTH: Final = 10
_LASTING: Final = (PermissionError, IsADirectoryError, NotADirectoryError)
"""What no further try mends."""


class RenderSettings(StrictModel):
    """How long a shard may take and how often it is tried; no byte depends on it.

    Args:
        timeout_s: Longest that a worker may take for one shard.
        retries: Further tries of a shard after an error of the file system.
        retry_delay_s: Seconds before the first of them; before each later one ten times as many.
    """

    timeout_s: float = Field(default=3600.0, gt=0, le=MOST_TIMEOUT_S)
    retries: int = Field(default=2, ge=0, le=MOST_RETRIES)
    retry_delay_s: float = Field(default=2.0, ge=0, le=3600)

    @property
    def delays_s(self) -> list[float]:
        """Seconds before each further try."""
        return [self.retry_delay_s * DELAY_GROWTH**number for number in range(self.retries)]


def schedule(
    shards: Sequence[T],
    begin: Callable[[T], Future[Any]],
    where: Engine,
    finish: Callable[[T], None],
    delays_s: Sequence[float] = (),
    note: Callable[[T, OSError], None] = lambda shard, error: None,
    most: int | None = None,
) -> None:
    """Have all shards rendered; the first failure gives up the others, those on workers excepted.

    Args:
        where: Whose width says how many are under way; it may grow meanwhile.
        delays_s: Seconds before each further try after an error of the file system.
        note: Called with such an error before a further try.
        most: Shards under way, if not by the engine's width.
    """
    fresh = deque(range(len(shards)))
    again: list[tuple[float, int, int]] = []  # from when, which, tries so far: a heap
    under_way: dict[Future[Any], tuple[int, int]] = {}
    try:
        while fresh or again or under_way:
            width = most or max(1, where.width)
            while len(under_way) < width:
                if again and again[0][0] <= monotonic():
                    _, number, tries = heappop(again)
                elif fresh:
                    number, tries = fresh.popleft(), 0
                else:
                    break
                under_way[begin(shards[number])] = number, tries
            pause = WIDTH_POLL_S
            if again and len(under_way) < width:
                pause = min(pause, max(0.0, again[0][0] - monotonic()))
            if not under_way and where.cancelled.wait(pause):
                raise GivenUpError("given up")
            ended = wait(under_way, pause, FIRST_COMPLETED).done
            for future in sorted(ended, key=_is_given_up):  # what gave up the others is told first
                number, tries = under_way.pop(future)
                error = future.exception()
                if error is None:
                    finish(shards[number])
                elif (
                    tries < len(delays_s)
                    and isinstance(error, OSError)
                    and not isinstance(error, _LASTING)
                ):
                    note(shards[number], error)
                    heappush(again, (monotonic() + delays_s[tries], number, tries + 1))
                else:
                    raise error
    except BaseException as error:
        where.cancel()
        for future in sorted(wait(under_way).done, key=_is_given_up):
            failure = future.exception()
            if failure is None:
                with suppress(OSError, SegueError):  # the first error is told
                    finish(shards[under_way[future][0]])
            elif isinstance(error, GivenUpError) and not _is_given_up(future):
                raise failure from error
        raise


def _is_given_up(future: Future[Any]) -> bool:
    return isinstance(future.exception(), GivenUpError)
