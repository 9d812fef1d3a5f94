"""`segue check`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console

from pipelines.cli.common.options import JsonOption
from pipelines.cli.common.progress_display import show_progress
from pipelines.cli.common.show import print_json, print_next
from pipelines.cli.common.source import SetOption, apply_settings, parse_source, print_index
from synth.base.doors import make_console
from synth.base.errors import SourceError
from synth.base.progress import Observer
from synth.sources import Settings, Source, innermost, open_source
from synth.sources.reading.collected import (
    Integrity,
    check_files,
    list_files,
    read_index,
    write_index,
)
from synth.sources.reading.files import path_of
from synth.sources.reading.paths import list_refs

SHOWN: Final = 10


def check_command(
    library: Annotated[str, typer.Argument(help="NAME:ROOT, for example esc50:/data/ESC-50.")],
    index: Annotated[
        Path | None,
        typer.Option(help="Checksums: an index from --write, mirdata or soundata."),
    ] = None,
    write: Annotated[
        Path | None, typer.Option(help="Write an index of the files as they are now.")
    ] = None,
    settings: SetOption = None,
    as_json: JsonOption = False,
) -> None:
    """Check a sound library's files against its index: missing, changed and unknown ones.

    No sound is decoded; `ingest` does that. `doctor` checks the machine, `inspect --verify` a
    corpus's files, `audit` its captions.

    Checksums come from the dataset itself, where it publishes any, and from `--index`. Exits with
    status 1 if a file is missing or has changed.

    Example: `segue check esc50:/data/ESC-50 --index esc50_index.json`
    """
    source = innermost(apply_settings(parse_source(library), settings or ()))
    root: Path | None = getattr(source, "folder", getattr(source, "root", None))
    if root is None:
        raise SourceError(f"{library}: has no files", fix="name a library in a folder")
    console = make_console()
    if write is not None:
        with show_progress(as_json) as observer:
            count = _write(root, write, observer)
        if as_json:
            print_json({"files": count, "index": str(write)})
        else:
            console.print(f"{count:,} files written to {write}", markup=False)
            print_next(console, "segue", "check", library, "--index", write)
        return
    with show_progress(as_json) as observer:
        found, clips, is_heard = _check(source, root, index, observer)
    if as_json:
        print_json(found.to_json() | {"clips": clips, "has_audio": is_heard})
    else:
        print_index(console, source)
        _show(console, found, clips, is_heard)
        if found.is_whole:
            changed = (word for each in settings or () for word in ("--set", each))
            print_next(console, "segue", "ingest", library, *changed)
        else:
            console.print("next: download these files again, then repeat this command")
    if not found.is_whole:
        raise typer.Exit(1)


def _write(root: Path, target: Path, observer: Observer) -> int:
    """The number of files that were written down."""
    if target.exists():
        raise SourceError(f"{target}: already exists", fix="give another name")
    count = sum(1 for _ in list_files(root))
    if not count:
        raise SourceError(f"{root}: holds no file", fix="give the folder of a library")
    observer.start("index", count, "files")
    write_index(root, target, lambda: observer.advance("index"))
    observer.finish("index")
    return count


def _check(
    source: Settings, root: Path, index: Path | None, observer: Observer
) -> tuple[Integrity, int, bool]:
    """What was found, how many clips the library lists, and whether their audio is there."""
    checksums = dict(source.checksums()) if hasattr(source, "checksums") else {}
    if index is not None:
        checksums |= read_index(index)
    library = open_source(source)
    locations = [ref.location for ref in list_refs(library) if not ref.refusal]
    clips, is_heard = len(locations), isinstance(library, Source)
    if not is_heard:
        locations = []
    observer.start("check", len({*map(path_of, locations), *checksums}), "files")
    found = check_files(root, locations, checksums, lambda: observer.advance("check"))
    observer.finish("check")
    return found, clips, is_heard


def _show(console: Console, found: Integrity, clips: int, is_heard: bool) -> None:
    if not is_heard:
        console.print(f"no audio here: {clips:,} clips are listed, for planning only")
    console.print(
        f"{found.listed:,} files listed, {len(found.missing):,} missing; {found.checked:,} "
        f"checksums compared, {len(found.changed):,} differ; "
        f"{len(found.unlisted):,} sounds unlisted"
    )
    for kind in ("missing", "changed", "unlisted"):
        paths = getattr(found, kind)
        for path in paths[:SHOWN]:
            console.print(f"  {kind}: {path}", markup=False)
        if len(paths) > SHOWN:
            console.print(f"  {kind}: and {len(paths) - SHOWN:,} more")
