"""What a decoder does: it opens clips, and ends by itself where nobody ends it."""

from __future__ import annotations

import contextlib
import io
import math
import mmap
import os
import shutil
import signal
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np
import soundfile

from synth.audio.bank import encode
from synth.audio.decoding.read import read_audio
from synth.audio.dsp import Pcm
from synth.base.doors import UNWELL
from synth.base.errors import ClipError, MachineError, SegueError
from synth.base.units import Seconds
from synth.sources import ClipRef, Recording, Source
from synth.sources.catalogue import Acceptance, catalogue

if sys.platform != "win32":
    import resource

READY: Final = "ready"
SPARE_S: Final = 1.0
BASE_MEMORY: Final = 2 << 30
FRAME_MEMORY: Final = 64
CHANNEL_MEMORY: Final = 8
_NO_THREAD: Final = "can't start new thread"


@dataclass(frozen=True, slots=True)
class DecodedClip:
    """A clip that can be used: its catalogue row, and its samples as the bank holds them."""

    row: dict[str, Any]
    pcm: Pcm
    scale: float


Outcome: TypeAlias = DecodedClip | str
"""What became of a clip: it was taken, or why it was refused."""


@dataclass(frozen=True, slots=True)
class DecodingTask:
    """How clips are opened, for whichever process does it."""

    source: Source
    rate: int
    acceptance: Acceptance

    def decode(self, ref: ClipRef) -> Outcome:
        """Open one clip here."""
        try:
            clip = catalogue(self.source, ref, self.rate, self.acceptance)
        except ClipError as error:
            return str(error)
        return DecodedClip(clip.row, *encode(clip.audio))


def describe_overtime(limit_s: float) -> str:
    """Why a clip is refused that takes too long."""
    return f"takes more than {limit_s:g} s of processor time to decode"


def serve_decoding(
    connection: Connection, task: DecodingTask, environment: Mapping[str, str]
) -> None:
    """The decoder's process: answers for each clip it is sent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)
    os.environ.clear()
    os.environ.update(environment)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _rehearse(task.rate)
    allowed = _limit_memory(task.acceptance)
    _silence_libraries()
    limit_s = task.acceptance.decode_timeout_s
    begun_s = measure_own_time()
    connection.send((READY, begun_s))
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            for ref in connection.recv():
                _set_alarm(limit_s + SPARE_S)
                answer = _decode_one(task, ref, allowed)
                _set_alarm(0)
                used_s = measure_own_time()
                # The parent looks now and then only, and more often on a busy machine.
                if used_s - begun_s > limit_s and not isinstance(answer, SegueError):
                    answer = describe_overtime(limit_s)
                connection.send((answer, used_s))
                begun_s = measure_own_time()


@dataclass(frozen=True, slots=True)
class _Rehearsal:
    """A second of noise, as a file of its own: what any other clip needs is loaded for it."""

    name: ClassVar[str] = "rehearsal"
    reads_files: ClassVar[bool] = True
    rate: int

    def refs(self) -> Iterator[ClipRef]:
        return iter((ClipRef("rehearsal", "rehearsal", ()),))

    def stamp(self, ref: ClipRef) -> str:
        return ""

    def load(self, ref: ClipRef) -> Recording:
        file = io.BytesIO()
        noise = np.random.default_rng(0).uniform(-0.5, 0.5, self.rate)
        soundfile.write(file, noise, self.rate, format="WAV")
        audio, rate = read_audio(file.getvalue(), ".wav")
        return Recording(audio[:, 0], rate, 1, "")


def _rehearse(rate: int) -> None:
    """Load what decoding needs: no clip is to pay for it."""
    source = _Rehearsal(rate=16_000 if rate == 8_000 else 8_000)
    (ref,) = source.refs()
    DecodingTask(source, rate, Acceptance()).decode(ref)


def _decode_one(task: DecodingTask, ref: ClipRef, allowed: int) -> Outcome | SegueError:
    try:
        return task.decode(ref)
    except MemoryError as error:
        if _has_memory(allowed):
            return f"takes more memory to decode than a clip may ({allowed / 2**30:.1f} GiB)"
        return _make_machine_error(ref, error)
    except SegueError as error:
        return error
    except Exception as error:
        if isinstance(error, OSError | ImportError) or str(error) == _NO_THREAD:
            return _make_machine_error(ref, error)
        # A decoder's or a meter's own fault over this one file: it must not end the whole run.
        return f"cannot be decoded: {_explain_fault(error)}"


def _has_memory(size: int) -> bool:
    """Whether the system gives this much memory: it was our limit, then, that was reached."""
    if sys.platform == "win32":
        return True
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    try:
        mmap.mmap(-1, size).close()
    except (OSError, MemoryError, OverflowError):
        return False
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
    return True


def _make_machine_error(ref: ClipRef, error: BaseException) -> MachineError:
    """What the machine lacked while a clip was decoded."""
    reason = "there is not enough memory" if isinstance(error, MemoryError) else str(error)
    if isinstance(error, OSError):
        reason = error.strerror or reason
    return MachineError(f"{ref.location}: cannot be decoded now: {reason}", fix=UNWELL)


def _explain_fault(error: Exception) -> str:
    """What a decoder's own fault means for the file; which line of it failed helps nobody."""
    if isinstance(error, LookupError | ValueError | ArithmeticError | TypeError | struct.error):
        return "what it holds does not follow its format"
    return "the decoder fails on it"


def _limit_memory(acceptance: Acceptance) -> int:
    """Keep this process from taking more than the largest accepted clip needs, in bytes."""
    frames = acceptance.max_s * acceptance.max_rate
    wanted = frames * (FRAME_MEMORY + CHANNEL_MEMORY * acceptance.max_channels)
    allowed = BASE_MEMORY + math.ceil(wanted)
    if sys.platform != "win32":
        _, most = resource.getrlimit(resource.RLIMIT_AS)
        limit = _measure_address_space() + allowed
        if most == resource.RLIM_INFINITY or limit < most:
            with contextlib.suppress(OSError, ValueError):
                resource.setrlimit(resource.RLIMIT_AS, (limit, most))
    return allowed


def _measure_address_space() -> int:
    """Bytes that this process's address space takes already."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except (OSError, ValueError):
        return BASE_MEMORY
    return pages * os.sysconf("SC_PAGE_SIZE")


def _set_alarm(limit_s: float) -> None:
    """Have the system end this process by itself: its parent may be gone, or get no turn."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, limit_s)


def _silence_libraries() -> None:
    """Decoders written in C warn on stderr, amid the progress bars."""
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 2)
    os.close(sink)


def _end_with_parent() -> None:
    """End this process, and what it started, when the one that asked for it has ended."""
    parent = parent_process()
    if parent is not None:
        parent.join()
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


# How much a decoder has worked on a clip: in processor time, which no busy machine lengthens.


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
