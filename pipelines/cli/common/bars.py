"""Progress on a terminal: a bar for each phase."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
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

from pipelines.cli.common.tracker import Phase, Tracker


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

    def move(self, phase: Phase) -> None:
        """Move the phase's bar."""
        task = self._tasks[phase.name]
        self._progress.update(task, completed=phase.done, note=phase.note)
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
def show_bars(console: Console) -> Iterator[Bars]:
    """Bars while the block runs."""
    columns = (
        TextColumn("[bold]{task.description:<8}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[unit]}"),
        Rate(),
        LeftOrTaken(),
        TextColumn("{task.fields[note]}", markup=False),
    )
    with Progress(*columns, console=console) as progress:
        yield Bars(progress)
