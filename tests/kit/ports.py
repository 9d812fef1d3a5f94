"""Ports of loopback for programs that cannot choose one and tell it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def held_port() -> Iterator[int]:
    """A port that the system gives to nobody else, while whoever is told of it may listen there.

    It is bound here, but not listened to: on Linux a server that sets SO_REUSEADDR, as most do,
    may bind it beside this.
    """
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", 0))
        yield int(held.getsockname()[1])
