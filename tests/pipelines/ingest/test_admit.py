"""Admission over columns decides as it would row by row."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest

from pipelines.ingest.admission import Admission
from pipelines.ingest.parts import LISTED_ROWS
from pipelines.store.row_file import RowFile
from synth.corpus.schema import to_table
from synth.sources.block import BlockList, tally, withdraw_blocked
from synth.sources.catalogue import quarantine_row
from synth.sources.reading.collected import unheard_row
from synth.sources.selection import Allowed, SplitRule, assign_splits, withdraw_unlicensed

Rows = list[dict[str, Any]]
SHARES = (SplitRule("train", 0.7), SplitRule("test", 0.2))
FOLDS = (SplitRule("train", source_splits=("1", "2")), SplitRule("test", source_splits=("3",)))


def draw_rows(count: int, seed: int) -> Rows:
    """Clips of which some are copies, and some are of divided or blocked recordings."""
    rng = Random(seed)
    return [
        unheard_row(1.0, str(rng.randrange(count)))
        | {
            "id": f"lib/{number}",
            "source": "lib",
            "location": f"{number}.wav",
            "labels": [],
            "captions": [],
            "tags": [],
            "split": "",
            "source_split": rng.choice("1234"),
            "recording": f"r{rng.randrange(count)}",
            "licence": rng.choice(["CC0-1.0", "CC-BY-4.0", "unknown"]),
            "attribution": "",
        }
        for number in range(count)
    ]


def withdraw_copies(rows: Rows) -> tuple[Rows, Rows]:
    """The first of each sound is kept."""
    first: dict[Any, Any] = {}
    for row in rows:
        first.setdefault(row["sha256"], row)
    withdrawn = [
        quarantine_row(row["id"], row["location"], "ingest", f"is the same sound as {kept}")
        for row in rows
        if (kept := first[row["sha256"]]["location"]) != row["location"]
    ]
    return list(first.values()), withdrawn


def admit_row_by_row(admission: Admission, rows: Rows) -> tuple[Rows, Rows, Any]:
    """The oracle, which holds all rows at once."""
    left, withdrawn = rows, []
    if admission.allowed is not None:
        left, withdrawn = withdraw_unlicensed(left, admission.allowed)
    left, blocked = withdraw_blocked(left, admission.blocks)
    left, copies = withdraw_copies(left)
    divided = assign_splits(left, admission.split_rules, admission.seed)
    outside = {row["id"] for row in divided}
    kept = [row for row in left if row["id"] not in outside]
    told = tally(admission.blocks, rows, blocked)
    return kept, withdrawn + blocked + copies + divided, told


@pytest.mark.parametrize("count", [0, 1, 20, 700])
@pytest.mark.parametrize("rules", [SHARES, FOLDS])
@pytest.mark.parametrize("strict", [False, True])
def test_columns_are_admitted_as_rows(
    tmp_path: Path, count: int, rules: tuple[SplitRule, ...], strict: bool
) -> None:
    listed = tmp_path / "block.txt"
    listed.write_text("r3\nlib/5\nnobody\n")
    blocks = [BlockList.open(listed)] if strict else []
    allowed = Allowed.of(["CC0", "CC-BY"]) if strict else None
    admission = Admission(allowed, blocks, rules, 7)
    rows = draw_rows(count, seed=count)
    found = admission.admit(RowFile.write(tmp_path, LISTED_ROWS, [to_table(rows, LISTED_ROWS)]))
    kept, withdrawn, told = admit_row_by_row(admission, rows)
    assert [
        (row["id"], split)
        for row, split, is_kept in zip(rows, found.splits, found.kept, strict=True)
        if is_kept
    ] == [(row["id"], row["split"]) for row in kept]
    assert found.withdrawn == withdrawn
    assert found.blocked == told
