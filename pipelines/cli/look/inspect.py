"""`segue inspect`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pipelines.build.findings import Lacking
from pipelines.cli.common.options import JsonOption, corpus_completions
from pipelines.cli.common.progress_display import show_progress
from pipelines.cli.common.show import print_json, print_next
from pipelines.look.inspection import (
    describe,
    draw,
    draw_captions,
    format_count,
    rebuild,
    verify,
    verify_manifests,
)
from synth.base.doors import make_console
from synth.corpus.corpus import Corpus

ROWS: Final = 50
"""Rows of an answer that are shown to people unless they ask for others."""


def inspect_command(
    corpus: Annotated[
        Path | None,
        typer.Argument(
            help="Manifest folder or its URL: data_manifests/CORPUS (the latest build) or "
            "one of its versions. Not with --diff.",
            show_default=False,
            autocompletion=corpus_completions,
        ),
    ] = None,
    samples: Annotated[int, typer.Option(min=0, help="Samples to show, drawn evenly.")] = 5,
    check: Annotated[
        bool,
        typer.Option(
            "--verify", help="Check the files: hash every shard and rebuild the samples shown."
        ),
    ] = False,
    save: Annotated[
        Path | None, typer.Option(help="Folder for the audio of the samples shown.")
    ] = None,
    captions: Annotated[
        int, typer.Option(min=0, help="Print only this many captions, drawn at random.")
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of --captions.")] = 0,
    tables: Annotated[
        bool, typer.Option("--tables", help="List the tables and columns that --sql can read.")
    ] = False,
    sql: Annotated[
        str | None,
        typer.Option(help="Run one SELECT over the manifests; - reads it from standard input."),
    ] = None,
    rows: Annotated[
        int | None,
        typer.Option(
            min=0,
            help=f"Rows of the answer to print, 0 for all. By default {ROWS}, all with --json.",
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Write the whole answer to a .parquet or .csv file.",
            dir_okay=False,
            show_default=False,
        ),
    ] = None,
    diff: Annotated[
        tuple[Path, Path] | None,
        typer.Option(
            metavar="A B",
            help="Show what differs between two corpora, and why. Takes no CORPUS.",
            autocompletion=corpus_completions,
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Show what was built or planned: counts, durations, balance, samples, checks.

    `--verify` checks a corpus's files against their receipts and by rebuilding samples. `audit`
    checks its captions, `check` a library's files, `doctor` the machine.

    Examples: `segue inspect data_manifests/acba --samples 3 --verify`;
    `segue inspect data_manifests/acba --sql "select split, count(*) from plan group by split"`;
    `segue inspect --diff data_manifests/acba/OLD data_manifests/acba/NEW`
    """
    if (corpus is None) is (diff is None):
        raise typer.BadParameter("give one CORPUS, or --diff A B", param_hint="CORPUS")
    if sql is None and (rows is not None or out is not None):
        raise typer.BadParameter("--rows and --out need --sql")
    if sum(map(bool, (captions, tables, sql is not None, diff))) > 1:
        raise typer.BadParameter("give only one of --captions, --tables, --sql and --diff")
    if diff is not None:
        from pipelines.cli.look.compare import print_comparison

        print_comparison(*diff, as_json)
        return
    assert corpus is not None
    if sql is not None or tables:
        from pipelines.cli.look.console import ask, print_tables  # DuckDB takes a while
    if sql is not None:
        unasked = 0 if as_json else ROWS
        ask(corpus, sql, unasked if rows is None else rows, out, as_json)
        return
    if tables:
        print_tables(corpus, as_json)
        return
    if captions:
        drawn = draw_captions(corpus, captions, seed)
        if as_json:
            print_json({"captions": drawn})
        else:
            make_console().print("\n".join(drawn), markup=False)
        return
    checks = verify_manifests(corpus) if check else {}
    facts = describe(corpus)
    picked = draw(corpus, samples)
    if check:
        with show_progress(as_json) as observer:
            facts["checks"] = checks | verify(Corpus.open(corpus), picked, observer)
    paths = [str(rebuild(Corpus.open(corpus), row, save)) for row in picked] if save else []
    if as_json:
        print_json({**facts, "samples": [_summarise_row(row) for row in picked], "saved": paths})
        return
    _print(facts, picked, paths)
    print_next(make_console(), "segue", "browse", corpus)


def _summarise_row(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": row["id"],
        "notation": row["notation"],
        "caption": row["caption"],
        "positives": [caption["text"] for caption in row["positives"]],
        "negatives": [f"{caption['text']} [{caption['kind']}]" for caption in row["negatives"]],
        "seconds": round(row["frames"] / row["sample_rate"], 3),
    }


def _print(facts: dict[str, Any], rows: list[dict[str, Any]], paths: list[str]) -> None:
    console = make_console()
    console.print(f"[bold]{facts['corpus']}[/] {facts['version']}  recipe {facts['recipe']}")
    for row in rows:
        _print_sample(console, row)
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
    for name, value in facts.get("checks", {}).items():
        console.print(f"{name}: {value}", markup=False)
    for path in paths:
        console.print(f"saved {path}", markup=False)


def _print_sample(console: Console, row: dict[str, Any]) -> None:
    shown = _summarise_row(row)
    console.print(f"\n[bold]{shown['id']}[/]  {shown['seconds']} s  ", end="")
    console.print(shown["notation"], markup=False)
    console.print(f"  caption   {shown['caption']}", markup=False)
    for text in shown["positives"]:
        console.print(f"  true      {text}", markup=False)
    for text in shown["negatives"]:
        console.print(f"  false     {text}", markup=False)


def _print_labels(console: Console, labels: dict[str, Any]) -> None:
    """Clips and recordings by label and split, the rarest labels first."""
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
