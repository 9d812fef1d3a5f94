"""How much a decoder has worked on a clip: in processor time, which no busy machine lengthens.

What it started, such as ffmpeg, counts as well. A decoder that works is told from one that waits
for something that does not come, such as a network folder that hangs.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum, auto
from pathlib import Path
from typing import Final

from synth.base.units import Seconds

LOOK_S: Final = 1.0
STIR_S: Final = 0.05
"""Less than this is no work: a process that waits looks after its parent now and then."""
_PROC: Final = Path("/proc")
_PS: Final = ("ps", "-A", "-o", "pid=,pgid=,time=")
_SCALES: Final = (1, 60, 3600)
_GROUP, _FIRST_TIME, _LAST_TIME = 2, 11, 15  # of /proc/PID/stat, behind the name


class DecoderVerdict(Enum):
    """What is to become of a decoder that gives no answer."""

    OVERTIME = auto()
    STALLED = auto()


@dataclass(slots=True)
class DecoderWatch:
    """What is seen of a decoder at work on one clip, look by look; no clock is read.

    A look follows `look_s` of silence at least. That several of them make up the time of a stall
    keeps a machine that slept, or had no turn for the looker himself, from being taken for one.

    Args:
        begun_s: Processor time that the decoder had used before.
        limit_s: Processor time that the clip may take.
        stall_s: How long a decoder may do nothing.
        look_s: Time between looks.
    """

    begun_s: Seconds
    limit_s: Seconds
    stall_s: Seconds
    look_s: Seconds = LOOK_S
    _seen_s: Seconds = 0.0
    _idle_s: Seconds = 0.0

    def judge(self, used_s: Seconds | None) -> DecoderVerdict | None:
        """Judge a decoder that is still silent; None if it may go on.

        Args:
            used_s: Processor time that it has used in all, None where that cannot be told.
        """
        if used_s is not None:
            self.begun_s = min(self.begun_s, used_s)  # one that ended may not be counted any more
            if used_s - self.begun_s > self.limit_s:
                return DecoderVerdict.OVERTIME
            if used_s - self._seen_s >= STIR_S:
                self._seen_s = used_s
                self._idle_s = -self.look_s
        self._idle_s += self.look_s
        return DecoderVerdict.STALLED if self._idle_s >= self.stall_s else None


def measure_own_time() -> Seconds:
    """Processor time of this process, and of those that it started and that have ended."""
    return sum(os.times()[:4])


def measure_group_time(group: int) -> Seconds | None:
    """Processor time of a process group; None where that cannot be told.

    Args:
        group: Pid of the process that leads it.
    """
    if (_PROC / str(os.getpid()) / "stat").is_file():
        return _sum_stats(group)
    return _ask_ps(group)


def _sum_stats(group: int) -> Seconds:
    """The same of a Linux system, with the children that have ended."""
    # The leader first: a child that ends meanwhile is counted once or not at all, and never twice.
    # It is no leader yet while it starts.
    leader = _read_ticks(_PROC / str(group))
    ticks = leader + sum(
        _read_ticks(folder, group) for folder in _list_processes() if folder.name != str(group)
    )
    return ticks / os.sysconf("SC_CLK_TCK")


def _list_processes() -> Iterator[Path]:
    return (Path(entry.path) for entry in os.scandir(_PROC) if entry.name.isdigit())


def _read_ticks(folder: Path, group: int | None = None) -> int:
    try:
        facts = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
    except OSError:  # it has ended
        return 0
    if group is not None and int(facts[_GROUP]) != group:
        return 0
    return sum(map(int, facts[_FIRST_TIME:_LAST_TIME]))


def _ask_ps(group: int) -> Seconds | None:
    """The same of macOS and others, without the children that have ended."""
    if shutil.which(_PS[0]) is None:
        return None
    try:
        told = subprocess.run(_PS, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError):
        return None
    rows = (line.split() for line in told.splitlines())
    return sum(parse_time(row[2]) for row in rows if len(row) == 3 and str(group) in row[:2])


def parse_time(text: str) -> Seconds:
    """Seconds of a time as `ps` writes it: MINUTES:SECONDS.CENTISECONDS, or DAYS-HOURS:MM:SS."""
    days, _, clock = text.rpartition("-")
    parts = reversed(clock.split(":"))
    return 86_400 * int(days or 0) + sum(
        scale * float(part) for scale, part in zip(_SCALES, parts, strict=False)
    )
