"""`segue gc`."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from pipelines.cli.common.options import JsonOption
from pipelines.cli.common.progress_display import show_progress
from pipelines.cli.common.show import print_json, print_next
from pipelines.cli.look.versions import VersionsArgument, format_size
from pipelines.versions.gc import Sweep, collect_garbage
from synth.base.doors import make_console
from synth.storage import url_of

SHOWN = 10


def gc_command(
    corpus: VersionsArgument,
    keep: Annotated[
        int,
        typer.Option(
            min=1,
            help="How many of the newest finished versions keep their shards; the latest "
            "always does.",
            show_default=False,
        ),
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be removed, and remove nothing.")
    ] = False,
    banks: Annotated[
        bool,
        typer.Option(
            "--banks",
            help="Also remove decoded clips that no version with shards uses, in any "
            "corpus of this folder.",
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Remove the shards of old versions. Their manifests stay, so the shards can be rebuilt.

    Example: `segue gc data_manifests/acba --keep 2 --dry-run`
    """
    with show_progress(as_json) as observer:
        sweep = collect_garbage(corpus, keep, banks, dry_run, observer)
    if as_json:
        print_json({"dry_run": dry_run, **sweep.to_json()})
        return
    console = make_console()
    _print(console, sweep, dry_run)
    if dry_run and sweep.removals:
        console.print("next: the same command without --dry-run")
    else:
        print_next(console, "segue", "versions", url_of(corpus) or corpus)


def _print(console: Console, sweep: Sweep, dry_run: bool) -> None:
    for removal in sweep.removals:
        console.print(
            f"{'would remove' if dry_run else 'removed'} {len(removal.files):,} files of "
            f"{removal.name}: {format_size(removal.freed)}",
            markup=False,
        )
    for path in sweep.foreign[:SHOWN]:
        console.print(f"kept, not written by a build: {path}", markup=False)
    if len(sweep.foreign) > SHOWN:
        console.print(f"and {len(sweep.foreign) - SHOWN:,} more")
    if not sweep.removals:
        console.print("nothing to remove")
    kept = ", ".join(sweep.kept) or "no version"
    console.print(
        f"{sweep.corpus}: {format_size(sweep.freed)} {'to be freed' if dry_run else 'freed'}; "
        f"{kept} with shards",
        markup=False,
    )
    if sweep.versions and not dry_run:
        console.print(
            f"rebuild with: segue build data_manifests/{sweep.corpus} --version VERSION",
            markup=False,
        )
