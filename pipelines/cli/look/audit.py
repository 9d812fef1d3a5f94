"""`segue audit`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer
from rich.table import Table

from pipelines.cli.common.show import print_first, print_next, say
from synth.base.atomic import format_count
from synth.base.command import CommandResult, Given, refuse_given
from synth.base.doors import make_console
from synth.base.errors import SpecError
from synth.base.progress import Observer
from synth.storage import format_place

if TYPE_CHECKING:
    from pipelines.checks.audio import AudioAudit
    from pipelines.checks.audit import Audit
    from pipelines.checks.exported import ExportAudit
    from synth.corpus.leakage import Leakage
    from synth.shortcuts.figures import Shortcuts

_BLIND: Final = 8000
_TRIVIAL: Final = 4000
_OPTIONS: Final = frozenset({"--blind", "--trivial", "--samples", "--audio", "--export"})


def audit_command(
    corpora: list[Path],
    leakage: bool = False,
    blind: bool = False,
    trivial: bool = False,
    samples: Annotated[int | None, typer.Option(min=100)] = None,
    audio: Annotated[int | None, typer.Option(min=1, metavar="N")] = None,
    export: Annotated[Path | None, typer.Option(metavar="FOLDER")] = None,
    *,
    given: Given = frozenset(),
    observer: Observer,
) -> CommandResult:
    """Prove a corpus's captions true, and its negatives false, from its manifest.

    Takes a finished corpus or a plan. Trusts the files, which `segue check` checks. `--audio` also
    checks captions against the measured sounds. Instead of proving captions, `--leakage` compares
    the clips that samples use, by recording, bytes and sound, and `--export` makes an export again.

    The exit status is 1 if a caption fails, a clip is shared, or an export differs.

    Examples: `segue audit data_manifests/scenes --blind`,
    `segue audit data_manifests/scenes --audio 500`,
    `segue audit data_manifests/scenes --export exported/preference`,
    `segue audit --leakage data_manifests/train data_manifests/benchmark`

    Args:
        corpora: Manifest folder: data_manifests/CORPUS (the latest build) or one of its versions.
            With --leakage: two folders, or one to compare its splits.
        leakage: Check that two corpora, or the splits of one, share no recording.
        blind: Try to tell true from false captions by text alone. With `--export`: right from wrong
            answers.
        trivial: Try to tell true from false captions by length, level and pauses of the audio.
        samples: Approximate number of samples for --blind (8000 by default) and --trivial (4000).
            With `--export`: lines of a split for --blind.
        audio: Also decode N samples, drawn evenly, and check their sounds against the plan.
        export: Instead, make this export of the corpus again, and compare every line and file.
    """
    from pipelines.checks.audio import audit_audio, find_rendered
    from pipelines.checks.audit import audit
    from pipelines.store.places import find_manifest
    from synth.corpus.corpus import PLAN_FILE, Corpus

    if leakage:
        refuse_given(given, _OPTIONS, "--leakage goes with no other option")
        return _compare_clips(corpora, observer)
    if len(corpora) > 1:
        raise SpecError(
            "only one corpus can be audited at a time", fix="or compare two with --leakage"
        )
    (corpus,) = corpora
    if export is not None:
        refuse_given(given, {"--audio", "--trivial"}, "--export goes with neither")
        if not blind:
            refuse_given(given, {"--samples"}, "needs --blind")
        return _audit_export(corpus, export, (samples or _BLIND) if blind else None, observer)
    if not (blind or trivial):
        refuse_given(given, {"--samples"}, "needs --blind or --trivial")
    if audio is not None or trivial:
        find_rendered(corpus)
    by_plan = audit(corpus, observer)
    tests: dict[str, Shortcuts] = {}
    if blind:
        from synth.shortcuts.text import run_blind_test

        tests["blind"] = run_blind_test(find_manifest(corpus), samples or _BLIND, observer=observer)
    if trivial:
        from synth.shortcuts.audio import run_trivial_test

        tests["trivial"] = run_trivial_test(
            Corpus.open(find_rendered(corpus)), samples or _TRIVIAL, observer=observer
        )
    by_ear = audit_audio(corpus, audio, observer) if audio is not None else None
    facts = by_plan.to_json()
    facts |= {name: result.to_json() for name, result in tests.items()}
    facts |= {"audio": by_ear.to_json()} if by_ear else {}

    def show() -> None:
        print_audit(by_plan)
        for name, result in tests.items():
            print_shortcuts(f"by {_MEANS[name]}", result)
        if by_ear:
            print_audio(by_ear)
        if by_plan.violations:
            say("next: fix the source of these sentences, then build and audit again")
        elif by_ear and by_ear.findings:
            say("next: build the corpus again, and its bank, and audit again")
        elif find_manifest(corpus).name == PLAN_FILE:
            say("next: segue build SPEC, with the spec of this plan")
        else:
            print_next("segue", "train", format_place(corpus))

    return CommandResult(
        facts, show, status=int(bool(by_plan.violations or (by_ear and by_ear.findings)))
    )


def _audit_export(
    corpus: Path, folder: Path, samples: int | None, observer: Observer
) -> CommandResult:
    """Compare an export, with a blind test of so many lines; status 1 if a line or file differs."""
    from pipelines.checks.blind import refuse_no_answers
    from pipelines.checks.blind import run_blind_export as run_blind
    from pipelines.checks.exported import audit_export

    if samples is not None:
        refuse_no_answers(folder)
    result = audit_export(corpus, folder, observer)
    shortcuts = None
    if samples is not None and not result.faults:
        shortcuts = run_blind(folder, samples, observer=observer)
    return CommandResult(
        result.to_json() | ({"blind": shortcuts.to_json()} if shortcuts else {}),
        partial(print_export, result, shortcuts, samples is not None),
        status=int(bool(result.faults)),
    )


def _compare_clips(corpora: list[Path], observer: Observer) -> CommandResult:
    """Compare two corpora, or the splits of one; status 1 where they share a recording."""
    from pipelines.checks.leakage import compare_corpora, compare_splits

    if len(corpora) > 2:
        raise SpecError("--leakage: expected one or two corpora", fix="compare them pair by pair")
    if len(corpora) == 2:
        name = f"{corpora[0]} and {corpora[1]}"
        compared = {name: compare_corpora(corpora[0], corpora[1], observer=observer)}
    else:
        compared = compare_splits(corpora[0], observer)
    disjoint = all(leakage.disjoint for leakage in compared.values())

    def show() -> None:
        print_leakage(compared)
        if len(corpora) == 2 and not disjoint:
            block = format_place(corpora[1])
            print(f"next: name {block} under `block` in the spec of the other, and build it again")

    return CommandResult(
        {
            "disjoint": disjoint,
            "shared": sum(leakage.shared for leakage in compared.values()),
            "compared": {name: leakage.to_json() for name, leakage in compared.items()},
        },
        show,
        status=int(not disjoint),
    )


# What `segue audit` found, on the terminal.


_MEASURES: Final = {
    "pooled": "one side from the other",
    "own": "false captions from their true ones",
    "first": "the true caption among its false ones",
    "fits": "whether a caption fits",
    "member": "the true of two captions",
}
_MEANS: Final = {"blind": "text alone", "trivial": "trivial audio"}
_MEASURES_OF_EXPORT: Final = {
    "own": "wrong answers from right ones",
    "first": "the right answer before the wrong one",
    "member": "the right of two answers",
}


def print_leakage(compared: Mapping[str, Leakage]) -> None:
    """What two corpora, or the splits of one, share."""
    if not compared:
        say("only one split: nothing to compare")
    for name, leak in compared.items():
        colour = "green" if leak.disjoint else "red"
        make_console().print(
            f"{name}: {leak.clips_a:,} and {leak.clips_b:,} clips, [{colour}]{leak.shared:,} "
            f"shared[/] ({leak.by_recording:,} by recording, {leak.by_bytes:,} by bytes, "
            f"{leak.by_sound:,} by sound)"
        )
        print_first([f"{pair.a} and {pair.b}: {pair.detail}" for pair in leak.pairs])
        if leak.unread:
            say(
                f"  {leak.unread:,} clips come from a listing without audio, and cannot be "
                "compared by sound"
            )
        unheard = leak.unheard_a + leak.unheard_b - leak.unread
        if unheard > 0:
            say(f"  {unheard:,} clips are too short or too steady to be compared by sound")


def print_audit(result: Audit) -> None:
    """What the audit of a corpus found."""
    console = make_console()
    say(
        f"{result.samples:,} samples, {result.with_negatives / max(1, result.samples):.1%} with a "
        f"negative; {result.positives:,} true captions, {result.negatives:,} false ones, "
        f"{result.dense:,} dense ones"
    )
    print_first(
        [
            f"{fault.sample}: {fault.text!r} passes for {fault.said}, but {fault.why}"
            for fault in result.violations
        ]
    )
    colour = "red" if result.violations else "green"
    console.print(f"[{colour}]{format_count(len(result.violations), 'violation')}[/]")
    if result.assumed:
        console.print(
            f"[yellow]judged by label and time alone: {result.assumed:,} samples[/]. Their "
            "sounds were never measured, or their manifest does not say when they are "
            "heard; a listener may disagree"
        )


def print_shortcuts(title: str, result: Shortcuts, measures: Mapping[str, str] = _MEASURES) -> None:
    """What is told without listening."""
    table = Table(title=f"{title}: {result.recipe}, furthest above chance first")
    for column in ("split", "kind", "comparison"):
        table.add_column(column)
    for column in ("told", "95 % interval", "chance", "n"):
        table.add_column(column, justify="right")
    for figure in sorted(result.figures, key=lambda figure: -figure.excess):
        table.add_row(
            figure.split,
            figure.kind or "all",
            measures[figure.measure],
            f"{figure.value:.1%}",
            f"{figure.low:.1%} to {figure.high:.1%}",
            f"{figure.chance:.1%}",
            f"{figure.n:,}",
        )
    make_console().print(table)
    worst = result.worst
    say(
        f"worst: {worst.value:.1%} where chance is {worst.chance:.1%} ({worst.split}, "
        f"{worst.kind or 'all'}, {measures[worst.measure]})"
    )


def print_audio(result: AudioAudit) -> None:
    """What was measured on the audio."""
    say(
        f"audio: {result.samples:,} samples of {result.sounds:,} sounds and {result.sentences:,} "
        f"captions, {result.seconds_per_sample:.3f} s each"
    )
    print_first([f"{finding.sample}: {finding.said}" for finding in result.findings])
    colour = "red" if result.findings else "green"
    make_console().print(f"[{colour}]{format_count(len(result.findings), 'finding')}[/]")


def print_export(result: ExportAudit, shortcuts: Shortcuts | None, is_blind: bool) -> None:
    """What the audit of an export found; whether a blind test was asked for."""
    files = format_count(result.files, "other file")
    say(f"{result.format}: {format_count(result.rows, 'line')}, {files}")
    faults = [
        f"{fault.file}{f':{fault.line} {fault.row}' if fault.line else ''}: {fault.why}"
        for fault in result.faults
    ]
    print_first(faults, result.fault_count)
    colour = "red" if result.faults else "green"
    make_console().print(f"[{colour}]{format_count(result.fault_count, 'violation')}[/]")
    if shortcuts:
        print_shortcuts("by text alone", shortcuts, _MEASURES_OF_EXPORT)
    elif is_blind:
        say("no blind test: it needs an export whose lines hold")
