"""The licence ledger of a corpus: ATTRIBUTION.csv, and what `corpus.json` says of licences."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from pipelines.store.row_groups import read_batches
from synth.base.atomic import replacing
from synth.corpus.licence import effective_licence, parse_licence

COLUMNS: Final = (
    "clip",
    "recording",
    "licence",
    "licence_url",
    "attribution",
    "source",
    "location",
)

# The full-width forms are read as the plain ones in some locales.
_FORMULA: Final = re.compile(
    "'*[=+\\-@\t\r\n\N{FULLWIDTH EQUALS SIGN}\N{FULLWIDTH PLUS SIGN}"
    "\N{FULLWIDTH HYPHEN-MINUS}\N{FULLWIDTH COMMERCIAL AT}]"
)


def used_clips(clips: Iterable[Mapping[str, Any]], samples: Path) -> list[Mapping[str, Any]]:
    """The clips that a sample uses.

    Args:
        clips: Rows of `schema.CLIPS`.
        samples: A Parquet file with the columns of `schema.PLAN`.
    """
    used: set[str] = set()
    for batch in read_batches(samples, ["clips"]):
        used.update(batch["clips"].flatten().to_pylist())
    return [clip for clip in clips if clip["id"] in used]


def write_attribution(clips: Iterable[Mapping[str, Any]], path: Path) -> None:
    """Write one row a clip, in the order of the clips' ids: equal clips give equal bytes.

    CSV as in RFC 4180: UTF-8, CRLF, quotes where they are needed. A cell that a spreadsheet would
    take for a formula, because it begins with `=`, `+`, `-`, `@`, a tab or a line break, gets an
    apostrophe in front, which spreadsheets take as "this is text"; so does one that begins so after
    apostrophes of its own. `plain_cell` takes it away again.

    Args:
        clips: Rows of `schema.CLIPS`: those that samples use (`read_used_clips`).
        path: The file, replaced whole or not at all.
    """
    rows = sorted(_row(clip) for clip in clips)
    with replacing(path) as partial, partial.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\r\n")
        writer.writerow(COLUMNS)
        writer.writerows(map(safe_cell, row) for row in rows)


def licence_facts(clips: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What `corpus.json` says of licences.

    Args:
        clips: Rows of `schema.CLIPS`: those that samples use (`read_used_clips`).

    Returns:
        `licence`: id of the one licence that a work of all these clips could be under;
        `licence_reason`: why there is none, else ""; `licences`: clips by licence id.
    """
    licences = [parse_licence(clip["licence"]) for clip in clips]
    whole = effective_licence(licences)
    counts = Counter(licence.id for licence in licences)
    return {
        "licence": whole.id,
        "licence_reason": whole.reason,
        "licences": dict(sorted(counts.items())),
    }


def safe_cell(text: str) -> str:
    """`text` as a cell that no spreadsheet takes for a formula."""
    return f"'{text}" if _FORMULA.match(text) else text


def plain_cell(cell: str) -> str:
    """The text that `safe_cell` made a cell of."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def _row(clip: Mapping[str, Any]) -> tuple[str, ...]:
    licence = parse_licence(clip["licence"])
    return (
        clip["id"],
        clip["recording"],
        licence.id,
        licence.url,
        clip["attribution"],
        clip["source"],
        clip["location"],
    )
