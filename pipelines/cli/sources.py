"""`segue sources`."""

from __future__ import annotations

import inspect
from typing import Any

from rich.console import Console
from rich.table import Table

from pipelines.cli.options import JsonOption
from pipelines.cli.show import print_json
from synth.sources import SOURCES, source_class


def sources_command(as_json: JsonOption = False) -> None:
    """List the sound libraries that can be read, and their settings."""
    rows: dict[str, dict[str, Any]] = {}
    for name in SOURCES:
        found = source_class(name)
        module = inspect.getmodule(found)
        summary = (inspect.getdoc(module) or "").split("\n\n", 1)[0].replace("\n", " ")
        settings: dict[str, str] = {
            key: "required" if field.is_required() else repr(field.default)
            for key, field in getattr(found, "model_fields", {}).items()
        }
        rows[name] = {"summary": summary, "settings": settings}
    if as_json:
        print_json(rows)
        return
    table = Table("source", "what it reads", "settings")
    for name, row in rows.items():
        listed = ", ".join(
            key if value == "required" else f"[dim]{key}[/]"
            for key, value in row["settings"].items()
        )
        table.add_row(name, row["summary"], listed)
    Console().print(table)
