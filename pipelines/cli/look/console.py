"""What `segue inspect --sql` and `--tables` print."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rich.box import SIMPLE_HEAD
from rich.console import Console, JustifyMethod
from rich.status import Status
from rich.table import Table
from rich.text import Text

from pipelines.cli.common.show import print_json
from pipelines.look.console.answer import QueryAnswer, check_answer_file
from pipelines.look.console.database import Database
from pipelines.look.inspection import format_count
from synth.base.doors import make_console

_ABREAST: Final = 8
"""Columns that are shown beside each other; more are shown below each other."""

_PIPED_WIDTH: Final = 160
_STDIN: Final = "-"


def ask(corpus: Path, query: str, rows: int, out: Path | None, as_json: bool) -> None:
    """Answer a query: on the terminal, as JSON, or in a file.

    Args:
        corpus: As `Database.open` takes it.
        query: One SELECT; `-` reads it from standard input.
        rows: Most rows that are printed, 0 for all.
        out: File for all rows; none are printed then.
        as_json: Whether to end with one line of JSON.
    """
    text = sys.stdin.read() if query == _STDIN else query
    if out is not None:
        check_answer_file(out)
    with Database.open(corpus) as database, database.ask(text) as answer:
        if out is not None:
            with _show_status():
                total = answer.write(out)
            if as_json:
                print_json({"columns": _describe_columns(answer), "total": total, "out": str(out)})
            else:
                _make_console().print(f"wrote {format_count(total, 'row')} to {out}", markup=False)
            return
        with _show_status():
            found, total = answer.read_rows(rows or None)
        if as_json:
            print_json({"columns": _describe_columns(answer), "rows": found, "total": total})
        else:
            _print(answer, found, total)


def print_tables(corpus: Path, as_json: bool) -> None:
    """List the tables of a corpus and their columns."""
    with Database.open(corpus) as database:
        found = [(table, database.list_columns(table)) for table in database.tables]
    if as_json:
        print_json(
            {
                table.name: {
                    "about": table.about,
                    "columns": [
                        {
                            "name": each.name,
                            "type": each.type,
                            "about": table.columns.get(each.name, ""),
                        }
                        for each in columns
                    ],
                }
                for table, columns in found
            }
        )
        return
    console = _make_console()
    for table, columns in found:
        grid = _make_grid(("column", "type", ""))
        for each in columns:
            about = table.columns.get(each.name, "")
            grid.add_row(Text(each.name), Text(each.outer_type), Text(about))
        console.print(Text.assemble((table.name, "bold"), f"  {table.about}"))
        console.print(grid)


def _print(answer: QueryAnswer, rows: Sequence[Mapping[str, Any]], total: int) -> None:
    console = _make_console()
    if len(answer.columns) > _ABREAST:
        for number, row in enumerate(rows, 1):
            grid = _make_grid((f"row {number:,}", ""))
            for name, value in row.items():
                grid.add_row(Text(_escape_controls(name)), _format_cell(value))
            console.print(grid)
    else:
        grid = _make_grid([_escape_controls(column.name) for column in answer.columns])
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


def _describe_columns(answer: QueryAnswer) -> list[dict[str, str]]:
    return [{"name": each.name, "type": each.type} for each in answer.columns]


def _make_grid(titles: list[str] | tuple[str, ...]) -> Table:
    grid = Table(box=SIMPLE_HEAD, pad_edge=False)
    for title in titles:
        grid.add_column(Text(title), overflow="fold")
    return grid


def _format_cell(value: Any, numbers: JustifyMethod = "left") -> Text:
    if value is None:
        return Text("null", style="dim")
    if isinstance(value, str):
        return Text(_escape_controls(value))
    if isinstance(value, int | float):
        return Text(str(value), justify=numbers)
    return Text(_escape_controls(json.dumps(value, ensure_ascii=False)))


def _escape_controls(text: str) -> str:
    """Text of a data file without what would steer the terminal."""
    return "".join(
        sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text
    )


def _show_status() -> Status:
    """A sign of life on a terminal; how many rows are to come is not known before they came."""
    return make_console(stderr=True, soft_wrap=False).status("asking")


def _make_console() -> Console:
    console = make_console(soft_wrap=False)
    return console if console.is_terminal else make_console(width=_PIPED_WIDTH, soft_wrap=False)
