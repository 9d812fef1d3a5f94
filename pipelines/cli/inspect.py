"""`segue inspect`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from pipelines.cli.options import CorpusArgument, JsonOption
from pipelines.cli.show import print_json
from pipelines.inspection import describe, draw, draw_captions, rebuild, verify
from synth.corpus import Corpus


def inspect_command(
    corpus: CorpusArgument,
    samples: Annotated[int, typer.Option(min=0, help="Samples to show, drawn evenly.")] = 5,
    check: Annotated[
        bool,
        typer.Option("--verify", help="Hash every shard, and rebuild the samples shown."),
    ] = False,
    save: Annotated[
        Path | None, typer.Option(help="Folder to save the shown samples' audio in.")
    ] = None,
    captions: Annotated[
        int, typer.Option(min=0, help="Print so many captions drawn at random, and nothing else.")
    ] = 0,
    seed: Annotated[int, typer.Option(min=0, help="Of the captions' draw.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Show what was built or planned: counts, durations, balance, samples, checks.

    Example: `segue inspect data_manifests/acba --samples 3 --verify`
    """
    if captions:
        drawn = draw_captions(corpus, captions, seed)
        if as_json:
            print_json({"captions": drawn})
        else:
            print("\n".join(drawn))
        return
    facts = describe(corpus)
    rows = draw(corpus, samples)
    if check:
        facts["checks"] = verify(Corpus.open(corpus), rows)
    paths = [str(rebuild(Corpus.open(corpus), row, save)) for row in rows] if save else []
    if as_json:
        print_json({**facts, "samples": [_shown(row) for row in rows], "saved": paths})
        return
    _print(facts, rows, paths)


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "id": row["id"],
        "notation": row["notation"],
        "caption": row["caption"],
        "positives": [caption["text"] for caption in row["positives"]],
        "negatives": [f"{caption['text']} [{caption['kind']}]" for caption in row["negatives"]],
        "seconds": round(row["frames"] / row["sample_rate"], 3),
    }


def _print(facts: dict[str, Any], rows: list[dict[str, Any]], paths: list[str]) -> None:
    console = Console(soft_wrap=True, highlight=False)
    console.print(f"[bold]{facts['corpus']}[/] {facts['version']}  recipe {facts['recipe']}")
    for name, counts in facts["counts"].items():
        table = Table(name, *next(iter(counts.values())).keys())
        for key, values in counts.items():
            table.add_row(escape(key), *(f"{value:,}" for value in values.values()))
        console.print(table)
    clips = facts["clips"]
    console.print(
        f"{clips['used']:,} of {clips['catalogued']:,} clips are heard, {clips['refused']:,} were "
        f"quarantined; {facts['with a negative']:.1%} of the samples have a negative"
    )
    if clips["refused"]:
        console.print(f"quarantined clips: {facts['quarantine']}", markup=False)
    for name, value in facts.get("checks", {}).items():
        console.print(f"{name}: {value}", markup=False)
    for row in rows:
        shown = _shown(row)
        console.print(f"\n[bold]{shown['id']}[/]  {shown['seconds']} s  ", end="")
        console.print(shown["notation"], markup=False)
        console.print(f"  caption   {shown['caption']}", markup=False)
        for text in shown["positives"]:
            console.print(f"  true      {text}", markup=False)
        for text in shown["negatives"]:
            console.print(f"  false     {text}", markup=False)
    for path in paths:
        console.print(f"saved {path}", markup=False)
