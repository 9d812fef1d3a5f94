"""Progress as people and programs see it: bars on a terminal, lines of JSON for a program."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Column
from rich.text import Text

from synth.base.doors import make_console, plain_text
from synth.base.progress import Observer

INTERVAL_S: Final = 1.0
"""Least time between two lines of JSON of one phase, but for its last."""

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
        is_over: Whether it has ended.
    """

    name: str
    unit: str
    total: int
    done: int
    is_kept: bool
    begun: float
    is_over: bool = False


class Tracker:
    """An observer that knows how far every phase has come.

    It shows no progress, but for what went wrong and was mended.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self._phases: dict[str, Phase] = {}
        self._lock = threading.Lock()

    def begin(self, phase: Phase) -> None:
        """Show that a phase has begun."""

    def move(self, phase: Phase, note: str) -> None:
        """Show that it has come further, or has ended."""
        if phase.is_over and note and phase.name in TOLD:
            print(f"{phase.name}: {plain_text(note)}", file=sys.stderr, flush=True)

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
            self._phases[phase].done += units
            self.move(self._phases[phase], note)

    def finish(self, phase: str, note: str = "") -> None:
        """Complete the phase."""
        with self._lock:
            ended = self._phases[phase]
            ended.done, ended.is_over = ended.total, True
            self.move(ended, note)

    def close(self) -> None:
        """Leave the phases that are under way as far as they have come."""
        with self._lock:
            for phase in self._phases.values():
                if not phase.is_over:
                    phase.is_over = True
                    self.move(phase, "")

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

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        self._shown: dict[str, float] = {}

    def begin(self, phase: Phase) -> None:
        """The first line comes when the first second is over."""
        self._shown[phase.name] = phase.begun

    def move(self, phase: Phase, note: str) -> None:
        """Write a line, where one is due."""
        now = self.clock()
        is_due = now - self._shown[phase.name] >= INTERVAL_S and phase.done < phase.total
        if not (is_due or phase.is_over):
            return
        self._shown[phase.name] = now
        line = {
            "progress": phase.name,
            "done": phase.done,
            "total": phase.total,
            "unit": phase.unit,
            "seconds": round(now - phase.begun, 2),
        }
        if note and phase.name in TOLD:
            line["note"] = note
        print(json.dumps(line, ensure_ascii=False), flush=True)


class Bars(Tracker):
    """Bars on a terminal, one a phase."""

    def __init__(self, progress: Progress) -> None:
        super().__init__()
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}

    def begin(self, phase: Phase) -> None:
        """Add the phase's bar."""
        task = self._progress.add_task(
            phase.name, total=phase.total, completed=phase.done, unit=phase.unit, note=""
        )
        self._tasks[phase.name] = task

    def move(self, phase: Phase, note: str) -> None:
        """Move the phase's bar."""
        task = self._tasks[phase.name]
        self._progress.update(task, completed=phase.done, note=note)
        if phase.is_over:
            self._progress.stop_task(task)


class Rate(ProgressColumn):
    """Units a second, of late or in all."""

    def render(self, task: Task) -> Text:
        """As `12.5/s`; empty where it is not known."""
        speed = task.finished_speed or task.speed
        if not speed:
            return Text("")
        return Text(f"{speed:.3g}/s" if speed < 100 else f"{speed:,.0f}/s")


class LeftOrTaken(TimeRemainingColumn):
    """Time left; in the end, time taken."""

    def __init__(self) -> None:
        column = Column(no_wrap=True)
        super().__init__(compact=True, elapsed_when_finished=True, table_column=column)

    def render(self, task: Task) -> Text:
        """As `00:12 left`, then `01:30 taken`."""
        return super().render(task).append(" taken" if task.finished else " left")


@contextmanager
def show_progress(as_json: bool) -> Iterator[Observer]:
    """Show what is done while the block runs; off a terminal nothing but notes of `TOLD`.

    An error that ends the block gets a note of what the same command will not do again.

    Args:
        as_json: Whether to write lines of JSON to stdout, and no bars.
    """
    console = make_console(stderr=True, soft_wrap=False)
    if as_json or not console.is_terminal:
        with _note_kept(JsonLines() if as_json else Tracker()) as tracker:
            yield tracker
        return
    columns = (
        TextColumn("[bold]{task.description:<8}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[unit]}"),
        Rate(),
        LeftOrTaken(),
        TextColumn("{task.fields[note]}", markup=False),
    )
    with (
        Progress(*columns, console=console) as progress,
        _note_kept(Bars(progress)) as tracker,
    ):
        yield tracker


@contextmanager
def _note_kept(tracker: Tracker) -> Iterator[Tracker]:
    try:
        yield tracker
    except BaseException as error:
        if tracker.kept:
            error.add_note(tracker.kept)
        raise
    finally:
        tracker.close()
