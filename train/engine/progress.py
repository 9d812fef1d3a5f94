"""How fast a run is."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Final

from train.data.loader import Batch

PHASE: Final = "train"


class Meter:
    """Speed of a run, and the share of its time spent waiting for data."""

    def __init__(self) -> None:
        self.samples = 0
        self._begun = time.monotonic()
        self._waited = 0.0

    def time_waits(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """The batches; the time until each is there counts as waiting."""
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
