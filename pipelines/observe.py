"""Progress, as the build functions report it."""

from __future__ import annotations

from typing import Protocol


class Observer(Protocol):
    """Told of the phases of long work; safe to call from several threads."""

    def start(self, phase: str, total: int, unit: str) -> None:
        """A phase of `total` units begins."""
        ...

    def advance(self, phase: str, units: int = 1) -> None:
        """Some units are done."""
        ...

    def finish(self, phase: str, note: str = "") -> None:
        """The phase has ended."""
        ...


class Silent:
    """Reports to nobody."""

    def start(self, phase: str, total: int, unit: str) -> None:
        """Nothing."""

    def advance(self, phase: str, units: int = 1) -> None:
        """Nothing."""

    def finish(self, phase: str, note: str = "") -> None:
        """Nothing."""
