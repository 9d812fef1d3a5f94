"""`segue sql`."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console, JustifyMethod
from rich.table import Table
from rich.text import Text

from pipelines.cli.common.options import CorpusArgument, JsonOption
from synth.base.atomic import format_count
from synth.base.command import CommandResult, Given, refuse_given
from synth.base.doors import make_console, plain_text

if TYPE_CHECKING:
    from pipelines.look.sql.answer import QueryAnswer

ROWS: Final = 50
_ABREAST: Final = 8
"""Columns that are shown beside each other; more are shown below each other."""

_PIPED_WIDTH: Final = 160
_STDIN: Final = "-"


def sql_command(
    corpus: CorpusArgument,
    query: Annotated[str | None, typer.Argument()] = None,
    rows: Annotated[int | None, typer.Option(min=0)] = None,
    out: Annotated[Path | None, typer.Option(dir_okay=False)] = None,
    as_json: JsonOption = False,
    *,
    given: Given = frozenset(),
) -> CommandResult:
    """Query a corpus's manifests with SQL: one SELECT over its tables.

    Examples: `segue sql data_manifests/acba`,
    `segue sql data_manifests/acba "select split, count(*) from plan group by split"`

    Args:
        query: One SELECT; - reads it from standard input. Without it, the tables and their columns
            are listed.
        rows: Rows of the answer to print, 0 for all. By default 50, all with --json.
        out: Write the whole answer to a .parquet or .csv file.
    """
    if query is None:
        refuse_given(given, {"--rows", "--out"}, "needs a query: one SELECT")
        return _list_tables(corpus)
    from pipelines.look.sql.answer import check_answer_file  # DuckDB takes a while
    from pipelines.look.sql.database import Database

    text = sys.stdin.read() if query == _STDIN else query
    if out is not None:
        refuse_given(given, {"--rows"}, "the whole answer is written")
        check_answer_file(out)
    with (
        Database.open(corpus) as database,
        database.ask(text) as answer,
        make_console(stderr=True, soft_wrap=False).status("asking"),
    ):
        columns = [{"name": column.name, "type": column.type} for column in answer.columns]
        if out is not None:
            total = answer.write(out)
            return CommandResult(
                {"columns": columns, "total": total, "out": str(out)},
                lambda: _make_console().print(
                    f"wrote {format_count(total, 'row')} to {out}", markup=False
                ),
            )
        unasked = None if as_json else ROWS
        values, total = answer.read_rows(unasked if rows is None else rows or None)
    return CommandResult(
        {"columns": columns, "rows": values, "total": total}, partial(_print, answer, values, total)
    )


def _list_tables(corpus: Path) -> CommandResult:
    from pipelines.look.sql.database import Database

    with Database.open(corpus) as database:
        tables = [(table, database.list_columns(table)) for table in database.tables]
    facts = {
        table.name: {
            "about": table.about,
            "columns": [
                {
                    "name": column.name,
                    "type": column.type,
                    "about": table.columns.get(column.name, ""),
                }
                for column in columns
            ],
        }
        for table, columns in tables
    }

    def show() -> None:
        console = _make_console()
        for table, columns in tables:
            grid = _make_grid(("column", "type", ""))
            for column in columns:
                about = table.columns.get(column.name, "")
                grid.add_row(Text(column.name), Text(column.outer_type), Text(about))
            console.print(Text.assemble((table.name, "bold"), f"  {table.about}"))
            console.print(grid)

    return CommandResult(facts, show)


def _print(answer: QueryAnswer, rows: Sequence[Mapping[str, Any]], total: int) -> None:

    console = _make_console()
    if len(answer.columns) > _ABREAST:
        for number, row in enumerate(rows, 1):
            grid = _make_grid((f"row {number:,}", ""))
            for name, value in row.items():
                grid.add_row(Text(plain_text(name)), _format_cell(value))
            console.print(grid)
    else:
        grid = _make_grid([plain_text(column.name) for column in answer.columns])
        for row in rows:
            grid.add_row(*(_format_cell(value, "right") for value in row.values()))
        console.print(grid)
    if total > len(rows):
        console.print(
            f"{len(rows):,} of {total:,} rows, {total - len(rows):,} more: --rows 0 prints all, "
            "--out FILE.parquet writes them",
            style="yellow",
        )
    else:
        console.print(format_count(total, "row"))


def _make_grid(titles: list[str] | tuple[str, ...]) -> Table:
    grid = Table(box=SIMPLE_HEAD, pad_edge=False)
    for title in titles:
        grid.add_column(Text(title), overflow="fold")
    return grid


def _format_cell(value: Any, numbers: JustifyMethod = "left") -> Text:
    if value is None:
        return Text("null", style="dim")
    if isinstance(value, str):
        return Text(plain_text(value))
    if isinstance(value, int | float):
        return Text(str(value), justify=numbers)
    return Text(plain_text(json.dumps(value, ensure_ascii=False)))


def _make_console() -> Console:
    console = make_console(soft_wrap=False)
    return console if console.is_terminal else make_console(width=_PIPED_WIDTH, soft_wrap=False)
