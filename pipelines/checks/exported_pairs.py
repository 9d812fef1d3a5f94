"""Faults of the lines of an export, and lines that come two and two, each the other's mirror."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

Mirror: TypeAlias = Callable[[Mapping[str, Any], Mapping[str, Any]], str | None]
"""Why two rows are not each other's mirror; None where they are."""


@dataclass(frozen=True, slots=True)
class LineFault:
    """A line that does not hold.

    Args:
        file: Its file, from the folder of the export.
        line: Its number, from 1.
        row: Its id, "" where it has none.
        why: What does not hold.
    """

    file: str
    line: int
    row: str
    why: str


def name_fault(file: str, number: int, row: Mapping[str, Any], why: str) -> LineFault:
    """The fault of a line."""
    return LineFault(file, number, str(row.get("id", "")), why)


class Pairing:
    """Lines that come two and two. One that lacks its mirror costs no later line its own."""

    def __init__(self, mirror: Mirror) -> None:
        self._mirror = mirror
        self._single: tuple[int, Mapping[str, Any], bool] | None = None

    def take(
        self, file: str, number: int, row: Mapping[str, Any], *, holds: bool
    ) -> Iterator[LineFault]:
        """The fault of the line before, if it waited for a mirror and this row is none.

        Args:
            file: Their file.
            number: Of the line.
            row: What it holds; empty behind the last one.
            holds: Whether it holds by itself; a line that does not is named only once.
        """
        single, self._single = self._single, (number, row, holds)
        if single is None:
            return
        before, waiting, is_sound = single
        why = self._mirror(waiting, row)
        if why is None:
            self._single = None
        elif is_sound:
            yield name_fault(file, before, waiting, why)
