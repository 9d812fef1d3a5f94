"""`segue export` of a trained model."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from synth.base.atomic import format_bytes
from synth.base.command import CommandResult
from synth.base.doors import make_console
from synth.base.progress import Observer
from train.cli.show import quieten_transformers
from train.export.files import ModelFormat


def export_command(
    run: Annotated[Path, typer.Argument(help="Run folder of a trained model.", show_default=False)],
    out: Annotated[
        Path, typer.Argument(help="A new or empty folder.", file_okay=False, show_default=False)
    ],
    to: Annotated[ModelFormat, typer.Option(help="The format.", show_default=False)],
    *,
    observer: Observer,
) -> CommandResult:
    """Write a trained model to a folder that needs neither its run nor its base models.

    Example: `segue export runs/triplets --to onnx --out exported/triplets`
    """
    quieten_transformers()
    observer.start("load", 1, "libraries")
    from train.report.publish import publish

    observer.finish("load")
    published = publish(run, out, ModelFormat(to), observer)
    size = sum(published.files.values())
    facts: dict[str, object] = {
        "out": str(out),
        "format": str(to),
        "bytes": size,
        "files": sorted(published.files),
    }
    difference = published.largest_difference
    if difference is not None:
        facts["largest_difference"] = difference

    def show() -> None:
        console = make_console()
        console.print(
            f"{run} as {to}: {len(published.files)} files, {format_bytes(size)}", markup=False
        )
        if difference is not None:
            console.print(f"embeddings differ from torch's by {difference:.0e} at most")
        console.print(f"model  {out}", markup=False)
        console.print(f"next: {published.opener}", markup=False)

    return CommandResult(facts, show)
