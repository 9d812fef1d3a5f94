"""How far a run has come, and how fast."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Protocol, runtime_checkable

from train.data.loader import Batch


@runtime_checkable
class Progress(Protocol):
    """Is told how far a run has come; shows it, or not."""

    def phase(self, name: str, total: int, done: int = 0) -> None:
        """A phase of `total` units begins, of which `done` were done by an earlier run."""

    def advance(self, done: int, note: str = "") -> None:
        """`done` units of the phase are done."""


class Silent:
    """Shows nothing."""

    def phase(self, name: str, total: int, done: int = 0) -> None:
        """Show nothing."""

    def advance(self, done: int, note: str = "") -> None:
        """Show nothing."""


class Meter:
    """Speed of a run, and the share of its time spent waiting for data."""

    def __init__(self) -> None:
        self.samples = 0
        self._begun = time.monotonic()
        self._waited = 0.0

    def waiting(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """The batches, with the time until each is there taken."""
        while True:
            asked = time.monotonic()
            batch = next(batches, None)
            self._waited += time.monotonic() - asked
            if batch is None:
                return
            yield batch

    @property
    def samples_per_s(self) -> float:
        """Samples a second since the start."""
        return self.samples / max(time.monotonic() - self._begun, 1e-9)

    @property
    def data_wait(self) -> float:
        """Share of the time since the start, 0 to 1."""
        return self._waited / max(time.monotonic() - self._begun, 1e-9)

    def facts(self) -> dict[str, float | int]:
        """For the log."""
        return {
            "samples_per_s": round(self.samples_per_s, 1),
            "data_wait": round(self.data_wait, 4),
        }

    def __str__(self) -> str:
        return f"{self.samples_per_s:.0f} samples/s  data wait {self.data_wait:.0%}"
