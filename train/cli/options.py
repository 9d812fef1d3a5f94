"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

CorpusArgument = Annotated[
    Path,
    typer.Argument(
        help="Manifest folder or its URL: data_manifests/CORPUS (the latest build) or one "
        "of its versions.",
        show_default=False,
    ),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Print progress as JSON lines; the last is the summary.")
]
VirtualOption = Annotated[
    bool,
    typer.Option("--virtual", help="Render audio from plan and bank instead of reading shards."),
]
