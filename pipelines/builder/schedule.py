"""The schedule of a build: its shards in portions, as many under way as the engine has use for.

Every build renders by it, on every engine. With Prefect a portion is a task run, which costs some
milliseconds and a row; so it should last from half a minute to two. How long a shard takes is not
known before: the first portions are single shards, each later one is cut by what the one before
took. Without Prefect a portion is one shard in a thread. The bytes depend on none of this.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from queue import Empty, SimpleQueue
from typing import Any, Final, Protocol, TypeAlias, TypeVar

from pydantic import Field

from pipelines.engines.engine import Engine
from synth.base.choice import StrictModel
from synth.base.errors import SegueError

T = TypeVar("T")

TARGET_S: Final = 60.0
LEAST_S: Final = 30.0
MOST_PORTIONS: Final = 500
MAX_THREADS: Final = 1024
MOST_TIMEOUT_S: Final = 1e8
MOST_RETRIES: Final = 5
WIDTH_POLL_S: Final = 5.0
DELAY_GROWTH: Final = 10
SHORTEST_S: Final = 1e-6


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


def may_pass(error: object) -> bool:
    """Whether a further try may end an error: one of the file system, but for lasting ones."""
    lasting = PermissionError, IsADirectoryError, NotADirectoryError
    return isinstance(error, OSError) and not isinstance(error, lasting)


class Pending(Protocol):
    """A portion that was submitted, as `concurrent.futures` and Prefect have them."""

    def result(self) -> float:
        """The seconds that it took, or its error."""
        ...

    def add_done_callback(self, call: Callable[[Any], None], /) -> None:
        """Have a function called with it when it ends."""
        ...


Submit: TypeAlias = Callable[[Callable[[], float], int, range], Pending]
"""Has what it is given called in this process, for the portion of a number and these shards."""


class Portions:
    """Deals the numbers 0 to `total` in runs.

    Args:
        total: Shards.
        target_s: What a portion is to last.
        least_s: What it is to last at the end, when nobody should idle while another works on.
        most: Portions that are dealt at most.
    """

    def __init__(
        self,
        total: int,
        target_s: float = TARGET_S,
        least_s: float = LEAST_S,
        most: int = MOST_PORTIONS,
    ) -> None:
        self._total = total
        self._target_s = target_s
        self._least_s = least_s
        self._most = max(1, most)
        self._next = 0
        self._dealt = 0
        self._shard_s: float | None = None

    def take(self, width: int) -> range:
        """The next portion, where so many are worked on at a time; an empty one after the last."""
        begin = self._next
        self._next += self._size(self._total - begin, width)
        self._dealt += self._next > begin
        return range(begin, self._next)

    def learn(self, shards: int, seconds: float) -> None:
        """So many shards took so many seconds."""
        self._shard_s = seconds / shards

    def _size(self, left: int, width: int) -> int:
        if not left:
            return 0
        # Rounded up, so that the last portion that may be dealt holds all that is left.
        least = -(-left // max(1, self._most - self._dealt))
        if self._shard_s is None:
            return 1 if self._dealt < self._most // 2 else least
        fair = max(-(-left // width), self._shards_in(self._least_s))
        return min(left, max(least, min(self._shards_in(self._target_s), fair)))

    def _shards_in(self, seconds: float) -> int:
        return max(1, int(seconds / max(self._shard_s or 0.0, SHORTEST_S)))


def schedule(
    shards: Sequence[T],
    render: Callable[[T], None],
    engine: Engine,
    settings: RenderSettings,
    submit: Submit | None = None,
    show: Callable[[int], None] = lambda done: None,
    note: Callable[[T, OSError], None] = lambda shard, error: None,
) -> None:
    """Render all shards; the first failure gives up the others, those on workers excepted.

    Args:
        shards: Those that are missing.
        render: Has a worker render one, and waits for it; called from several threads.
        engine: Where the workers are; so many portions are under way as it has use for by then.
        submit: Begins a portion; by default a thread does.
        show: Told how many shards are done, whenever a portion is.
        note: Told of an error of the file system after which a shard is tried again.
    """
    stopped = threading.Event()

    def attempt(shard: T) -> None:
        for delay in settings.delays_s:
            try:
                return render(shard)
            except OSError as error:
                if not may_pass(error):
                    raise
                note(shard, error)
                if stopped.wait(delay):
                    raise
        return render(shard)

    def work_on(portion: range) -> float:
        started = time.monotonic()
        for number in portion:
            if stopped.is_set():
                raise SegueError("given up")
            attempt(shards[number])
        return time.monotonic() - started

    total = len(shards)
    portions = Portions(total, 0.0, 0.0, total) if submit is None else Portions(total)
    under_way: dict[Pending, range] = {}
    ended: SimpleQueue[Pending] = SimpleQueue()
    number = done = 0
    with ThreadPoolExecutor(MAX_THREADS) as threads:
        begin = submit or (lambda work, number, portion: threads.submit(work))
        try:
            while done < total:
                width = max(1, engine.width)
                while len(under_way) < width and (portion := portions.take(width)):
                    pending = begin(partial(work_on, portion), number, portion)
                    under_way[pending] = portion
                    pending.add_done_callback(ended.put)
                    number += 1
                try:
                    pending = ended.get(timeout=WIDTH_POLL_S)
                except Empty:  # the engine may have grown
                    continue
                portion = under_way.pop(pending)
                portions.learn(len(portion), pending.result())
                done += len(portion)
                show(done)
        except BaseException:
            stopped.set()
            engine.cancel()
            raise
