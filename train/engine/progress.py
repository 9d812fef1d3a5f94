"""How fast a run is."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import torch

from train.data.batch import Batch

PHASE: Final = "train"
_WINDOW_S: Final = 10.0
"""Time of learning that is looked at."""
_HELD_UP: Final = 0.5
"""Share of a processor below which this process is held up by others."""


@dataclass(slots=True)
class StepPace:
    """Some steps: how many, how long they took, and how long the thread that learns ran in them."""

    steps: int = 0
    wall_s: float = 0.0
    ran_s: float = 0.0


class Meter:
    """Speed of a run, the share of its time spent waiting for data, and what holds it up.

    Args:
        clock: Time in s.
        ran: How long the thread that learns has run, in s; None where it may wait by right, for a
            GPU or for other processes.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        ran: Callable[[], float] | None = None,
    ) -> None:
        self.samples = 0
        self.warning = ""
        """What holds the run up, and what helps; empty while nothing does."""
        self._clock = clock
        self._ran = ran
        self._begun = clock()
        self._waited = 0.0
        self._pace = StepPace()

    @contextmanager
    def learn(self, samples: int) -> Iterator[None]:
        """A step that learns from so many samples."""
        begun, ran = self._clock(), self._ran() if self._ran else 0.0
        yield
        self.samples += samples
        if self._ran is None:
            return
        pace = self._pace
        pace.steps += 1
        pace.wall_s += self._clock() - begun
        pace.ran_s += self._ran() - ran
        if pace.wall_s >= _WINDOW_S:
            self.warning = describe_pace(pace, torch.get_num_threads())
            self._pace = StepPace()

    def time_waits(self, batches: Iterator[Batch]) -> Iterator[Batch]:
        """The batches; the time until each is there counts as waiting."""
        while True:
            asked = self._clock()
            batch = next(batches, None)
            self._waited += self._clock() - asked
            if batch is None:
                return
            yield batch

    @property
    def samples_per_s(self) -> float:
        """Samples a second since the start."""
        return self.samples / max(self._clock() - self._begun, 1e-9)

    @property
    def data_wait(self) -> float:
        """Share of the time since the start, 0 to 1."""
        return self._waited / max(self._clock() - self._begun, 1e-9)

    def facts(self) -> dict[str, float | int]:
        """For the log."""
        return {
            "samples_per_s": round(self.samples_per_s, 1),
            "data_wait": round(self.data_wait, 4),
        }

    def __str__(self) -> str:
        speed = f"{self.samples_per_s:.0f} samples/s  data wait {self.data_wait:.0%}"
        return f"{speed}  {self.warning}" if self.warning else speed


def describe_pace(pace: StepPace, threads: int) -> str:
    """What holds such steps up, and what helps; empty where nothing does.

    Args:
        threads: Of torch.
    """
    share = pace.ran_s / pace.wall_s
    if share >= _HELD_UP:
        return ""
    helps = f"OMP_NUM_THREADS={threads // 2}, or " if threads > 1 else ""
    return (
        f"{pace.steps / pace.wall_s:.2g} steps/s: other work leaves this process {share:.0%} of a "
        f"processor; {helps}stop the other work"
    )
