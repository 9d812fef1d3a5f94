"""What the commands share: what block lists did, and the next command."""

from __future__ import annotations

import json
import logging
import os
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.console import Console

if TYPE_CHECKING:
    from synth.sources.block import Blocked


def print_blocked(console: Console, blocked: Iterable[Blocked]) -> None:
    """What each block list did; in yellow where it, or an entry of it, blocks nothing."""
    for each in blocked:
        idle = each.unmatched or not each.clips
        console.print(each.line, style="yellow" if idle else None, markup=False)


SHOWN: Final = 10


def print_first(console: Console, lines: Sequence[str], count: int | None = None) -> None:
    """The first lines, and how many more there are; `count` where not all are kept."""
    for line in lines[:SHOWN]:
        console.print(f"  {line}", markup=False)
    more = (len(lines) if count is None else count) - SHOWN
    if more > 0:
        console.print(f"  and {more:,} more")


def print_next(console: Console, *words: str | Path) -> None:
    """The command to go on with, as a shell takes it."""
    console.print(f"next: {shlex.join(map(str, words))}", markup=False)


def print_read(console: Console, table: Path) -> None:
    """How to look into a Parquet file that was written."""
    name = json.dumps(str(table), ensure_ascii=False)
    print_next(console, "python", "-c", f"import pandas; print(pandas.read_parquet({name}))")


# How the command line sets Prefect up, before it is imported.


def quieten_prefect() -> None:
    """No telemetry, and no log of Prefect's over the command's own output; settings stay if set.

    Its pages show the log. That a log could not be sent is not told: the command tells what failed.
    """
    logging.raiseExceptions = False
    if "PREFECT_LOGGING_LEVEL" not in os.environ:
        os.environ.setdefault("PREFECT_LOGGING_HANDLERS_CONSOLE_LEVEL", "CRITICAL")
    os.environ.setdefault("PREFECT_INTERNAL_LOGGING_LEVEL", "CRITICAL")
    os.environ.setdefault("PREFECT_SERVER_ANALYTICS_ENABLED", "false")
    os.environ.setdefault("DO_NOT_TRACK", "1")
