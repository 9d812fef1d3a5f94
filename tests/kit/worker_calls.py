"""What tests have workers call, and a clock of the tests' own for their time limits.

The clock is a number in a file. So a limit is over when a test says so, however fast the machine.
"""

from __future__ import annotations

import signal
import time
from pathlib import Path

from distributed import WorkerPlugin

import pipelines.engines.cluster

HANG_S = 3600.0


def write(path: Path, text: str) -> None:
    """Write at once, so that no reader sees a part of it."""
    partial = path.with_suffix(".partial")
    partial.write_text(text)
    partial.replace(path)


def set_clock(path: str) -> None:
    """Have time limits in this process run by the number in a file."""
    pipelines.engines.cluster.monotonic = lambda: float(Path(path).read_text())


def reset_clock() -> None:
    """Have them run by the time again."""
    pipelines.engines.cluster.monotonic = time.monotonic


class FileClock(WorkerPlugin):
    """Has them run so on a cluster's workers, those that come later among them."""

    def __init__(self, path: str) -> None:
        self.path = path

    def setup(self, worker: object) -> None:
        set_clock(self.path)

    def teardown(self, worker: object) -> None:
        reset_clock()


def wait_for_file(path: str) -> None:
    """Return when there is one."""
    while not Path(path).exists():
        time.sleep(0.01)


def read_deadline() -> float:
    """When the alarm of this process's call rings."""
    return time.monotonic() + signal.getitimer(signal.ITIMER_REAL)[0]


def meet(own: str, gate: str) -> None:
    """Tell by a file that this has begun, and wait for another."""
    Path(own).touch()
    wait_for_file(gate)


def hang(own: str) -> None:
    """Tell by a file that this has begun, and never end."""
    Path(own).touch()
    time.sleep(HANG_S)
