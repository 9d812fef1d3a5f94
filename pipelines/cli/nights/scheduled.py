"""`segue night list`, `last`, `trigger`, `pause` and `resume`: nights that a server knows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer
from rich.table import Table

from pipelines.cli.common.options import JsonOption, StoreOption
from pipelines.cli.common.show import print_json, quieten_prefect
from pipelines.cli.common.source import resolve_destination
from synth.base.doors import make_console

CorpusName: TypeAlias = Annotated[
    str, typer.Argument(help="The corpus's name; see `segue night list`.", show_default=False)
]


def list_command(out: StoreOption = Path(), as_json: JsonOption = False) -> None:
    """List the corpora that have nights: when each runs, and how its last one ended.

    They are those of the server that PREFECT_API_URL names, or of the schedule that runs over
    --out.

    Example: `segue night list --out /data/segue`
    """
    with _server(out):
        from pipelines.flows.serving import list_scheduled

        rows = [each.to_json() for each in list_scheduled()]
    _show("schedules", rows, as_json)


def last_command(
    corpus: CorpusName,
    most: Annotated[int, typer.Option("--most", min=1, help="Nights to show.")] = 10,
    out: StoreOption = Path(),
    as_json: JsonOption = False,
) -> None:
    """Show a corpus's last nights: when each began, and how it ended.

    Example: `segue night last acba --most 3`
    """
    with _server(out):
        from pipelines.flows.serving import last_runs

        rows = [each.to_json() for each in last_runs(corpus, most)]
    _show("runs", rows, as_json)


def trigger_command(
    corpus: CorpusName, out: StoreOption = Path(), as_json: JsonOption = False
) -> None:
    """Have the night of a corpus on a schedule begin now.

    What is under way goes on, and the new one is cancelled: one runs at a time.

    Example: `segue night trigger acba`
    """
    with _server(out):
        from pipelines.flows.serving import run_now

        run = run_now(corpus)
    _print_facts({"corpus": corpus, "run": run}, as_json)


def pause_command(
    corpus: CorpusName, out: StoreOption = Path(), as_json: JsonOption = False
) -> None:
    """Pause a corpus's schedule: no night begins by itself.

    Example: `segue night pause acba`
    """
    _set_paused(corpus, True, out, as_json)


def resume_command(
    corpus: CorpusName, out: StoreOption = Path(), as_json: JsonOption = False
) -> None:
    """Resume a corpus's schedule that is paused.

    Example: `segue night resume acba`
    """
    _set_paused(corpus, False, out, as_json)


def _set_paused(corpus: str, paused: bool, out: Path, as_json: bool) -> None:
    with _server(out):
        from pipelines.flows.serving import set_paused

        set_paused(corpus, paused)
    _print_facts({"corpus": corpus, "paused": paused}, as_json)


@contextmanager
def _server(out: Path) -> Iterator[None]:
    """Ask the server that is configured, or that of the schedule over `out`."""
    out = resolve_destination(out)
    quieten_prefect()
    from pipelines.flows.serving import known_server

    with known_server(out):
        yield


def _show(what: str, rows: Sequence[dict[str, Any]], as_json: bool) -> None:
    if as_json:
        print_json({what: list(rows)})
        return
    if not rows:
        make_console().print(f"no {what}")
        return
    table = Table(*rows[0])
    for row in rows:
        table.add_row(*(str(value) for value in row.values()))
    make_console(soft_wrap=False).print(table)


def _print_facts(facts: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(facts)
    else:
        make_console().print(", ".join(f"{key} {value}" for key, value in facts.items()))
