"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

SpecArgument: TypeAlias = Annotated[
    Path, typer.Argument(help="The corpus spec, a YAML file.", show_default=False)
]
OutOption: TypeAlias = Annotated[
    Path, typer.Option(help="Root of banks/, shards/ and data_manifests/.", file_okay=False)
]
WorkersOption: TypeAlias = Annotated[
    int | None,
    typer.Option(min=0, help="Worker processes; 0 works in this one. By default one a processor."),
]
JsonOption: TypeAlias = Annotated[
    bool, typer.Option("--json", help="End with one line of JSON, and print nothing else.")
]
CorpusArgument: TypeAlias = Annotated[
    Path,
    typer.Argument(
        help="Manifest folder: data_manifests/CORPUS (the latest build) or a version below it.",
        show_default=False,
    ),
]
