"""`segue check`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.table import Table
from rich.text import Text

from pipelines.checks.doctor.check import CheckState, DoctorCheck
from pipelines.cli.common.show import print_first, print_next, say
from pipelines.cli.common.source import SetOption, apply_settings, parse_source, print_index
from synth.base.command import CommandResult, Given, refuse_given
from synth.base.doors import make_console
from synth.base.errors import SourceError
from synth.base.progress import Observer, show_waiting
from synth.corpus.kinds import PathKind, expect
from synth.storage import format_place, is_url

if TYPE_CHECKING:
    from synth.sources import Settings
    from synth.sources.reading.collected import Integrity

_STYLES: Final = {
    CheckState.OK: "green",
    CheckState.MISSING: "yellow",
    CheckState.WRONG: "bold red",
}
_OF_LIBRARY: Final = frozenset({"--index", "--write", "--set"})
_OF_MACHINE: Final = frozenset({"--out", "--endpoint"})
_OF_CORPUS: Final = frozenset({"--samples"})


def check_command(
    what: Annotated[
        str | None,
        typer.Argument(metavar="[NAME:ROOT|CORPUS|EXPORT]"),
    ] = None,
    index: Path | None = None,
    write: Path | None = None,
    settings: SetOption = None,
    samples: Annotated[int, typer.Option(min=0)] = 5,
    out: Path = Path(),
    endpoint: str | None = None,
    *,
    given: Given = frozenset(),
    observer: Observer,
) -> CommandResult:
    """Check this machine, or the files of a library, a corpus or an export.

    - This machine: what is missing, which commands need it, and how to fix it.
    - A library: which files are missing, changed or unknown, by published checksums and by --index.
      No sound is decoded.
    - A corpus: every manifest and shard is hashed, and some samples are rendered again.
    - An export: whether all files are there, with their original sizes.

    The exit status is 1 if something is wrong. `segue audit` proves a corpus's captions, and
    compares an export with its corpus.

    Examples: `segue check`, `segue check esc50:/data/ESC-50`, `segue check data_manifests/acba`

    Args:
        what: A library such as esc50:/data/ESC-50, a corpus's manifest folder or URL, or an
            export's folder. Without it, this machine is checked.
        index: Checksums of a library: an index from --write, mirdata or soundata.
        write: Write an index of a library's files as they are now.
        samples: Samples of a corpus to render again, drawn evenly.
        out: Check this machine for building in a folder or at a URL; by default here.
        endpoint: Also check a language model's API at this address, as for `segue llm run
            --base-url`.
    """
    if what is None:
        refuse_given(given, _OF_LIBRARY | _OF_CORPUS, "this machine is checked")
        return _check_machine(out, endpoint)
    kind = _find_kind(what)
    if kind is PathKind.CORPUS:
        refuse_given(given, _OF_LIBRARY | _OF_MACHINE, "a corpus is checked")
        return _check_corpus(Path(what), samples, observer)
    if kind is PathKind.EXPORT:
        refuse_given(given, _OF_LIBRARY | _OF_MACHINE | _OF_CORPUS, "an export is checked")
        return _check_export(Path(what))
    refuse_given(given, _OF_MACHINE | _OF_CORPUS, "a library is checked")
    from synth.sources import innermost

    source = innermost(apply_settings(parse_source(what), settings or ()))
    root: Path | None = getattr(source, "folder", getattr(source, "root", None))
    if root is None:
        raise SourceError(f"{what}: this library has no files", fix="give a library in a folder")
    if write is not None:
        refuse_given(given, {"--index"}, "an index is written")
        count = _write(root, write, observer)

        def show() -> None:
            say(f"{count:,} files written to {write}")
            print_next("segue", "check", what, "--index", write)

        return CommandResult({"files": count, "index": str(write)}, show)
    integrity, clips, is_heard = _check(source, root, index, observer)
    changed = [word for setting in settings or () for word in ("--set", setting)]
    return CommandResult(
        integrity.to_json() | {"clips": clips, "has_audio": is_heard},
        partial(_show, source, integrity, clips, is_heard, [what, *changed]),
        status=int(not integrity.is_whole),
    )


def _find_kind(what: str) -> PathKind:
    """What a word names: what its path leads to, else a library; of a missing path a corpus."""
    from synth.corpus.corpus import holds_corpus
    from synth.sources import source_names

    path, (name, colon, _) = Path(what), what.partition(":")
    if colon and (name in source_names() or not (is_url(path) or holds_corpus(path))):
        return PathKind.OTHER
    kind = expect(path, PathKind.CORPUS, PathKind.EXPORT, PathKind.OTHER)
    is_missing = kind is PathKind.OTHER and what not in source_names() and not path.exists()
    return PathKind.CORPUS if is_missing else kind


def _check_machine(out: Path, endpoint: str | None) -> CommandResult:
    """What is missing here, what needs it, how to fix it."""
    from pipelines.checks.doctor.machine import run_checks

    with show_waiting("checking"):
        checks = list(run_checks(out, endpoint))
    is_wrong = any(check.state is CheckState.WRONG for check in checks)
    return CommandResult(
        {"ok": not is_wrong, "checks": [asdict(check) for check in checks]},
        partial(_print_machine, checks),
        status=int(is_wrong),
    )


def _print_machine(checks: list[DoctorCheck]) -> None:
    console = make_console(soft_wrap=False)
    table = Table("check", "state", "found", box=None, pad_edge=False)
    for check in checks:
        state = Text(check.state.value, _STYLES[check.state])
        table.add_row(Text(check.name), state, Text(check.found))
    console.print(table)
    for check in checks:
        if check.state is not CheckState.OK:
            name = Text.assemble("\n", (check.name, _STYLES[check.state]))
            console.print(name, f"needed for: {check.needed_for}", sep="  ")
            say(f"  fix: {check.fix}")
    counts = ", ".join(
        f"{sum(check.state is state for check in checks)} {state}" for state in CheckState
    )
    say(f"\n{counts}")


def _check_corpus(corpus: Path, samples: int, observer: Observer) -> CommandResult:
    from pipelines.look.inspection import draw, verify, verify_manifests
    from synth.corpus.corpus import Corpus

    checks = verify_manifests(corpus)
    opened = Corpus.open(corpus)
    checks |= verify(opened, draw(corpus, samples), observer)
    facts = {"ok": True, "corpus": opened.name, "version": opened.version, "checks": checks}
    return CommandResult(facts, partial(_print_checks, checks, format_place(corpus)))


def _check_export(out: Path) -> CommandResult:
    from pipelines.checks.exported import verify_export  # loads every format

    identity, checks = verify_export(out)
    named = {name: identity.get(name) for name in ("format", "corpus", "version")}
    show = partial(_print_checks, checks, "CORPUS", "--export", out)
    return CommandResult({"ok": True, **named, "checks": checks}, show)


def _print_checks(checks: Mapping[str, object], *audited: str | Path) -> None:
    for name, value in checks.items():
        say(f"{name}: {value}")
    print_next("segue", "audit", *audited)


def _write(root: Path, target: Path, observer: Observer) -> int:
    """The number of files that were written down."""
    from synth.sources.reading.collected import list_files, write_index

    if target.exists():
        raise SourceError(f"{target}: already exists", fix="give another name")
    count = sum(1 for _ in list_files(root))
    if not count:
        raise SourceError(f"{root}: contains no files", fix="give a library's folder")
    observer.start("index", count, "files")
    write_index(root, target, lambda: observer.advance("index"))
    observer.finish("index")
    return count


def _check(
    source: Settings, root: Path, index: Path | None, observer: Observer
) -> tuple[Integrity, int, bool]:
    """What was found, how many clips the library lists, and whether their audio is there."""
    from synth.sources import Source, open_source
    from synth.sources.reading.collected import check_files, read_index
    from synth.sources.reading.files import list_refs, path_of

    checksums = dict(source.checksums()) if hasattr(source, "checksums") else {}
    if index is not None:
        checksums |= read_index(index)
    library = open_source(source)
    locations = [ref.location for ref in list_refs(library) if not ref.refusal]
    clips, is_heard = len(locations), isinstance(library, Source)
    if not is_heard:
        locations = []
    observer.start("check", len({*map(path_of, locations), *checksums}), "files")
    integrity = check_files(root, locations, checksums, lambda: observer.advance("check"))
    observer.finish("check")
    return integrity, clips, is_heard


def _show(
    source: Settings, files: Integrity, clips: int, is_heard: bool, words: Sequence[str]
) -> None:
    print_index(source)
    if not is_heard:
        say(f"no audio here: {clips:,} clips are listed, for planning only")
    say(
        f"{files.listed:,} files listed, {len(files.missing):,} missing; {files.checked:,} "
        f"checksums compared, {len(files.changed):,} differ; "
        f"{len(files.unlisted):,} sounds unlisted"
    )
    for kind in ("missing", "changed", "unlisted"):
        print_first([f"{kind}: {path}" for path in getattr(files, kind)])
    if files.is_whole:
        print_next("segue", "ingest", *words)
    else:
        say("next: download these files again, then repeat this command")
