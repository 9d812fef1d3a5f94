"""Pages that were made already: what a corpus shows does not change while it is served."""

from __future__ import annotations

import asyncio
import hashlib
import sys
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass
from typing import Final

MOST_BYTES: Final = 64 << 20


@dataclass(frozen=True, slots=True)
class KeptPage:
    """A page, or a part of one.

    Args:
        tag: What it is called in `ETag`; equal for equal bodies.
    """

    body: bytes
    tag: str

    @classmethod
    def of(cls, text: str) -> KeptPage:
        """The page with this text."""
        body = text.encode()
        return cls(body, f'"{hashlib.sha256(body).hexdigest()[:32]}"')


class KeptPages:
    """The pages that were asked for last, by key; each is made once, however many wait for it.

    Args:
        most_bytes: Of all that is kept together, keys included.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._pages: OrderedDict[Hashable, KeptPage] = OrderedDict()
        self._making: dict[Hashable, asyncio.Future[KeptPage]] = {}
        self._lock = threading.Lock()

    async def get(self, key: Hashable, make: Callable[[], Awaitable[KeptPage]]) -> KeptPage:
        """The page of a key; made where it is not kept."""
        kept = self._find(key)
        if kept is not None:
            return kept
        making = self._making.get(key)
        if making is None:
            making = self._making[key] = asyncio.ensure_future(make())
            making.add_done_callback(lambda done: self._end(key, done))
        return await asyncio.shield(making)

    def _find(self, key: Hashable) -> KeptPage | None:
        with self._lock:
            page = self._pages.get(key)
            if page is not None:
                self._pages.move_to_end(key)
            return page

    def _end(self, key: Hashable, done: asyncio.Future[KeptPage]) -> None:
        self._making.pop(key, None)
        if done.cancelled() or done.exception() is not None:
            return
        page = done.result()
        with self._lock:
            if key not in self._pages:
                self._bytes += _measure(key, page)
            self._pages[key] = page
            while self._bytes > self._most_bytes:
                self._bytes -= _measure(*self._pages.popitem(last=False))


def _measure(key: Hashable, page: KeptPage) -> int:
    return sys.getsizeof(repr(key)) + len(page.body)
