"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipelines.cli.common.completion import corpus_completions
from synth.base.errors import SpecError

CorpusArgument = Annotated[
    Path,
    typer.Argument(
        help="Manifest folder, or its URL: data_manifests/CORPUS (the latest build) or a version "
        "below it.",
        show_default=False,
        autocompletion=corpus_completions,
    ),
]
JsonOption = Annotated[
    bool, typer.Option("--json", help="Progress as lines of JSON, the summary as the last of them.")
]
VirtualOption = Annotated[
    bool, typer.Option("--virtual", help="Render from plan and bank instead of reading shards.")
]


def refuse_spec(path: Path) -> None:
    """Refuse a spec where a corpus is to be given.

    Raises:
        SpecError: If the path is a YAML file.
    """
    if path.suffix in (".yaml", ".yml") and path.is_file():
        raise SpecError(
            f"{path}: this is a spec, not a corpus",
            mend="give data_manifests/NAME, which `segue build` makes of it",
        )
