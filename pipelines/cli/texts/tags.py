"""`segue text negate`, `segue text tag-captions` and `segue text textswap`."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, TypeAlias

import typer
from rich.markup import escape
from rich.table import Table

from pipelines.cli.common.show import print_read, say
from synth.base.command import CommandResult
from synth.base.doors import make_console
from synth.base.progress import Observer
from synth.captions.caption import Style
from synth.text.negation.negators import NegationExtent

if TYPE_CHECKING:
    from pipelines.export import ToolReport

OutFile: TypeAlias = Annotated[
    Path, typer.Option("--out", help="The Parquet file to write.", dir_okay=False)
]
SeedOption: TypeAlias = Annotated[int, typer.Option(min=0, max=2**64 - 1, help="The seed.")]
StyleOption: TypeAlias = Annotated[
    Style, typer.Option(help="Wording of the papers, or natural sentences.")
]


class Modes(StrEnum):
    """What `segue text negate` makes."""

    INSERT = "insert"
    HALF = "half"
    FULL = "full"
    ALL = "all"


_MODES: Final[dict[Modes, tuple[NegationExtent, ...]]] = {
    Modes.INSERT: (NegationExtent.INSERT,),
    Modes.HALF: (NegationExtent.HALF,),
    Modes.FULL: (NegationExtent.FULL,),
    Modes.ALL: tuple(NegationExtent),
}


def negate_command(
    captions: Path,
    out: OutFile,
    vocabulary: Annotated[Path, typer.Option()],
    style: StyleOption = Style.NATURAL,
    mode: Modes = Modes.ALL,
    seed: SeedOption = 0,
    *,
    observer: Observer,
) -> CommandResult:
    """Negate captions: deny an absent tag, or half or all of a caption's tags.

    Example: `segue text negate captions.csv --vocabulary tags.json --out no.parquet --mode full`

    Args:
        captions: Captions: CSV, Parquet of `tag-captions`, LP-MusicCaps JSON.
        vocabulary: Tags: JSON list, MTG-Jamendo TSV, MusicCaps or CSV.
        mode: How much of a caption to negate.
    """
    from pipelines.export import write_negated_file

    modes = _MODES[mode]
    report = write_negated_file(captions, vocabulary, out, modes, style, seed, observer)
    return CommandResult(report.to_json(), partial(_show, report, "mode and outcome"))


def tag_captions_command(
    tags: Path,
    out: OutFile,
    style: StyleOption = Style.NATURAL,
    views: Annotated[int, typer.Option(min=0, max=100)] = 10,
    per_category: Annotated[int, typer.Option(min=1)] = 3,
    seed: SeedOption = 0,
    *,
    observer: Observer,
) -> CommandResult:
    """Write captions from tags: one of all tags per item, and balanced partial views.

    Example: `segue text tag-captions autotagging.tsv --out captions.parquet --views 10`

    Args:
        tags: Tags by item: MTG-Jamendo TSV, MusicCaps, CSV.
        views: Partial views per item.
        per_category: Most tags of one category in a view.
    """
    from pipelines.export import write_caption_file

    report = write_caption_file(tags, out, style, views, per_category, seed, observer)
    return CommandResult(report.to_json(), partial(_show, report, "rows"))


def textswap_command(
    vocabulary: Path,
    out: OutFile,
    max_share: Annotated[float, typer.Option(min=0, max=1)] = 0.05,
    *,
    observer: Observer,
) -> CommandResult:
    """Make a TextSwap dictionary: the contraries of every tag, and why other tags are none.

    Example: `segue text textswap autotagging.tsv --out textswap.parquet`

    Args:
        vocabulary: Tags: JSON list, MTG-Jamendo TSV, MusicCaps or CSV.
        max_share: Share of the rarer tag's items that may have both tags.
    """
    from pipelines.export import write_textswap_file

    report = write_textswap_file(vocabulary, out, max_share, observer)
    return CommandResult(report.to_json(), partial(_show, report, "pairs"))


def _show(report: ToolReport, unit: str) -> None:
    table = Table(unit, "count")
    for name, count in report.counts.items():
        table.add_row(escape(name), f"{count:,}")
    make_console().print(table)
    say(f"{report.path}: {report.rows:,} rows")
    print_read(report.path)
