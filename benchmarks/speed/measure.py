"""What a turn costs: time on the clock, processor time (children included) and memory.

It also runs in the peers' environment, so it imports nothing but the standard library.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

MIB: Final = 2**20
Job: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Done:
    """What a turn did.

    Args:
        samples: Made or read.
        seconds: Of audio in all, 0 where a case makes none.
        facts: Further figures of this case.
    """

    samples: int
    seconds: float = 0.0
    facts: dict[str, float] = field(default_factory=dict)


class Stopwatch:
    """Runs within `with` blocks only; the time and work of all of them add up."""

    def __init__(self) -> None:
        self.wall_s = 0.0
        self.cpu_s = 0.0
        self._begun = (0.0, 0.0)

    def __enter__(self) -> Stopwatch:
        self._begun = (time.perf_counter(), processor_s())
        return self

    def __exit__(self, *failure: object) -> None:
        self.wall_s += time.perf_counter() - self._begun[0]
        self.cpu_s += processor_s() - self._begun[1]


Work: TypeAlias = Callable[[Stopwatch], Done]


def processor_s() -> float:
    """Processor time of this process and of its children that have ended, in seconds."""
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(each.ru_utime + each.ru_stime for each in both)


def peak_mib(process: int | str = "self") -> float:
    """Most memory that a process has held, its children not counted.

    `getrusage` would also count what the parent held when it started the process.
    """
    status = Path(f"/proc/{process}/status")
    if not status.is_file():
        unit = MIB if sys.platform == "darwin" else 1024
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit
    lines = status.read_text(encoding="utf-8").splitlines()
    (peak,) = (line.split()[1] for line in lines if line.startswith("VmHWM:"))
    return int(peak) / 1024


def measured(prepare: Callable[[Job], Work], job: Job) -> dict[str, Any]:
    """The figures of one turn; what `prepare` does is not on the clock."""
    work = prepare(job)
    watch = Stopwatch()
    done = work(watch)
    if done.samples <= 0:
        raise RuntimeError(f"a turn did nothing: {job}")
    return asdict(done) | {
        "wall_s": watch.wall_s,
        "cpu_s": watch.cpu_s,
        "peak_mib": peak_mib(),
    }
