"""Findings on the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.markup import escape

if TYPE_CHECKING:
    from pipelines.builder.findings import Findings


def print_findings(console: Console, findings: Findings, manifests: str) -> None:
    """Why clips are quarantined and where the table lies, and what the library lacks."""
    from synth.corpus.corpus import QUARANTINE_FILE

    for line in findings.reasons:
        console.print(f"  {line}", markup=False)
    if findings.refusals:
        console.print(f"quarantine {manifests}/{QUARANTINE_FILE}", markup=False)
    for note in findings.notes:
        console.print(f"[yellow]note[/]: {escape(note)}")
