"""Clips opened in a process that can be killed: files from strangers may hang or crash a decoder.

A `Decoder` is one process that measures clips and answers for each in turn, so that the clip on
which it fell silent is known. Over the time limit, or dead, it is replaced, and that clip alone is
refused. Decoders leave Ctrl-C to the parent and die with it.
"""

from __future__ import annotations

import contextlib
import math
import multiprocessing
import os
import signal
import struct
import sys
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from pathlib import Path
from typing import Any, Final, TypeAlias

from pipelines.engines.executor import PARENT_POLL_S, hold_interrupts
from synth.audio.bank import encode
from synth.audio.dsp import Pcm
from synth.base.errors import ClipError, SegueError
from synth.sources import ClipRef, Source
from synth.sources.catalogue import Acceptance, catalogue

if sys.platform != "win32":
    import resource

START_S: Final = 120.0
KILL_S: Final = 5.0
BASE_MEMORY: Final = 2 << 30
FRAME_MEMORY: Final = 64
CHANNEL_MEMORY: Final = 8


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


class ClosedError(Exception):
    """The decoder was closed while it worked."""


class Decoder:
    """A process that opens clips, started when it is first needed; usable from one thread.

    Args:
        task: How clips are opened.
    """

    def __init__(self, task: DecodingTask) -> None:
        self._task = task
        self._limit_s = task.acceptance.decode_timeout_s
        self._running: tuple[SpawnProcess, Connection] | None = None
        self._closed = False

    def decode_all(self, refs: Sequence[ClipRef]) -> Iterator[Outcome]:
        """What became of each clip, in order.

        A clip over the time limit is refused; one on which the process dies is tried once more,
        as another program's hunger for memory may have been the cause, and then refused.

        Raises:
            SourceError: If the source itself cannot be used.
            SegueError: If no process can be started.
            ClosedError: If `close` was called meanwhile.
        """
        pending = deque(refs)
        suspect: ClipRef | None = None
        while pending:
            connection = self._ensure_started()
            with contextlib.suppress(OSError):  # the process is dead; that shows below
                connection.send(tuple(pending))
            while pending and self._running is not None:
                answer = self._receive(self._limit_s)
                if isinstance(answer, SegueError):
                    raise answer
                if answer is None:
                    died = self._kill()
                    if died and pending[0] is not suspect:
                        suspect = pending[0]
                        break
                    answer = died or f"decoding took longer than {self._limit_s:g} s"
                pending.popleft()
                yield answer

    def close(self) -> None:
        """End the process, whatever it does; safe to call from another thread."""
        self._closed = True
        running = self._running
        if running is not None:
            _kill_group(running[0])
            running[0].join(KILL_S)

    def _ensure_started(self) -> Connection:
        if self._running is not None:
            return self._running[1]
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(target=_serve, args=(theirs, self._task, os.getpid()))
        process.daemon = True
        with hold_interrupts():
            process.start()
        theirs.close()
        self._running = process, ours
        answer = self._receive(START_S)
        if isinstance(answer, SegueError):
            raise answer
        if answer != READY:
            died = self._kill() or f"it was not ready within {START_S:g} s"
            raise SegueError(
                f"a process that decodes audio could not be started: {died}",
                fix="free some memory or set fewer --workers, then run the same command again",
            )
        return ours

    def _receive(self, limit_s: float) -> Any:
        """What the process says next; None if it is dead, or silent for too long."""
        assert self._running is not None
        connection = self._running[1]
        try:
            answer = connection.recv() if connection.poll(limit_s) else None
        except (EOFError, OSError):
            answer = None
        if self._closed:
            self._kill()
            raise ClosedError
        return answer

    def _kill(self) -> str:
        """End the process and what it started; say how it died if it had."""
        assert self._running is not None
        process, connection = self._running
        # A dead process closes its end of the pipe somewhat before it is gone.
        died = connection.poll(0) and bool(wait([process.sentinel], KILL_S))
        _kill_group(process)
        process.join(KILL_S)
        connection.close()
        self._running = None
        return _describe_death(process.exitcode) if died else ""


READY: Final = "ready"


def _kill_group(process: SpawnProcess) -> None:
    """Kill a process and those that it started (ffmpeg), dead or alive."""
    if process.pid is not None and hasattr(os, "killpg"):
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def _describe_death(code: int | None) -> str:
    if code is not None and code < 0:
        return f"crashes the decoder ({signal.Signals(-code).name})"
    return f"ends the decoder (exit code {code})"


def _serve(connection: Connection, task: DecodingTask, parent: int) -> None:
    """The decoder's process: answers for each clip it is sent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(os, "setpgid"):
        os.setpgid(0, 0)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()
    allowed = _limit_memory(task.acceptance)
    connection.send(READY)
    _silence_libraries()
    with contextlib.suppress(EOFError, BrokenPipeError):
        while True:
            for ref in connection.recv():
                _set_alarm(task.acceptance.decode_timeout_s + 2 * KILL_S)
                answer = _decode_one(task, ref, allowed)
                _set_alarm(0)
                connection.send(answer)


def _decode_one(task: DecodingTask, ref: ClipRef, allowed: int) -> Outcome | SegueError:
    try:
        return task.decode(ref)
    except MemoryError:
        return f"takes more memory to decode than a clip may ({allowed / 2**30:.1f} GiB)"
    except SegueError as error:
        return error
    except Exception as error:
        # A decoder's or a meter's own fault over this one file: it must not end the whole run.
        return f"cannot be decoded: {_explain_fault(error)}"


def _explain_fault(error: Exception) -> str:
    """What a decoder's own fault means for the file; which line of it failed helps nobody."""
    if isinstance(error, OSError):
        return f"it cannot be read: {error.strerror or error}"
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
    """Have the system end this process where no thread of it gets a turn and the parent is gone."""
    if hasattr(signal, "alarm"):
        signal.alarm(math.ceil(limit_s))


def _silence_libraries() -> None:
    """Decoders written in C warn on stderr, amid the progress bars."""
    sink = os.open(os.devnull, os.O_WRONLY)
    os.dup2(sink, 2)
    os.close(sink)


def _end_with(parent: int) -> None:
    """End this process, and what it started, when its parent has ended."""
    while os.getppid() == parent:
        time.sleep(PARENT_POLL_S)
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)
