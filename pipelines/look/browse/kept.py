"""Pages that were made already: what a corpus shows does not change while it is served."""

from __future__ import annotations

import asyncio
import hashlib
import sys
import threading
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeVar

from anyio import CapacityLimiter, fail_after, to_thread
from anyio.lowlevel import RunVar

from synth.base.errors import SegueError

MOST_BYTES: Final = 64 << 20
WAIT_S: Final = 20.0
"""How long a search may wait for others, before it begins."""
Result = TypeVar("Result")


class BusyError(SegueError):
    """A search that did not begin, since too many others are at work."""


class Work(Enum):
    """Kinds of work, none of which waits for another.

    Args:
        PAGE: What takes milliseconds, whoever waits for it is served in turn.
        REMOTE: Audio that may have to come from afar.
        SEARCH: Searches for text, which may take long.
    """

    PAGE = "page"
    REMOTE = "remote"
    SEARCH = "search"


_AT_ONCE: Final[Mapping[Work, int]] = {Work.PAGE: 6, Work.REMOTE: 16, Work.SEARCH: 3}
"""Threads of each kind; more would wait for each other, but for those that wait for a store."""


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
        most_bytes: Of all that is kept together, keys included.
    """

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._bytes = 0
        self._pages: OrderedDict[Hashable, Page] = OrderedDict()
        self._making: dict[Hashable, asyncio.Future[Page]] = {}
        self._lock = threading.Lock()

    async def get(self, key: Hashable, make: Callable[[], Awaitable[Page]]) -> Page:
        """The page of a key; made where it is not kept."""
        kept = self._find(key)
        if kept is not None:
            return kept
        making = self._making.get(key)
        if making is None:
            making = self._making[key] = asyncio.ensure_future(make())
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
                self._bytes += _measure(key, page)
            self._pages[key] = page
            while self._bytes > self._most_bytes:
                self._bytes -= _measure(*self._pages.popitem(last=False))


def _measure(key: Hashable, page: Page) -> int:
    return sys.getsizeof(repr(key)) + len(page.body)


async def run_limited(work: Work, function: Callable[[], Result]) -> Result:
    """What a function gives that is called in a thread, as soon as its kind of work has one.

    Raises:
        BusyError: If a search waits for others for too long.
    """
    limits = _limits.get(None)
    if limits is None:
        limits = {each: CapacityLimiter(_AT_ONCE[each]) for each in Work}
        _limits.set(limits)
    place = object()
    try:
        with fail_after(WAIT_S if work is Work.SEARCH else None):
            await limits[work].acquire_on_behalf_of(place)
    except TimeoutError as error:
        raise BusyError(
            f"other searches were at work for {WAIT_S:g} s, and this one did not begin",
            fix="search again in a moment",
        ) from error
    try:
        return await to_thread.run_sync(function, limiter=CapacityLimiter(1))
    finally:
        limits[work].release_on_behalf_of(place)


_limits: Final[RunVar[dict[Work, CapacityLimiter] | None]] = RunVar("limits of segue browse")
"""Of this event loop."""
