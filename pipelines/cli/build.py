"""`segue build`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from pipelines.build import Summary
from pipelines.cli.options import JsonOption, OutOption, SpecArgument, WorkersOption
from pipelines.cli.show import print_json, progress_bars
from pipelines.observe import Observer
from pipelines.spec import Spec
from pipelines.spec_file import read_spec


def build_command(
    spec: SpecArgument,
    out: OutOption = Path(),
    workers: WorkersOption = None,
    no_prefect: Annotated[
        bool, typer.Option("--no-prefect", help="Run the same functions without Prefect.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Build a corpus from a spec; what is built and certified already is not made again.

    Example: `segue build corpora/acba.yaml --out /data/segue --workers 8`
    """
    parsed = read_spec(spec)
    with progress_bars(quiet=as_json) as observer:
        summary = run_build(parsed, out, worker_count(workers), no_prefect, observer)
    if as_json:
        print_json(summary.to_json())
    else:
        print_summary(summary)


def run_build(spec: Spec, out: Path, workers: int, no_prefect: bool, observer: Observer) -> Summary:
    """Build with Prefect or without; the result is the same."""
    if no_prefect:
        from pipelines.build import build

        return build(spec, out, workers, observer)
    from pipelines.cli.prefect_settings import quieten_prefect

    quieten_prefect()
    from pipelines.flows import build_with_prefect

    return build_with_prefect(spec, out, workers, observer)


def worker_count(workers: int | None) -> int:
    """As many workers as processors, unless told otherwise."""
    if workers is not None:
        return workers
    # What this process may use, where the system tells: containers are given less than there is.
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def print_summary(summary: Summary) -> None:
    """What was made, skipped and quarantined, and what to do next."""
    console = Console(soft_wrap=True, highlight=False)
    console.print(
        f"[bold]{summary.corpus}[/] {summary.version}: {summary.samples:,} samples, "
        f"{summary.hours:.2f} h in {summary.shards:,} shards"
    )
    console.print(
        f"{summary.rendered:,} shards rendered, {summary.skipped:,} there already, "
        f"{summary.quarantined:,} clips quarantined, {summary.seconds:.1f} s"
    )
    if summary.excerpts_of_captioned_clips:
        console.print(
            f"[yellow]note[/]: {summary.excerpts_of_captioned_clips:,} sounds are excerpts of "
            "captioned clips, and their captions speak of the whole clips; "
            "`length: natural`, or a longer exact one, keeps them whole"
        )
    console.print(f"manifests  {summary.paths['manifests']}", markup=False)
    console.print(f"shards     {summary.paths['shards']}", markup=False)
    console.print(f"next: segue inspect {summary.paths['manifests']}", markup=False)
