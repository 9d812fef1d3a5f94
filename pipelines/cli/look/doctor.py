"""`segue doctor`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.table import Table
from rich.text import Text

from pipelines.checks.doctor.check import CheckState, DoctorCheck
from pipelines.checks.doctor.run import run_checks
from pipelines.cli.common.options import JsonOption, StoreOption
from pipelines.cli.common.show import print_json
from synth.base.doors import make_console
from synth.base.progress import show_waiting

_STYLES: Final = {
    CheckState.OK: "green",
    CheckState.MISSING: "yellow",
    CheckState.WRONG: "bold red",
}


def doctor_command(
    out: StoreOption = Path(),
    endpoint: Annotated[
        str | None,
        typer.Option(
            help="Address of a language model's API, as for `segue llm run --base-url`.",
            show_default=False,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Check this machine: what is missing, what needs it, how to fix it.

    It opens no library and no corpus: `check` checks a library's files, `inspect --verify` a
    corpus's files, `audit` its captions.

    Exits with status 1 if something that every build needs is missing or broken. Anything else
    affects only the commands named beside it.

    Examples: `segue doctor`,
    `segue doctor --out /data/segue --endpoint http://localhost:11434/v1`
    """
    with show_waiting("checking"):
        found = list(run_checks(out, endpoint))
    wrong = sum(each.state is CheckState.WRONG for each in found)
    if as_json:
        print_json({"ok": not wrong, "checks": [asdict(each) for each in found]})
    else:
        _show(found)
    if wrong:
        raise typer.Exit(1)


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
            console.print(name, f"needed for: {each.needed_for}", sep="  ", soft_wrap=True)
            console.print(f"  fix: {each.fix}", soft_wrap=True, markup=False)
    counts = ", ".join(
        f"{sum(each.state is state for each in found)} {state}" for state in CheckState
    )
    console.print(f"\n{counts}")
