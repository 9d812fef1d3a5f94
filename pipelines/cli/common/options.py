"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from pipelines.cli.common.completion import corpus_completions

SpecArgument: TypeAlias = Annotated[
    Path, typer.Argument(help="The corpus spec, a YAML file.", show_default=False)
]
OutOption: TypeAlias = Annotated[
    Path, typer.Option(help="Root of banks/, shards/ and data_manifests/.", file_okay=False)
]
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
        help="With a URL: the folder to work in, by default one in the user's cache folder.",
        file_okay=False,
        show_default=False,
    ),
]
WorkersOption: TypeAlias = Annotated[
    int | None,
    typer.Option(min=0, help="Worker processes; 0 works in this one. By default one a processor."),
]
EngineOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--engine",
        help="Where work is done: local, local:N or dask://HOST:PORT; the bytes are the same.",
        show_default=False,
    ),
]
JsonOption: TypeAlias = Annotated[
    bool, typer.Option("--json", help="Progress as lines of JSON, the summary as the last of them.")
]
PrefectOption: TypeAlias = Annotated[
    bool | None,
    typer.Option(
        "--prefect/--no-prefect",
        help="Build as a Prefect flow, on a server of its own if none is configured. By default "
        "where one is: by PREFECT_API_URL or Prefect's active profile.",
        show_default=False,
    ),
]
CorpusArgument: TypeAlias = Annotated[
    Path,
    typer.Argument(
        help="Manifest folder, or its URL: data_manifests/CORPUS (the latest build) or a version "
        "below it.",
        show_default=False,
        autocompletion=corpus_completions,
    ),
]
