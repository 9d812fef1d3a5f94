"""`segue plan`."""

from __future__ import annotations

import time
from pathlib import Path

from rich.console import Console

from pipelines.build import plan_only
from pipelines.cli.build import worker_count
from pipelines.cli.options import JsonOption, OutOption, SpecArgument, WorkersOption
from pipelines.cli.show import print_json, progress_bars
from pipelines.spec_file import read_spec


def plan_command(
    spec: SpecArgument,
    out: OutOption = Path(),
    workers: WorkersOption = None,
    as_json: JsonOption = False,
) -> None:
    """Plan a corpus: every scene, caption, positive and negative, before any audio is made.

    `segue build` does this by itself. A plan can be audited, inspected and queried, and it needs no
    recordings where the source is a `vocabulary`.
    """
    parsed = read_spec(spec)
    started = time.monotonic()
    with progress_bars(quiet=as_json) as observer:
        places, samples = plan_only(parsed, out, worker_count(workers), observer)
    seconds = round(time.monotonic() - started, 2)
    if as_json:
        paths = {"manifests": str(places.manifests)}
        print_json({"samples": samples, "seconds": seconds, "paths": paths})
        return
    console = Console(soft_wrap=True, highlight=False)
    console.print(f"[bold]{places.corpus}[/] {places.version}: {samples:,} samples, {seconds} s")
    console.print(f"plan  {places.manifests / 'plan.parquet'}", markup=False)
    console.print(f"next: segue audit {places.manifests}", markup=False)
