"""`segue check` of the machine."""

from __future__ import annotations

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Final

from rich.table import Table
from rich.text import Text

from pipelines.checks.doctor.check import CheckState, DoctorCheck
from pipelines.cli.common.show import say
from synth.base.command import CommandResult
from synth.base.doors import make_console
from synth.base.progress import show_waiting

_STYLES: Final = {
    CheckState.OK: "green",
    CheckState.MISSING: "yellow",
    CheckState.WRONG: "bold red",
}


def check_machine(out: Path, endpoint: str | None) -> CommandResult:
    """What is missing here, what needs it, how to fix it."""
    from pipelines.checks.doctor.machine import run_checks

    with show_waiting("checking"):
        found = list(run_checks(out, endpoint))
    is_wrong = any(check.state is CheckState.WRONG for check in found)
    return CommandResult(
        {"ok": not is_wrong, "checks": [asdict(check) for check in found]},
        partial(_show, found),
        status=int(is_wrong),
    )


def _show(found: list[DoctorCheck]) -> None:
    console = make_console(soft_wrap=False)
    table = Table("check", "state", "found", box=None, pad_edge=False)
    for each in found:
        state = Text(each.state.value, _STYLES[each.state])
        table.add_row(Text(each.name), state, Text(each.found))
    console.print(table)
    for each in found:
        if each.state is not CheckState.OK:
            name = Text.assemble("\n", (each.name, _STYLES[each.state]))
            console.print(name, f"needed for: {each.needed_for}", sep="  ")
            say(f"  fix: {each.fix}")
    counts = ", ".join(
        f"{sum(each.state is state for each in found)} {state}" for state in CheckState
    )
    say(f"\n{counts}")
