"""A sign of life on a terminal while something loads that has no progress of its own."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def show_waiting(what: str) -> Iterator[None]:
    """Show a moving line on the standard error while the block runs; nothing off a terminal.

    Args:
        what: What is done, such as "loading torch".
    """
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield
