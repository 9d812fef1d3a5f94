"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

CorpusArgument = Annotated[
    Path,
    typer.Argument(
        help="Manifest folder, or its URL: data_manifests/CORPUS (the latest build) or a version "
        "below it.",
        show_default=False,
    ),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="End with one line of JSON, and print nothing else.")
]
VirtualOption = Annotated[
    bool, typer.Option("--virtual", help="Render from plan and bank instead of reading shards.")
]
