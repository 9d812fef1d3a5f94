"""What the commands share: progress bars, tables, and the one line of JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from pipelines.observe import Observer, Silent
from synth.leakage.block import Blocked


class Bars:
    """Progress bars on stderr, one a phase."""

    def __init__(self, progress: Progress) -> None:
        self._progress = progress
        self._tasks: dict[str, TaskID] = {}

    def start(self, phase: str, total: int, unit: str) -> None:
        """Add the phase's bar."""
        self._tasks[phase] = self._progress.add_task(phase, total=total, unit=unit, note="")

    def advance(self, phase: str, units: int = 1) -> None:
        """Move the phase's bar."""
        self._progress.advance(self._tasks[phase], units)

    def finish(self, phase: str, note: str = "") -> None:
        """Complete the phase's bar."""
        task = self._tasks[phase]
        total = next(each.total for each in self._progress.tasks if each.id == task)
        self._progress.update(task, completed=total or 1, total=total or 1, note=note)


@contextmanager
def progress_bars(quiet: bool) -> Iterator[Observer]:
    """Bars while the block runs; nothing where stderr is no terminal or `quiet` is set."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield Silent()
        return
    with Progress(
        TextColumn("[bold]{task.description:<9}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[unit]}"),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
        console=console,
    ) as progress:
        yield Bars(progress)


def print_blocked(console: Console, blocked: Iterable[Blocked]) -> None:
    """What each block list did; in yellow where it, or an entry of it, blocks nothing."""
    for each in blocked:
        idle = each.unmatched or not each.clips
        console.print(each.line, style="yellow" if idle else None, markup=False)


def print_json(value: Mapping[str, Any]) -> None:
    """The last line of a command's output under `--json`."""
    print(json.dumps(value, ensure_ascii=False), flush=True)
