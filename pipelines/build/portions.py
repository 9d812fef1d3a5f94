"""Pending work in portions: how many shards one task is given.

A task costs Prefect some milliseconds and a row, so it should last from half a minute to two. How
long a shard takes is not known before: the first portions are single shards, each later one is cut
by what the one before took. The bytes of a shard do not depend on its portion.
"""

from __future__ import annotations

import threading
from typing import Final

TARGET_S: Final = 60.0
LEAST_S: Final = 30.0
MOST_PORTIONS: Final = 500


class Portions:
    """Deals the numbers 0 to `total` in runs; safe to call from several threads.

    Args:
        total: Shards.
        width: Portions that are worked on at a time.
        most: Portions that are dealt at most.
    """

    def __init__(self, total: int, width: int, most: int = MOST_PORTIONS) -> None:
        self._total = total
        self._width = max(1, width)
        self._most = max(1, most)
        self._next = 0
        self._dealt = 0
        self._shard_s: float | None = None
        self._lock = threading.Lock()

    def take(self) -> range:
        """The next portion; an empty one when all are dealt."""
        with self._lock:
            begin = self._next
            self._next += self._size(self._total - begin)
            self._dealt += self._next > begin
            return range(begin, self._next)

    def took(self, shards: int, seconds: float) -> None:
        """A portion of so many shards was finished in so many seconds."""
        if shards:
            with self._lock:
                self._shard_s = seconds / shards

    def _size(self, left: int) -> int:
        if not left:
            return 0
        # Rounded up, so that the last portion that may be dealt holds all that is left.
        least = -(-left // max(1, self._most - self._dealt))
        if self._shard_s is None:
            return 1 if self._dealt < self._most // 2 else least
        by_time = self._shards_in(TARGET_S)
        # At the end, shares: nobody idles while another works on the last long portion.
        fair = max(-(-left // self._width), self._shards_in(LEAST_S))
        return min(left, max(least, min(by_time, fair)))

    def _shards_in(self, seconds: float) -> int:
        shard_s = self._shard_s or 0.0
        return max(1, int(seconds / shard_s)) if shard_s > 0 else self._total
