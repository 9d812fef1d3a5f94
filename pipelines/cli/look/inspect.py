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
from pipelines.cli.common.show import print_next, print_note, say
from synth.base.atomic import format_count
from synth.base.command import CommandResult
from synth.base.doors import make_console


def inspect_command(
    corpus: CorpusArgument,
    samples: Annotated[int, typer.Option(min=0)] = 5,
    save: Path | None = None,
) -> CommandResult:
    """Show what was built or planned: counts, labels, licences and samples.

    `segue check` checks the files of a corpus, `audit` its captions; `sql` queries its tables, and
    `diff` compares two corpora.

    Example: `segue inspect data_manifests/acba --samples 3`

    Args:
        samples: Samples to show, drawn evenly.
        save: Folder for the audio of the samples shown.
    """
    from pipelines.look.inspection import describe, draw, rebuild, summarise_row
    from synth.corpus.corpus import Corpus

    facts = describe(corpus)
    picked = draw(corpus, samples)
    paths = [str(rebuild(Corpus.open(corpus), row, save)) for row in picked] if save else []
    rows = [summarise_row(row) for row in picked]
    return CommandResult(
        {**facts, "samples": rows, "saved": paths}, partial(_print, corpus, facts, picked, paths)
    )


def _print(
    corpus: Path, facts: dict[str, Any], rows: list[dict[str, Any]], paths: list[str]
) -> None:
    from pipelines.look.inspection import format_sample

    console = make_console()
    console.print(f"[bold]{facts['corpus']}[/] {facts['version']}  recipe {facts['recipe']}")
    for row in rows:
        head, *lines = format_sample(row)
        say(f"\n{head}", style="bold")
        say("\n".join(lines))
    if rows:
        console.print()
    for name, counts in facts["counts"].items():
        table = Table(name, *next(iter(counts.values())).keys())
        for key, values in counts.items():
            table.add_row(escape(key), *(f"{value:,}" for value in values.values()))
        console.print(table)
    _print_labels(console, facts["labels"])
    clips = facts["clips"]
    stages = ", ".join(f"{count:,} by {stage}" for stage, count in clips["refused by"].items())
    say(
        f"{clips['used']:,} heard + {clips['not drawn']:,} not drawn + {clips['refused']:,} "
        f"quarantined{f' ({stages})' if stages else ''} = "
        f"{format_count(clips['listed'], 'clip')} listed"
    )
    say(f"{facts['with a negative']:.1%} of the samples have a negative")
    if clips["refused"]:
        say(f"quarantined clips: {facts['quarantine']}")
    for path in paths:
        say(f"saved {path}")
    print_next("segue", "browse", corpus)


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
        say(f"and {format_count(labels['more'], 'label')} with more clips")
    for lack in labels["lacking"]:
        print_note(Lacking(**lack).line)
