"""Pages that were made already: what a corpus shows does not change while it is served."""

from __future__ import annotations

import asyncio
import hashlib
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final

from anyio import CapacityLimiter, to_thread
from anyio.lowlevel import RunVar

MOST_BYTES: Final = 64 << 20
MOST_SEARCHES: Final = 3
"""Searches for text at once: each keeps a core busy, and others wait for pages of other kinds."""

MOST_PAGES: Final = 4
"""Other pages that are made at once: more threads would only wait for each other."""


@dataclass(frozen=True, slots=True)
class Page:
    """A page, or a part of one.

    Args:
        body: Its HTML.
        tag: What it is called in `ETag`; equal for equal bodies.
    """

    body: bytes
    tag: str

    @classmethod
    def of(cls, text: str) -> Page:
        """The page with this text."""
        body = text.encode()
        return cls(body, f'"{hashlib.sha256(body).hexdigest()[:32]}"')


class KeptPages:
    """The pages that were asked for last, by key; each is made once, however many wait for it.

    Args:
        most_bytes: Of all that is kept together.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._pages: OrderedDict[Hashable, Page] = OrderedDict()
        self._making: dict[Hashable, asyncio.Future[Page]] = {}
        self._lock = threading.Lock()

    async def get(self, key: Hashable, make: Callable[[], Page], is_search: bool) -> Page:
        """A page; made in a thread where it is not kept.

        Args:
            key: Of the page.
            make: Makes it.
            is_search: Whether that may take long.
        """
        kept = self._find(key)
        if kept is not None:
            return kept
        making = self._making.get(key)
        if making is None:
            work = to_thread.run_sync(make, limiter=_find_limiter(is_search))
            making = self._making[key] = asyncio.ensure_future(work)
            making.add_done_callback(lambda done: self._end(key, done))
        return await asyncio.shield(making)

    def _find(self, key: Hashable) -> Page | None:
        with self._lock:
            page = self._pages.get(key)
            if page is not None:
                self._pages.move_to_end(key)
            return page

    def _end(self, key: Hashable, done: asyncio.Future[Page]) -> None:
        self._making.pop(key, None)
        if done.cancelled() or done.exception() is not None:
            return
        page = done.result()
        with self._lock:
            if key not in self._pages:
                self._bytes += len(page.body)
            self._pages[key] = page
            while self._bytes > self._most_bytes:
                _, oldest = self._pages.popitem(last=False)
                self._bytes -= len(oldest.body)


_LIMITERS: Final[dict[bool, RunVar[CapacityLimiter]]] = {
    True: RunVar("searches"),
    False: RunVar("pages"),
}


def _find_limiter(is_search: bool) -> CapacityLimiter:
    """That of this event loop."""
    variable = _LIMITERS[is_search]
    try:
        return variable.get()
    except LookupError:
        limiter = CapacityLimiter(MOST_SEARCHES if is_search else MOST_PAGES)
        variable.set(limiter)
        return limiter
