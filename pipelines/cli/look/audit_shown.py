"""What `segue audit` found, on the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from rich.console import Console
from rich.table import Table

from pipelines.checks.audio.audit import AudioAudit
from pipelines.checks.audit import Audit
from pipelines.checks.blind_figures import BlindResult
from synth.base.doors import make_console
from synth.corpus.leakage import Leakage

if TYPE_CHECKING:
    from pipelines.checks.exported import ExportAudit  # loads every format

SHOWN: Final = 10
_MEASURES: Final = {
    "pooled": "any sentences",
    "own": "false captions from their true ones",
    "first": "the true caption among its false ones",
}
_MEASURES_OF_EXPORT: Final = {
    "own": "wrong answers from right ones",
    "first": "the right answer before the wrong one",
}


def print_leakage(found: Mapping[str, Leakage]) -> None:
    """What two corpora, or the splits of one, share."""
    console = make_console()
    if not found:
        console.print("only one split: nothing to compare")
    for name, each in found.items():
        colour = "green" if each.disjoint else "red"
        console.print(
            f"{name}: {each.clips_a:,} and {each.clips_b:,} clips, [{colour}]{each.shared:,} "
            f"shared[/] ({each.by_recording:,} by recording, {each.by_bytes:,} by bytes, "
            f"{each.by_sound:,} by sound)"
        )
        for pair in each.pairs[:SHOWN]:
            console.print(f"  {pair.a} and {pair.b}: {pair.detail}", markup=False)
        if each.unread:
            console.print(
                f"  {each.unread:,} clips come from a listing without audio, and cannot be "
                "compared by sound"
            )
        unheard = each.unheard_a + each.unheard_b - each.unread
        if unheard > 0:
            console.print(
                f"  {unheard:,} clips are too short or too steady to be compared by sound"
            )


def print_audit(found: Audit, told: BlindResult | None) -> None:
    """What the audit of a corpus found."""
    console = make_console()
    console.print(
        f"{found.samples:,} samples, {found.with_negatives / max(1, found.samples):.1%} with a "
        f"negative; {found.positives:,} true captions, {found.negatives:,} false ones, "
        f"{found.dense:,} dense ones"
    )
    for violation in found.violations[:SHOWN]:
        console.print(
            f"  {violation.sample}: {violation.text!r} passes for {violation.said}, but "
            f"{violation.why}",
            markup=False,
        )
    if len(found.violations) > SHOWN:
        console.print(f"  and {len(found.violations) - SHOWN:,} more")
    colour = "red" if found.violations else "green"
    console.print(f"[{colour}]{len(found.violations):,} violations[/]")
    if found.assumed:
        console.print(
            f"[yellow]judged by label and time alone: {found.assumed:,} samples[/]. Their "
            "sounds were never measured, or their manifest does not say when they are "
            "heard; a listener may disagree"
        )
    if told:
        print_blind(console, told)


def print_blind(
    console: Console, told: BlindResult, measures: Mapping[str, str] = _MEASURES
) -> None:
    """What text alone tells."""
    table = Table(title=f"by text alone: {told.recipe}")
    for column in ("split", "kind", "comparison"):
        table.add_column(column)
    for column in ("told", "95 % interval", "chance", "n"):
        table.add_column(column, justify="right")
    for each in told.figures:
        table.add_row(
            each.split,
            each.kind or "all",
            measures[each.measure],
            f"{each.value:.1%}",
            f"{each.low:.1%} to {each.high:.1%}",
            f"{each.chance:.1%}",
            f"{each.n:,}",
        )
    console.print(table)
    worst = told.worst
    console.print(
        f"worst: {worst.value:.1%} where chance is {worst.chance:.1%} ({worst.split}, "
        f"{worst.kind or 'all'}, {measures[worst.measure]})"
    )


def print_audio(heard: AudioAudit) -> None:
    """What was measured on the audio."""
    console = make_console()
    console.print(
        f"audio: {heard.samples:,} samples of {heard.sounds:,} sounds and {heard.sentences:,} "
        f"captions, {heard.seconds_per_sample:.3f} s each"
    )
    for finding in heard.findings[:SHOWN]:
        console.print(f"  {finding.sample}: {finding.said}", markup=False)
    if len(heard.findings) > SHOWN:
        console.print(f"  and {len(heard.findings) - SHOWN:,} more")
    colour = "red" if heard.findings else "green"
    console.print(f"[{colour}]{len(heard.findings):,} findings[/]")
    for level, count in heard.listeners.items():
        console.print(
            f"a listener who hears down to {level:g} dB below a sound's loudest 50 ms disputes "
            f"{count / max(1, heard.sentences):.1%} of the captions"
        )


def print_export(found: ExportAudit, told: BlindResult | None, is_blind: bool) -> None:
    """What the audit of an export found; whether a blind test was asked for."""
    console = make_console()
    console.print(f"{found.format}: {found.rows:,} lines, {found.files:,} other files")
    for fault in found.faults[:SHOWN]:
        line = f":{fault.line} {fault.row}" if fault.line else ""
        console.print(f"  {fault.file}{line}: {fault.why}", markup=False)
    if found.fault_count > SHOWN:
        console.print(f"  and {found.fault_count - SHOWN:,} more")
    colour = "red" if found.faults else "green"
    console.print(f"[{colour}]{found.fault_count:,} violations[/]")
    if told:
        print_blind(console, told, _MEASURES_OF_EXPORT)
    elif is_blind:
        console.print("no blind test: it needs an export whose lines hold")
