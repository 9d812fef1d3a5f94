"""`segue sources`."""

from __future__ import annotations

import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Annotated, Any, Final

import typer
from rich.markup import escape
from rich.padding import Padding

from pipelines.cli.common.options import JsonOption, source_completions
from pipelines.cli.common.show import say
from synth.base.command import CommandResult
from synth.base.doors import make_console
from synth.base.errors import SourceError
from synth.base.shipped import read_module

_CITED: Final = re.compile(r" \([^()]*\d{4}\)\.$")


def sources_command(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", autocompletion=source_completions)
    ] = None,
    as_json: JsonOption = False,
) -> CommandResult:
    """List the sound libraries, or show the settings of one.

    Example: `segue sources clotho`

    Args:
        name: Show the settings of this library.
    """
    from synth.sources import source_names

    if name is None and not as_json:
        return CommandResult({}, partial(_print_list, source_names()))
    names = source_names() if name is None else (name,)
    rows = {source: _describe_source(source, of_many=name is None) for source in names}
    return CommandResult(rows, partial(_show, *next(iter(rows.items()))))


def _print_list(names: Sequence[str]) -> None:
    console = make_console(soft_wrap=False)
    width = max(map(len, names))
    for name in names:
        summary = escape(_CITED.sub(".", _summarise(name)))
        console.print(f"[bold]{escape(name):<{width}}[/]  {summary}", soft_wrap=True)
    say("\n`segue sources NAME` shows its settings, licence and where to get it.")


def _summarise(name: str) -> str:
    """What a source's file says first; the files of ours are read, and not imported."""
    from synth.sources import SOURCES

    if name not in SOURCES:
        return str(_describe_source(name, of_many=True)["summary"])
    page = inspect.cleandoc(read_module(SOURCES[name].partition(":")[0]).split('"""')[1])
    return " ".join(page.partition("\n\n")[0].split())


def _describe_source(name: str, of_many: bool) -> dict[str, Any]:
    """What is known of a source, as JSON values; one of many that is broken spoils no list."""
    from pipelines.config.meanings import read_layout, read_meanings, read_summary
    from synth.sources import source_class
    from synth.sources.reading.base import find_origin

    try:
        model = source_class(name)
    except SourceError as error:
        if not of_many:
            raise
        return {
            "summary": f"cannot be used: {error.message}",
            "layout": "",
            "settings": {},
            "about": {},
            "origin": None,
        }
    settings = {
        key: "required"
        if field.is_required()
        else repr(field.get_default(call_default_factory=True))
        for key, field in model.model_fields.items()
    }
    return {
        "summary": read_summary(model),
        "layout": read_layout(model),
        "settings": settings,
        "about": read_meanings(model),
        "origin": asdict(origin) if (origin := find_origin(model)) else None,
    }


def _show(name: str, row: Mapping[str, Any]) -> None:
    console = make_console(soft_wrap=False)
    console.print(f"[bold]{escape(name)}[/]  {escape(row['summary'])}", soft_wrap=True)
    if row["layout"]:
        console.print(f"\n{escape(row['layout'])}", soft_wrap=True)
    console.print("\n[bold]settings[/]")
    for key, default in row["settings"].items():
        text = default if default == "required" else f"default {default}"
        console.print(f"  {escape(key)} [dim]({escape(text)})[/]")
        if row["about"][key]:
            console.print(Padding(escape(row["about"][key]), (0, 0, 0, 6)))
    console.print()
    for key, value in (row["origin"] or {}).items():
        if value:
            console.print(f"[bold]{key}[/]  {escape(value)}", soft_wrap=True)
