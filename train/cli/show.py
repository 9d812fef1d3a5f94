"""What the commands show on a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bars
from rich.table import Table

from train.bench.metrics import Metric
from train.bench.report import shown
from train.engine.progress import Progress, Silent


def metric_table(title: str, metrics: Mapping[str, Metric]) -> Table:
    """Metrics as a table for the terminal; shares in percent."""
    table = Table(title=title)
    table.add_column("metric", no_wrap=True)
    for name in ("value", "95 % interval", "chance", "n"):
        table.add_column(name, justify="right")
    for name, metric in metrics.items():
        value, low, high, chance = (
            shown(name, each) for each in (metric.value, metric.low, metric.high, metric.chance)
        )
        table.add_row(name, value, f"{low} to {high}", chance, f"{metric.n:,}")
    return table


def quieten_transformers() -> None:
    """Leave the terminal to us: no bars of transformers over loading and saving."""
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()


@contextmanager
def progress_bars(quiet: bool = False) -> Iterator[Progress]:
    """Progress bars on the terminal; nothing where there is none."""
    console = Console(stderr=True)
    if quiet or not console.is_terminal:
        yield Silent()
        return
    columns = (
        TextColumn("{task.description:<9}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Bars(*columns, console=console) as bars:
        yield _BarProgress(bars)


class _BarProgress:
    """One bar a phase."""

    def __init__(self, bars: Bars) -> None:
        self._bars = bars
        self._task = bars.add_task("", total=None, visible=False, note="")

    def phase(self, name: str, total: int, done: int = 0) -> None:
        self._task = self._bars.add_task(name, total=total, completed=done, note="")

    def advance(self, done: int, note: str = "") -> None:
        self._bars.update(self._task, completed=done, note=note)
