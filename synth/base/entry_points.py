"""What other packages offer by entry points, beside what is of Segue."""

from __future__ import annotations

import sys
from collections.abc import Collection
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, TypeVar

from synth.base.errors import SegueError

Base = TypeVar("Base")


def find_entry_points(group: str, built_in: Collection[str]) -> dict[str, EntryPoint]:
    """The entry points of a group by name; a name of ours is not theirs to take."""
    points = list_installed(group, tuple(sys.path))
    return {point.name: point for point in points if point.name not in built_in}


@cache
def list_installed(group: str, path: tuple[str, ...]) -> tuple[EntryPoint, ...]:
    """The entry points of a group on a `sys.path`: to look through all packages takes 10 ms."""
    return tuple(entry_points(group=group))


def load_object(point: EntryPoint, error: type[SegueError]) -> Any:
    """What is behind an entry point."""
    try:
        return point.load()
    except Exception as fault:
        raise error(
            f"{_name(point)} cannot be imported: {fault}",
            fix="fix or uninstall the package that offers it",
        ) from fault


def load_class(point: EntryPoint, base: type[Base], error: type[SegueError]) -> type[Base]:
    """The class behind an entry point."""
    kind = load_object(point, error)
    if not (isinstance(kind, type) and issubclass(kind, base)):
        raise error(
            f"{_name(point)} is not a subclass of {base.__module__}.{base.__qualname__}",
            fix="see docs/extend.md",
        )
    return kind


def _name(point: EntryPoint) -> str:
    return f"{point.name!r} ({point.value}) of the entry points {point.group}"
