"""One turn in this process, and what it costs: time on the clock, processor time, memory.

    python -m benchmarks.core.turn MODULE JOB.json

MODULE has `prepare(job)`, which gives the work; only what the work does inside `with watch` is on
the clock. The figures are the last line that is printed. Peers' environments run this, too, so it
imports nothing but the standard library.
"""

from __future__ import annotations

import importlib
import json
import os
import resource
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeAlias

MIB: Final = 2**20
SAMPLED_S: Final = 0.02
Job: TypeAlias = dict[str, Any]
Figures: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Done:
    """What a turn did.

    Args:
        samples: Made or read.
        seconds: Of audio in all, 0 where a case makes none.
        facts: Further figures, which take the place of measured ones of the same name.
    """

    samples: int
    seconds: float = 0.0
    facts: Figures = field(default_factory=dict)


class Stopwatch:
    """Runs within `with` blocks only; the time and work of all of them add up."""

    def __init__(self) -> None:
        self.wall_s = self.cpu_s = 0.0

    def __enter__(self) -> Stopwatch:
        self._cpu_s = processor_s()
        self._begun = time.perf_counter()
        return self

    def __exit__(self, *failure: object) -> None:
        self.wall_s += time.perf_counter() - self._begun
        self.cpu_s += processor_s() - self._cpu_s


Work: TypeAlias = Callable[[Stopwatch], Done]


def processor_s() -> float:
    """Processor time, user and system, of this process and of all below it, in seconds."""
    uses = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    ticks = sum(sum(map(int, read_stat(child)[11:15])) for child in descendants(os.getpid()))
    return sum(use.ru_utime + use.ru_stime for use in uses) + ticks / os.sysconf("SC_CLK_TCK")


def descendants(process: int) -> Iterator[int]:
    """All living processes below one, where there is a /proc."""
    for tasks in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):  # it has ended
            for child in map(int, tasks.read_text(encoding="utf-8").split()):
                yield child
                yield from descendants(child)


def read_stat(process: int) -> list[str]:
    """What /proc tells of a living process, from its state on; zeros of one that has ended."""
    with suppress(OSError):
        text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
        return text.rpartition(")")[2].split()
    return ["0"] * 50


def memory_mib(process: int | str = "self") -> dict[str, float]:
    """What the system tells of a process's memory (VmHWM, VmRSS, RssAnon, RssFile, Pss, ...)."""
    sizes = {}
    for name in ("status", "smaps_rollup"):
        with suppress(OSError):  # it has ended, or is of a system without /proc
            for line in Path(f"/proc/{process}/{name}").read_text(encoding="utf-8").splitlines():
                words = line.split()
                if words[-1] == "kB":
                    sizes[words[0].rstrip(":")] = int(words[1]) / 1024
    return sizes


def peak_mib(process: int | str = "self") -> float:
    """Most memory that a process has held, its children not counted.

    `getrusage` would also count what the parent held when it started the process.
    """
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return memory_mib(process).get("VmHWM", most / (MIB if sys.platform == "darwin" else 1024))


@contextmanager
def sampled_peaks() -> Iterator[Figures]:
    """The most memory that was seen at any time, in MiB: its own, and with pages of files."""
    peaks = {"peak_anon_mib": 0.0, "peak_rss_mib": 0.0}
    ended = threading.Event()

    def watch() -> None:
        page = os.sysconf("SC_PAGE_SIZE") / MIB
        while not ended.wait(SAMPLED_S):
            _, resident, shared, *_ = map(int, Path("/proc/self/statm").read_text().split())
            for name, pages in zip(peaks, (resident - shared, resident), strict=True):
                peaks[name] = max(peaks[name], pages * page)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield peaks
    finally:
        ended.set()
        thread.join()


def measure(prepare: Callable[[Job], Work], job: Job) -> Figures:
    """The figures of one turn."""
    work, watch = prepare(job), Stopwatch()
    result = work(watch)
    if result.samples <= 0:
        raise RuntimeError(f"a turn did nothing: {job}")
    costs = {"wall_s": watch.wall_s, "cpu_s": watch.cpu_s, "peak_mib": peak_mib()}
    return {"samples": result.samples, "seconds": result.seconds, **costs, **result.facts}


def main() -> None:
    module, job = sys.argv[1:]
    prepare = importlib.import_module(module).prepare
    print(json.dumps(measure(prepare, json.loads(Path(job).read_text(encoding="utf-8")))))


if __name__ == "__main__":
    main()
