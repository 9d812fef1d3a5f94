"""What every request must be, and every answer bears, so that no other page gets at the data."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import threading
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from typing import Final, TypeVar
from urllib.parse import urlsplit

import duckdb
from anyio import to_thread
from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from synth.base.errors import SegueError

LOOPBACK: Final = frozenset({"127.0.0.1", "localhost", "::1"})
_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        *(f"{kind}-src 'self'" for kind in ("script", "style", "img", "media", "connect")),
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
    )
)
HEADERS: Final = {
    "Content-Security-Policy": _POLICY,
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


@dataclass(frozen=True, slots=True)
class Hosts:
    """The names that this server goes by.

    A page elsewhere can let its own name point here (DNS rebinding); its requests bear that name.

    Args:
        any_address: Whether any IP address is one too: a name cannot be bent there.
    """

    names: Collection[str]
    any_address: bool = False

    @classmethod
    def of(cls, host: str) -> Hosts:
        """Those of a server that listens at `host`."""
        if host in LOOPBACK:
            return cls(LOOPBACK)
        names = {host, socket.gethostname(), socket.getfqdn()}
        return cls(LOOPBACK | {name.lower() for name in names}, any_address=True)

    def allow(self, header: str | None) -> bool:
        """Whether a `Host` header names this server."""
        try:
            name = urlsplit(f"//{header or ''}").hostname or ""
        except ValueError:
            return False
        return name in self.names or (self.any_address and _is_address(name))


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches a server that listens at `host`."""
    return host in LOOPBACK or (_is_address(host) and ipaddress.ip_address(host).is_loopback)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


class Guard:
    """Refuses requests under another name, and puts `HEADERS` on every answer."""

    def __init__(self, app: ASGIApp, hosts: Hosts) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        host = Headers(scope=scope).get("host")
        if self._hosts.allow(host):
            await self._app(scope, receive, send_with_headers)
        else:
            refusal = PlainTextResponse("this server does not answer to that name\n", 421)
            await refusal(scope, receive, send_with_headers)


# How many searches are at work at once, how long each may wait and take.


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
"""Threads of each kind; together they are fewer than anyio has for an event loop."""


class Workers:
    """Threads for the work of one server."""

    def __init__(self) -> None:
        self._free = {work: asyncio.Semaphore(count) for work, count in _AT_ONCE.items()}

    async def run(self, work: WorkKind, function: Callable[[], Result]) -> Result:
        """What a function returns that is called in a thread, once its kind of work has one."""
        try:
            async with asyncio.timeout(WAIT_S if work is WorkKind.SEARCH else None):
                await self._free[work].acquire()
        except TimeoutError as error:
            raise BusyError(
                f"other searches have run for {WAIT_S:g} s, so this one did not start",
                fix="search again in a moment",
            ) from error
        try:
            return await to_thread.run_sync(function)
        finally:
            self._free[work].release()


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
