"""`segue versions`, `segue promote` and `segue gc`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer
from rich.box import SIMPLE_HEAD
from rich.table import Table

from pipelines.cli.common.show import print_first, print_next, say
from synth.base.atomic import format_bytes
from synth.base.command import CommandResult
from synth.base.doors import make_console
from synth.base.progress import Observer
from synth.storage import format_place

if TYPE_CHECKING:
    from pipelines.versions.gc import Sweep
    from pipelines.versions.history import Version

MINUTES = len("2026-01-31T12:00")
WIDTH = 500  # at most: a terminal that is narrower breaks lines, and no name is cut
VersionsArgument: TypeAlias = Annotated[
    Path,
    typer.Argument(metavar="CORPUS", help="Manifest folder or its URL: data_manifests/CORPUS."),
]


def versions_command(corpus: VersionsArgument) -> CommandResult:
    """List the versions of a corpus, oldest first, and the bytes each has on disk.

    Bytes count manifests and shards. A shard shared by several versions is on disk once, and counts
    once in the total. In an object store every version has its own shards.

    Example: `segue versions data_manifests/acba`
    """
    from pipelines.versions.history import measure_size, open_versions

    versions = open_versions(corpus)
    total = measure_size(file for version in versions for file in version.files)
    name = versions[0].places.corpus
    rows = [version.to_json() for version in versions]
    return CommandResult(
        {"corpus": name, "versions": rows, "bytes": total},
        partial(_print_versions, name, versions, total),
    )


def promote_command(
    corpus: VersionsArgument, version: str, override_gates: bool = False
) -> CommandResult:
    """Make a finished version the latest, which is read by default.

    Example: `segue promote data_manifests/acba 2f6c01d9a4b8`

    Args:
        version: A finished version; `segue versions` lists them.
        override_gates: Promote the version even if it failed a gate of its night. This is recorded.
    """
    from pipelines.versions.history import promote_version

    promote_version(corpus, version, override_gates)
    return versions_command(corpus)


def _print_versions(corpus: str, versions: Sequence[Version], total: int) -> None:
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for title in ("version", "finished (UTC)", "samples", "shards", "on disk", ""):
        table.add_column(title, no_wrap=True)
    for version in versions:
        table.add_row(
            f"[bold]{version.name}[/]" if version.latest else version.name,
            version.time[:MINUTES].replace("T", " ") if version.finished else "",
            f"{version.samples:,}",
            f"{version.present:,} of {version.shards:,}",
            format_bytes(version.bytes),
            version.state.value + (", latest" if version.latest else ""),
        )
    console = make_console(width=WIDTH)
    console.print(table)
    say(f"{corpus}: {format_bytes(total)} on disk")


# `segue gc`.


def gc_command(
    corpus: VersionsArgument,
    keep: Annotated[int, typer.Option(min=1)],
    dry_run: bool = False,
    banks: bool = False,
    *,
    observer: Observer,
) -> CommandResult:
    """Remove the shards of old versions. They can be rebuilt.

    The manifests stay. `segue rebuild` makes the shards again.

    Example: `segue gc data_manifests/acba --keep 2 --dry-run`

    Args:
        keep: How many of the newest finished versions keep their shards. `latest` always does.
        dry_run: Only show what would be removed.
        banks: Also remove decoded clips that no version with shards uses, in any corpus of this
            folder.
    """
    from pipelines.versions.gc import collect_garbage

    sweep = collect_garbage(corpus, keep, banks, dry_run, observer)
    return CommandResult(
        {"dry_run": dry_run, **sweep.to_json()}, partial(_print_sweep, corpus, sweep, dry_run)
    )


def _print_sweep(corpus: Path, sweep: Sweep, dry_run: bool) -> None:
    for removal in sweep.removals:
        say(
            f"{'would remove' if dry_run else 'removed'} {len(removal.files):,} files of "
            f"{removal.name}: {format_bytes(removal.freed)}"
        )
    if sweep.foreign:
        say("kept, not written by a build:")
        print_first(list(map(str, sweep.foreign)))
    if not sweep.removals:
        say("nothing to remove")
    names = ", ".join(sweep.kept) or "no version"
    say(
        f"{sweep.corpus}: {'would free' if dry_run else 'freed'} {format_bytes(sweep.freed)}, "
        f"kept the shards of {names}"
    )
    if sweep.versions and not dry_run:
        say(f"rebuild with: segue rebuild data_manifests/{sweep.corpus}/VERSION")
    if dry_run and sweep.removals:
        say("next: the same command without --dry-run")
    else:
        print_next("segue", "versions", format_place(corpus))
