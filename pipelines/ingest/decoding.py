"""What a decoder does: it opens clips, and ends by itself where nobody ends it."""

from __future__ import annotations

import contextlib
import io
import math
import mmap
import os
import signal
import struct
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from multiprocessing.connection import Connection
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np
import psutil
import soundfile

from pipelines.engines.executor import start_worker
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
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)
    start_worker(environment)
    # Load what decoding needs: no clip is to pay for it.
    source = _Rehearsal(rate=16_000 if task.rate == 8_000 else 8_000)
    (clip,) = source.refs()
    DecodingTask(source, task.rate, Acceptance()).decode(clip)
    allowed = _limit_memory(task.acceptance)
    # Decoders written in C warn on stderr, amid the progress bars.
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 2)
    os.close(sink)
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
    needed = frames * (FRAME_MEMORY + CHANNEL_MEMORY * acceptance.max_channels)
    allowed = BASE_MEMORY + math.ceil(needed)
    if sys.platform != "win32":
        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        limit = psutil.Process().memory_info().vms + allowed
        if hard == resource.RLIM_INFINITY or limit < hard:
            with contextlib.suppress(OSError, ValueError):
                resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    return allowed


def _set_alarm(limit_s: float) -> None:
    """Have the system end this process by itself: its parent may be gone, or get no turn."""
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, limit_s)


# How much a decoder has worked on a clip: in processor time, which no busy machine lengthens.


LOOK_S: Final = 1.0
STIR_S: Final = 0.05
"""Less than this is no work: a process that waits looks after its parent now and then."""


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


def measure_decoder_time(pid: int) -> Seconds | None:
    """Processor time of a process and of those that it started; None where that cannot be told."""
    try:
        # The process first: of a child that ends meanwhile nothing is then counted twice.
        process = psutil.Process(pid)
        used: float = sum(process.cpu_times()[:4])
        for child in process.children(recursive=True):
            with contextlib.suppress(psutil.Error):
                used += sum(child.cpu_times()[:4])
    except psutil.Error:
        return None
    return used
