"""`segue ingest`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.console import Console
from rich.table import Table

from pipelines.cli.common.options import StageOption, StoreOption, WorkersOption
from pipelines.cli.common.show import print_blocked, print_next, print_note, say
from pipelines.cli.common.source import (
    SetOption,
    apply_settings,
    parse_source,
    print_index,
    resolve_destination,
)
from pipelines.cli.make.build import choose_worker_count
from pipelines.engines.engine import engine
from synth.base.atomic import format_count
from synth.base.command import CommandResult
from synth.base.doors import make_console
from synth.base.errors import SpecError
from synth.base.progress import Observer
from synth.storage import format_place

if TYPE_CHECKING:
    from pipelines.config.spec import Intake
    from pipelines.ingest.ingest import IngestedLibrary
    from synth.sources import ClipRef

_NAMED: Final = re.compile(r"[\w-]+(:.*)?", re.S)


def ingest_command(
    library: Annotated[str, typer.Argument(metavar="SPEC|NAME:ROOT")],
    out: StoreOption = Path(),
    stage: StageOption = None,
    workers: WorkersOption = None,
    limit: Annotated[int | None, typer.Option(min=1)] = None,
    settings: SetOption = None,
    *,
    observer: Observer,
) -> CommandResult:
    """Read a sound library: check and measure every clip, and fill the bank.

    `segue build` also does this; use `ingest` to look at the clips first. Repeating the command
    resumes an interrupted run.

    Examples: `segue ingest esc50:/data/ESC-50 --out /data/segue`,
    `segue ingest corpora/acba.yaml --workers 8`

    Args:
        library: A corpus spec, or a source and its folder, such as esc50:/data/ESC-50.
        limit: Take only the first clips of the library, this many.
    """
    from pipelines.ingest.ingest import ingest
    from pipelines.store.store import BANKS
    from synth.sources import Unheard

    named = [] if out == Path() else ["--out", format_place(out)]
    out = resolve_destination(out, stage)
    intake = replace(_read_intake(library, settings or ()), limit=limit)
    following = partial(_show_next, library, named)
    if isinstance(intake.source, Unheard):
        return _describe_listing(intake, following)
    with engine(choose_worker_count(workers)) as where:
        ingested = ingest(intake, out / BANKS, where, observer)
    return _describe_library(intake, ingested, following)


def _read_intake(text: str, settings: Sequence[str] = ()) -> Intake:
    from pipelines.config.file import read_spec
    from pipelines.config.spec import AudioSpec, ClipsSpec, Intake
    from synth.sources import open_source, source_names

    if Path(text).is_dir() and text not in source_names():
        parse_source(text)
    # What has the form of a name is none of a missing file: the nearest source is told.
    if _NAMED.fullmatch(text) and not Path(text).is_file():
        source = open_source(apply_settings(parse_source(text), settings))
        return Intake(source, AudioSpec().sample_rate, ClipsSpec().acceptance)
    if settings:
        raise SpecError("--set: works with NAME:ROOT only", fix=f"write the setting into {text}")
    return read_spec(Path(text)).intake


def _show_next(library: str, out: list[str]) -> None:
    if Path(library).is_file():
        print_next("segue", "plan", library, *out)
    else:
        print_next("segue", "new", "RECIPE", "--source", library)
        say("`segue new` lists the recipes")


def _describe_library(
    intake: Intake, library: IngestedLibrary, following: Callable[[], None]
) -> CommandResult:
    splits = Counter(clip["split"] or "(none)" for clip in library.clips.rows("split"))
    above = sum(clip["peak_db"] > 0 for clip in library.clips.rows("peak_db"))
    facts = {
        "listed": len(library.clips) + len(library.quarantine),
        "clips": len(library.clips),
        "quarantined": len(library.quarantine),
        "splits": dict(splits),
        "reasons": dict(Counter(row["reason"] for row in library.quarantine)),
        "blocked": [blocked.to_json() for blocked in library.blocked],
        "above_full_scale": above,
        "bank": str(library.index),
    }

    def show() -> None:
        _print_library(intake, library, splits, above)
        following()

    return CommandResult(facts, show)


def _print_library(
    intake: Intake, library: IngestedLibrary, splits: Mapping[str, int], above: int
) -> None:
    from synth.sources.own.split_names import find_misspelt

    console = make_console()
    print_index(intake.source)
    labels: set[str] = set()
    captions = silent = 0
    for clip in library.clips.rows("labels", "captions", "tags"):
        labels.update(clip["labels"])
        captions += len(clip["captions"])
        silent += not any(clip.values())
    recordings = {clip["recording"] for clip in library.clips.rows("recording")}
    sounds = library.clips.rows("onset", "offset", "sample_rate")
    seconds = sum((clip["offset"] - clip["onset"]) / clip["sample_rate"] for clip in sounds)
    say(
        f"{format_count(len(library.clips), 'clip')} of "
        f"{format_count(len(recordings), 'recording')}, {format_count(len(labels), 'label')}, "
        f"{format_count(captions, 'caption')}, {seconds / 60:.1f} min of sound"
    )
    outside = splits.get("(none)", 0)
    listed = len(library.clips) + len(library.quarantine)
    say(
        f"{len(library.clips) - outside:,} accepted + {len(library.quarantine):,} quarantined "
        f"+ {outside:,} outside of splits = {listed:,} listed{_describe_limit(intake)}"
    )
    if len(splits) > 1:
        _print_table(console, ("split", "clips"), splits)
    names = {clip["source_split"] for clip in library.clips.rows("source_split")}
    for line in find_misspelt(sorted(names)):
        print_note(line)
    if above:
        say(
            f"{format_count(above, 'clip')} with peaks above full scale (column peak_db), "
            "used as others are"
        )
    if silent:
        print_note(
            f"no label, caption or tag: {format_count(silent, 'clip')}; no recipe can use them"
        )
    print_blocked(library.blocked)
    if library.quarantine:
        _print_reasons(console, library.quarantine)


def _describe_listing(intake: Intake, following: Callable[[], None]) -> CommandResult:
    from synth.sources.reading.files import list_refs

    refs = list(islice(list_refs(intake.source), intake.limit))
    refusals = {ref.id: _find_refusal(ref, intake) for ref in refs}
    refused = [
        {"location": ref.location, "reason": refusals[ref.id], "id": ref.id}
        for ref in refs
        if refusals[ref.id]
    ]
    usable = [ref for ref in refs if not refusals[ref.id]]
    splits = Counter(ref.split or "(none)" for ref in usable)
    captions, tags, labels = (_count(usable, name) for name in ("captions", "tags", "labels"))
    facts = {
        "listed": len(refs),
        "clips": len(usable),
        "quarantined": len(refused),
        "splits": dict(splits),
        "reasons": dict(Counter(row["reason"] for row in refused)),
        "captions": captions,
        "tags": tags,
        "labels": labels,
        "bank": None,
    }

    def show() -> None:
        console = make_console()
        say(
            f"{intake.source.name} lists {len(usable):,} clips, {captions:,} captions, {tags:,} "
            f"tags and {labels:,} labels{_describe_limit(intake)}; there is no audio to build "
            "from, but `segue plan` can plan over it"
        )
        _print_table(console, ("the library's split", "clips"), splits)
        if refused:
            _print_reasons(console, refused)
        following()

    return CommandResult(facts, show)


def _find_refusal(ref: ClipRef, intake: Intake) -> str:
    if ref.refusal or ref.duration_s is None:
        return ref.refusal
    return intake.acceptance.refusal(ref.duration_s)


def _count(refs: Iterable[ClipRef], name: str) -> int:
    return sum(len(getattr(ref, name)) for ref in refs)


def _describe_limit(intake: Intake) -> str:
    if intake.limit is None:
        return ""
    return f" (limited to the first {intake.limit:,} clips of the library)"


def _print_table(console: Console, heads: tuple[str, str], counts: Mapping[str, int]) -> None:
    table = Table(heads[0])
    table.add_column(heads[1], justify="right")
    for name, count in sorted(counts.items()):
        table.add_row(name, f"{count:,}")
    console.print(table)


def _print_reasons(console: Console, quarantine: Iterable[Mapping[str, str]]) -> None:
    from pipelines.ingest.parts import count_refusals, format_refusals

    for line in format_refusals(count_refusals(quarantine)):
        say(f"  {line}")
