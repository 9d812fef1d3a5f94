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
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np
import soundfile

from pipelines.ingest.effort import measure_own_time
from synth.audio.bank import encode
from synth.audio.decoding.read import read_audio
from synth.audio.dsp import Pcm
from synth.base.doors import UNWELL
from synth.base.errors import ClipError, MachineError, SegueError
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
