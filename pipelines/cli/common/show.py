"""What the commands share: tables, the next command, and the one line of JSON."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

if TYPE_CHECKING:
    from synth.sources.block import Blocked


def print_blocked(console: Console, blocked: Iterable[Blocked]) -> None:
    """What each block list did; in yellow where it, or an entry of it, blocks nothing."""
    for each in blocked:
        idle = each.unmatched or not each.clips
        console.print(each.line, style="yellow" if idle else None, markup=False)


def print_next(console: Console, *words: str | Path) -> None:
    """The command to go on with, as a shell takes it."""
    console.print(f"next: {shlex.join(map(str, words))}", markup=False)


def print_read(console: Console, table: Path) -> None:
    """How to look into a Parquet file that was written."""
    name = json.dumps(str(table), ensure_ascii=False)
    print_next(console, "python", "-c", f"import pandas; print(pandas.read_parquet({name}))")


def print_json(value: Mapping[str, Any]) -> None:
    """The last line of a command's output under `--json`."""
    print(json.dumps(value, ensure_ascii=False), flush=True)
