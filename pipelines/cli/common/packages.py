"""Packages that a command needs, and that may not be installed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from synth.base.errors import SegueError

OURS: Final = ("synth", "pipelines", "train", "experiments", "prompts")


@contextmanager
def naming_packages(name: str) -> Iterator[None]:
    """Let a command, which imports what is slow where it uses it, tell what is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in OURS or not package:
            raise
        raise SegueError(
            f"`segue {name}` needs the package {package}, which is not installed",
            fix=f"pip install -c constraints.txt {package}, or run `make env` for all packages",
        ) from error
