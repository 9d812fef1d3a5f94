"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from synth.base.errors import SpecError
from synth.base.progress import Observer, Silent

ShowProgress: TypeAlias = Callable[[bool], AbstractContextManager[Observer]]
"""Shows progress while a block runs, as JSON lines or as bars. The `segue` program passes it."""

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


def show_nothing(as_json: bool) -> AbstractContextManager[Observer]:
    """Show no progress: the default where no program mounts these commands."""
    return nullcontext(Silent())


def refuse_spec(path: Path) -> None:
    """Refuse a spec where a corpus is to be given."""
    if path.suffix in (".yaml", ".yml") and path.is_file():
        raise SpecError(
            f"{path}: this is a spec, not a corpus",
            fix="give data_manifests/NAME, which `segue build` makes from it",
        )
