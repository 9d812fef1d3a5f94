"""`segue ingest`."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from rich.console import Console
from rich.table import Table

from pipelines.cli.build import worker_count
from pipelines.cli.options import JsonOption, OutOption, SpecArgument, WorkersOption
from pipelines.cli.show import print_json, progress_bars
from pipelines.executor import workers as worker_pool
from pipelines.ingest import ingest
from pipelines.places import BANKS
from pipelines.spec_file import read_spec


def ingest_command(
    spec: SpecArgument,
    out: OutOption = Path(),
    workers: WorkersOption = None,
    as_json: JsonOption = False,
) -> None:
    """Read a spec's sound library: check and measure every clip, and fill the bank.

    `segue build` does this by itself; here it can be looked at first.
    """
    parsed = read_spec(spec)
    count = worker_count(workers)
    with progress_bars(quiet=as_json) as observer, worker_pool(count) as run:
        library = ingest(parsed, out / BANKS, run, count, observer)
    splits = Counter(clip["split"] or "(none)" for clip in library.clips)
    reasons = Counter(row["reason"] for row in library.quarantine)
    if as_json:
        print_json(
            {
                "clips": len(library.clips),
                "quarantined": len(library.quarantine),
                "splits": dict(splits),
                "reasons": dict(reasons),
                "bank": str(library.index),
            }
        )
        return
    console = Console(soft_wrap=True, highlight=False)
    labels = {label for clip in library.clips for label in clip["labels"]}
    seconds = sum((clip["offset"] - clip["onset"]) / clip["sample_rate"] for clip in library.clips)
    console.print(
        f"{len(library.clips):,} clips of {len({c['recording'] for c in library.clips}):,} "
        f"recordings, {len(labels):,} labels, {seconds / 60:.1f} min of sound; "
        f"{len(library.quarantine):,} quarantined"
    )
    table = Table("split", "clips")
    for split, clips in sorted(splits.items()):
        table.add_row(split, f"{clips:,}")
    console.print(table)
    for row in library.quarantine[:20]:
        console.print(f"  {row['location']}: {row['reason']}", markup=False)
    if len(library.quarantine) > 20:
        console.print(f"  and {len(library.quarantine) - 20:,} more")
