"""`segue inspect`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pipelines.cli.common.options import CorpusArgument
from pipelines.cli.common.show import print_next
from synth.base.atomic import format_count
from synth.base.command import CommandResult
from synth.base.doors import make_console


def inspect_command(
    corpus: CorpusArgument,
    samples: Annotated[int, typer.Option(min=0, help="Samples to show, drawn evenly.")] = 5,
    save: Annotated[
        Path | None, typer.Option(help="Folder for the audio of the samples shown.")
    ] = None,
    captions: Annotated[
        int, typer.Option(min=0, help="Print only this many captions, drawn at random.")
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of --captions.")] = 0,
) -> CommandResult:
    """Show what was built or planned: counts, labels, licences and samples.

    `segue check` checks the files of a corpus, `audit` its captions; `sql` queries its tables, and
    `diff` compares two corpora.

    Example: `segue inspect data_manifests/acba --samples 3`
    """
    from pipelines.look.inspection import (
        describe,
        draw,
        draw_captions,
        rebuild,
        summarise_row,
    )
    from synth.corpus.corpus import Corpus

    if captions:
        drawn = draw_captions(corpus, captions, seed)
        return CommandResult(
            {"captions": drawn}, lambda: make_console().print("\n".join(drawn), markup=False)
        )
    facts = describe(corpus)
    picked = draw(corpus, samples)
    paths = [str(rebuild(Corpus.open(corpus), row, save)) for row in picked] if save else []
    rows = [summarise_row(row) for row in picked]
    return CommandResult(
        {**facts, "samples": rows, "saved": paths},
        partial(_print, corpus, facts, picked, paths),
    )


def _print(
    corpus: Path, facts: dict[str, Any], rows: list[dict[str, Any]], paths: list[str]
) -> None:
    from pipelines.look.inspection import format_sample

    console = make_console()
    console.print(f"[bold]{facts['corpus']}[/] {facts['version']}  recipe {facts['recipe']}")
    for row in rows:
        head, *lines = format_sample(row)
        console.print(f"\n{head}", style="bold", markup=False)
        console.print("\n".join(lines), markup=False)
    if rows:
        console.print()
    for name, counts in facts["counts"].items():
        table = Table(name, *next(iter(counts.values())).keys())
        for key, values in counts.items():
            table.add_row(escape(key), *(f"{value:,}" for value in values.values()))
        console.print(table)
    _print_labels(console, facts["labels"])
    clips = facts["clips"]
    console.print(
        f"{clips['used']:,} heard + {clips['not drawn']:,} not drawn + {clips['refused']:,} "
        f"quarantined{_format_stages(clips['refused by'])} = "
        f"{format_count(clips['listed'], 'clip')} listed"
    )
    console.print(f"{facts['with a negative']:.1%} of the samples have a negative")
    if clips["refused"]:
        console.print(f"quarantined clips: {facts['quarantine']}", markup=False)
    for path in paths:
        console.print(f"saved {path}", markup=False)
    print_next(console, "segue", "browse", corpus)


def _print_labels(console: Console, labels: dict[str, Any]) -> None:
    """Clips and recordings by label and split, the rarest labels first."""
    from pipelines.builder.coverage import Lacking

    if not labels["rarest"]:
        return
    columns = next(iter(labels["rarest"].values()))
    splits = [name.removesuffix(" clips") for name in columns if name.endswith(" clips")]
    table = Table("rarest label", *splits, caption="clips from recordings, by split")
    for label, counts in labels["rarest"].items():
        table.add_row(
            escape(label),
            *(
                f"{counts[f'{split} clips']:,} from {counts[f'{split} recordings']:,}"
                if counts[f"{split} clips"]
                else "[bold red]none[/]"
                for split in splits
            ),
        )
    console.print(table)
    if labels["more"]:
        console.print(f"and {format_count(labels['more'], 'label')} with more clips")
    for each in labels["lacking"]:
        console.print(f"[yellow]note[/]: {escape(Lacking(**each).line)}")


def _format_stages(counts: dict[str, int]) -> str:
    """Who quarantined how many clips."""
    told = ", ".join(f"{count:,} by {stage}" for stage, count in counts.items())
    return f" ({told})" if told else ""
