"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final, TypeAlias

import typer

from synth.base.errors import SegueError

# What a shell offers for a value of a command that is not finished; paths it knows itself.


def source_completions(incomplete: str) -> list[str]:
    """Sound libraries by name."""
    from synth.sources import source_names

    return [name for name in source_names() if name.startswith(incomplete)]


def start_completions(incomplete: str) -> list[str]:
    """What `segue new` writes, by name."""
    from pipelines.config.new import list_starts

    return [name for name in list_starts() if name.startswith(incomplete)]


SpecArgument: TypeAlias = Annotated[Path, typer.Argument(help="The corpus spec, a YAML file.")]
StoreOption: TypeAlias = Annotated[
    Path,
    typer.Option(
        help="Root of banks/, shards/ and data_manifests/: a folder, or a URL such as "
        "s3://bucket/prefix.",
        file_okay=False,
    ),
]
StageOption: TypeAlias = Annotated[
    Path | None,
    typer.Option(
        help="Local working folder, if --out is a URL. The default is in the user's cache folder.",
        file_okay=False,
    ),
]
WorkersOption: TypeAlias = Annotated[
    int | None,
    typer.Option(
        min=0, help="Worker processes; 0 works in this process. The default is one per processor."
    ),
]
EngineOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        help="Where to render: local, local:N or dask://HOST:PORT. The output is the same."
    ),
]
JsonOption: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Print progress as JSON lines; the last is the summary.")
]
PrefectOption: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--prefect/--no-prefect",
        help="Build as a Prefect flow, and start a server if none is configured. On by "
        "default if Prefect's settings name a server.",
    ),
]
CorpusArgument: TypeAlias = Annotated[
    Path,
    typer.Argument(
        help="Manifest folder or its URL: data_manifests/CORPUS (the latest build) or one "
        "of its versions."
    ),
]


# Packages that a command needs, and that may not be installed.


OURS: Final = ("synth", "pipelines", "train", "experiments", "prompts")


@contextmanager
def naming_packages(name: str) -> Iterator[None]:
    """Let a command, which imports what is slow where it uses it, tell what is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package in OURS or not package:
            raise
        raise SegueError(
            f"`segue {name}` needs the package {package}, which is not installed",
            fix=f"pip install -c constraints.txt {package}, or run `make env` for all packages",
        ) from error
