"""Progress as people and programs see it: bars on a terminal, else plain lines or lines of JSON."""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Final

from synth.base.doors import make_console, plain_text
from synth.base.progress import Observer

INTERVAL_S: Final = 1.0
"""Least time between two lines of JSON of one phase, but for its last."""
SOON_S: Final = 0.1
"""How long a command lasts before its first plain line."""
LASTS_S: Final = 0.5
"""How long a phase lasts before its own."""
BEAT_S: Final = 15.0
"""Longest time without a line."""
_TICK_S: Final = 0.05

TOLD: Final = ("mend", "block")
"""Phases that end with a note which everybody needs."""


@dataclass(slots=True)
class Phase:
    """How far a phase has come.

    Args:
        unit: What its units are, in the plural.
        done: Those that are done.
        is_kept: Whether they stay done when the command is stopped.
        begun: When it began, in s of the clock.
        shown: When it was last shown; None before that.
        note: How it goes.
        is_over: Whether it has ended.
    """

    name: str
    unit: str
    total: int
    done: int
    is_kept: bool
    begun: float
    shown: float | None = None
    note: str = ""
    is_over: bool = False


class Tracker:
    """An observer that knows how far every phase has come, and shows none."""

    def __init__(self, command: str = "", clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.command = Phase(command, "", 0, 0, False, clock())
        self.last = self.command.begun
        """When something was last shown."""
        self._phases: dict[str, Phase] = {}
        self._lock = threading.Lock()

    def begin(self, phase: Phase) -> None:
        """Show that a phase has begun."""

    def move(self, phase: Phase) -> None:
        """Show that it has come further, or has ended."""

    def wait(self, phase: Phase) -> None:
        """Show that it goes on, if that is due."""

    def start(self, phase: str, total: int, unit: str, done: int | None = None) -> None:
        """Add the phase."""
        begun = Phase(phase, unit, total, done or 0, done is not None, self.clock())
        with self._lock:
            self._phases.pop(phase, None)  # one that comes again is the latest
            self._phases[phase] = begun
            self.begin(begun)

    def advance(self, phase: str, units: int = 1, note: str = "") -> None:
        """Count on."""
        with self._lock:
            current = self._phases[phase]
            current.done, current.note = current.done + units, note
            self.move(current)

    def finish(self, phase: str, note: str = "") -> None:
        """Complete the phase."""
        with self._lock:
            ended = self._phases[phase]
            ended.done, ended.note, ended.is_over = ended.total, note, True
            self.move(ended)

    def beat(self) -> None:
        """Show that the latest phase goes on, or between phases the command."""
        with self._lock:
            under_way = (each for each in reversed(self._phases.values()) if not each.is_over)
            self.wait(next(under_way, self.command))

    @contextmanager
    def beating(self) -> Iterator[None]:
        """Beat while the block runs."""
        ended = threading.Event()

        def run() -> None:
            with suppress(OSError, ValueError):  # nobody reads any more
                while not ended.wait(_TICK_S):
                    self.beat()

        thread = threading.Thread(target=run, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def close(self) -> None:
        """Leave the phases that are under way as far as they have come."""
        with self._lock:
            for phase in self._phases.values():
                if not phase.is_over:
                    phase.is_over = True
                    self.move(phase)

    @property
    def kept(self) -> str:
        """What the same command will not do again, as `5 of 12 shards are done`; may be empty.

        Where another phase was under way, it is named.
        """
        last = next((each for each in reversed(self._phases.values()) if each.is_kept), None)
        if last is None:
            return ""
        current = next(reversed(self._phases.values()))
        stopped = "" if current is last or current.is_over else f"; {current.name} was under way"
        return f"{last.done:,} of {last.total:,} {last.unit} are done{stopped}"


class JsonLines(Tracker):
    """A line of JSON on stdout for each phase: one a second at most, and one at its end."""

    def move(self, phase: Phase) -> None:
        """Write a line, where one is due; the first when the first second is over."""
        since = phase.begun if phase.shown is None else phase.shown
        is_due = self.clock() - since >= INTERVAL_S and phase.done < phase.total
        if is_due or phase.is_over:
            self._write(phase)

    def wait(self, phase: Phase) -> None:
        """Write the phase's line again."""
        if self.clock() - self.last >= BEAT_S:
            self._write(phase)

    def _write(self, phase: Phase) -> None:
        self.last = phase.shown = self.clock()
        line = {
            "progress": phase.name,
            "done": phase.done,
            "total": phase.total,
            "unit": phase.unit,
            "seconds": round(self.last - phase.begun, 2),
        }
        if phase.note and phase.name in TOLD:
            line["note"] = phase.note
        sys.stdout.write(f"{json.dumps(line, ensure_ascii=False)}\n")
        sys.stdout.flush()


class Lines(Tracker):
    """Plain lines on the standard error: one of each phase that lasts, then one every `BEAT_S`.

    A long phase has one at its end, too.
    """

    def move(self, phase: Phase) -> None:
        """Write the end of a long phase, and what everybody needs."""
        if phase.is_over and phase.note and phase.name in TOLD:
            self._write(phase, phase.note)
        elif phase.is_over and self.clock() - phase.begun >= BEAT_S:
            self._write(phase, self._describe(phase))

    def wait(self, phase: Phase) -> None:
        """Write how far the phase is."""
        now = self.clock()
        soon = SOON_S if self.command.shown is None else LASTS_S
        if (phase.shown is None and now - phase.begun >= soon) or now - self.last >= BEAT_S:
            self._write(phase, self._describe(phase))

    def _describe(self, phase: Phase) -> str:
        """As `120 of 1,400 steps, 35 s, loss 2.1`."""
        done = f"{phase.done:,} of {phase.total:,} {phase.unit}" if phase.unit else "under way"
        lasted = "" if phase.shown is None else f"{self.clock() - phase.begun:,.0f} s"
        return ", ".join(filter(None, (done, lasted, phase.note)))

    def _write(self, phase: Phase, text: str) -> None:
        self.last = phase.shown = self.command.shown = self.clock()
        sys.stderr.write(plain_text(f"{phase.name}: {text}") + "\n")
        sys.stderr.flush()


@contextmanager
def show_progress(as_json: bool, command: str = "segue") -> Iterator[Observer]:
    """Show what is done while the block runs.

    An error that ends the block gets a note of what the same command will not do again.

    Args:
        as_json: Whether to write lines of JSON to stdout, and no bars.
        command: What is under way before and between the phases.
    """
    console = make_console(stderr=True, soft_wrap=False)
    with ExitStack() as stack:
        if os.environ.get("RANK", "0") != "0":
            tracker = Tracker(command)  # torchrun's first process shows what all do
        elif as_json:
            tracker = JsonLines(command)
        elif not console.is_terminal:
            tracker = Lines(command)
        else:
            from pipelines.cli.common.bars import show_bars

            tracker = stack.enter_context(show_bars(console))
        try:
            with tracker.beating():
                yield tracker
        except BaseException as error:
            if tracker.kept:
                error.add_note(tracker.kept)
            raise
        finally:
            tracker.close()
