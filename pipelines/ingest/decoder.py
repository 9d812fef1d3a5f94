"""Clips opened in a process that can be killed: files from strangers may hang or crash a decoder.

A `Decoder` is one process that measures clips and answers for each in turn, so that the clip on
which it fell silent is known. Over its limit of processor time, or dead, it is replaced, and that
clip alone is refused. One that does nothing for long waits for a disk or a network: that is no
property of a clip, and stops the run. Decoders leave Ctrl-C to the parent and die with it.

On Linux decoders are forks of a process that has imported what they need, so that one that takes
the place of a dead one begins at once.
"""

from __future__ import annotations

import contextlib
import os
import signal
from collections import deque
from collections.abc import Iterator, Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any, Final

from pipelines.engines.executor import FEWER_PROCESSES, make_context, starting_process
from pipelines.ingest.decoding import (
    READY,
    DecoderVerdict,
    DecoderWatch,
    DecodingTask,
    Outcome,
    describe_overtime,
    measure_decoder_time,
    serve_decoding,
)
from synth.base.doors import UNWELL
from synth.base.errors import MachineError, SegueError
from synth.sources import ClipRef

START_S: Final = 300.0
STALL_S: Final = 300.0
KILL_S: Final = 5.0
BURIAL_S: Final = 60.0


class ClosedError(Exception):
    """The decoder was closed while it worked."""


class Decoder:
    """A process that opens clips, started when it is first needed; usable from one thread."""

    def __init__(self, task: DecodingTask) -> None:
        self._task = task
        self._limit_s = task.acceptance.decode_timeout_s
        self._running: tuple[BaseProcess, Connection] | None = None
        self._used_s = 0.0
        self._closed = False

    def decode_all(self, refs: Sequence[ClipRef]) -> Iterator[Outcome]:
        """What became of each clip, in order.

        A clip over the limit of processor time is refused; one on which the process dies is tried
        once more, and then refused if it was a crash.

        Raises:
            SourceError: If the source itself cannot be used.
            MachineError: If the process is killed twice, no process can be started, or one does
                nothing for long.
            ClosedError: If `close` was called meanwhile.
        """
        pending = deque(refs)
        suspect: ClipRef | None = None
        while pending:
            connection = self._ensure_started()
            with contextlib.suppress(OSError):  # the process is dead; that shows below
                connection.send(tuple(pending))
            while pending and self._running is not None:
                answer = self._receive(DecoderWatch(self._used_s, self._limit_s, STALL_S))
                if isinstance(answer, SegueError):
                    raise answer
                if answer is DecoderVerdict.STALLED:
                    self._kill()
                    raise MachineError(
                        f"{pending[0].location}: the process that decodes it was idle for "
                        f"{STALL_S:g} s",
                        fix="check that its disk or network folder responds, then run the same "
                        "command again; finished work is kept, and no clip was refused. If only "
                        "this file hangs, move it out of the library",
                    )
                if answer is DecoderVerdict.OVERTIME:
                    self._kill()
                    answer = describe_overtime(self._limit_s)
                if answer is None:
                    code = self._bury()
                    if not _is_overtime(code) and pending[0] is not suspect:
                        suspect = pending[0]
                        break
                    answer = _describe_death(code, self._limit_s)
                    if not _is_of_the_file(code):
                        raise MachineError(f"{pending[0].location}: {answer}", fix=UNWELL)
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
        context = make_context()
        pipe: tuple[Connection, Connection] = context.Pipe()
        near, far = pipe
        # What it is a fork of may be older than a variable.
        arguments = (far, self._task, dict(os.environ))
        process = context.Process(target=serve_decoding, args=arguments)
        process.daemon = True
        try:
            with starting_process():
                process.start()
        except (OSError, EOFError, RuntimeError) as error:
            raise MachineError(
                f"a process that decodes audio could not be started: {error}", fix=FEWER_PROCESSES
            ) from error
        far.close()
        self._running = process, near
        answer = self._receive(DecoderWatch(0.0, START_S, START_S))
        if answer != READY:
            if answer is None:
                died = _describe_death(self._bury(), START_S)
            else:
                self._kill()
                died = "it was idle for" if answer is DecoderVerdict.STALLED else "it worked for"
                died += f" {START_S:g} s without getting ready"
            raise MachineError(
                f"a process that decodes audio could not be started: {died}",
                fix="free some memory or use fewer --workers, then run the same command again",
            )
        return near

    def _receive(self, watch: DecoderWatch) -> Any:
        """What the process says next; None if dead, a `DecoderVerdict` if silent for good."""
        assert self._running is not None
        process, connection = self._running
        answer: Any = None
        with contextlib.suppress(EOFError, OSError):
            while answer is None and not connection.poll(watch.look_s):
                answer = watch.judge(measure_decoder_time(process.pid or 0))
            if answer is None:
                answer, self._used_s = connection.recv()
        if self._closed:
            self._kill()
            raise ClosedError
        return answer

    def _kill(self) -> None:
        assert self._running is not None
        process, connection = self._running
        _kill_group(process)
        process.join(KILL_S)
        connection.close()
        self._running = None

    def _bury(self) -> int | None:
        """The exit code of a process that has died; what it started is ended."""
        assert self._running is not None
        process = self._running[0]
        process.join(BURIAL_S)  # it closes its end of the pipe somewhat before it is gone
        self._kill()
        return process.exitcode


def _kill_group(process: BaseProcess) -> None:
    """Kill a process and those that it started (ffmpeg), dead or alive."""
    if process.pid is not None and hasattr(os, "killpg"):
        with contextlib.suppress(OSError):
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()


def _describe_death(code: int | None, limit_s: float) -> str:
    if _is_overtime(code):
        return describe_overtime(limit_s)
    if code is not None and code < 0:
        name = signal.Signals(-code).name
        return f"{'crashes' if _is_of_the_file(code) else 'something ended'} the decoder ({name})"
    return f"ends the decoder (exit code {code})"


def _is_of_the_file(code: int | None) -> bool:
    """Whether a decoder ended by itself; other signals come from elsewhere."""
    names = ("SIGSEGV", "SIGFPE", "SIGILL", "SIGABRT", "SIGTRAP", "SIGPROF")
    return code is None or code >= 0 or signal.Signals(-code).name in names


def _is_overtime(code: int | None) -> bool:
    """Whether a process ended itself, since nobody else looked at its processor time."""
    return code is not None and hasattr(signal, "SIGPROF") and code == -signal.SIGPROF
