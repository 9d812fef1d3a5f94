"""`segue audit`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from pipelines.audit import Audit, audit
from pipelines.blind import Blind
from pipelines.cli.options import CorpusArgument, JsonOption
from pipelines.cli.show import print_json, progress_bars

SHOWN = 10


def audit_command(
    corpus: CorpusArgument,
    blind: Annotated[
        bool,
        typer.Option("--blind", help="Try to tell true from false captions by their text alone."),
    ] = False,
    samples: Annotated[
        int, typer.Option(min=100, help="Samples that the blind test looks at, about.")
    ] = 8000,
    as_json: JsonOption = False,
) -> None:
    """Prove a corpus's captions true and its negatives false, from its manifest.

    Takes a finished corpus or a plan. Ends with status 1 where a sentence is not what it is said to
    be.

    Example: `segue audit data_manifests/scenes --blind`
    """
    with progress_bars(quiet=as_json) as observer:
        found = audit(corpus, observer)
        told = _blind(corpus, samples) if blind else None
    if as_json:
        print_json(found.to_json() | ({"blind": _interval(told)} if told else {}))
    else:
        _print(found, told)
    if found.violations:
        raise typer.Exit(1)


def _blind(corpus: Path, samples: int) -> Blind:
    from pipelines.blind import blind

    return blind(corpus, samples)


def _interval(told: Blind) -> dict[str, float | int]:
    return {
        "value": round(told.value, 4),
        "low": round(told.low, 4),
        "high": round(told.high, 4),
        "chance": told.chance,
        "n": told.n,
    }


def _print(found: Audit, told: Blind | None) -> None:
    console = Console(soft_wrap=True, highlight=False)
    console.print(
        f"{found.samples:,} samples, {found.with_negatives / max(1, found.samples):.1%} with a "
        f"negative; {found.positives:,} true captions, {found.negatives:,} false ones"
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
    if told:
        console.print(
            f"blind test: {told.value:.1%} balanced accuracy ({told.low:.1%} to {told.high:.1%}, "
            f"chance {told.chance:.0%}) over {told.n:,} sentences"
        )
