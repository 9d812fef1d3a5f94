"""What the commands share: what block lists did, and the next command."""

from __future__ import annotations

import json
import logging
import os
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.markup import escape

from synth.base.doors import make_console

if TYPE_CHECKING:
    from pipelines.builder.findings import Findings
    from synth.sources.block import Blocked


def say(line: str, style: str | None = None) -> None:
    """Print a line for people; brackets in it are no markup."""
    make_console().print(line, style=style, markup=False)


def print_blocked(blocked: Iterable[Blocked]) -> None:
    """What each block list did; in yellow where it, or an entry of it, blocks nothing."""
    for effect in blocked:
        say(effect.line, "yellow" if effect.unmatched or not effect.clips else None)


def print_findings(findings: Findings, manifests: str) -> None:
    """Why clips are quarantined and where the table lies, and what the library lacks."""
    from synth.corpus.corpus import QUARANTINE_FILE

    for line in findings.reasons:
        say(f"  {line}")
    if findings.refusals:
        say(f"quarantine {manifests}/{QUARANTINE_FILE}")
    for text in findings.notes:
        print_note(text)


def print_note(text: str) -> None:
    """What is no fault, but is to be known."""
    make_console().print(f"[yellow]note[/]: {escape(text)}")


SHOWN: Final = 10


def print_first(lines: Sequence[str], count: int | None = None) -> None:
    """The first lines, and how many more there are; `count` where not all are kept."""
    for line in lines[:SHOWN]:
        say(f"  {line}")
    more = (len(lines) if count is None else count) - SHOWN
    if more > 0:
        say(f"  and {more:,} more")


def print_next(*words: str | Path) -> None:
    """The command to go on with, as a shell takes it."""
    say(f"next: {shlex.join(map(str, words))}")


def print_read(table: Path) -> None:
    """How to look into a Parquet file that was written."""
    name = json.dumps(str(table), ensure_ascii=False)
    print_next("python", "-c", f"import pandas; print(pandas.read_parquet({name}))")


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
