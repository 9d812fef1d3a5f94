"""The sheet of texts that were judged by hand: they still come out, and few are wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks.judging import AUDIOCAPS, JAMENDO, LP, PARTS, Sheets, is_held_out
from tests.kit.cases import cases
from tests.kit.tables import read_rows

ROWS = read_rows("judged/heldout.csv")
OPERATIONS = sorted({row["operation"] for row in ROWS})


@cases("operation", [OPERATIONS[0]])
def test_judged_texts_still_come_out(operation: str, shared_data: Callable[[str], Path]) -> None:
    judge(operation, shared_data)


@pytest.mark.slow
@cases("operation", OPERATIONS[1:])
def test_judged_texts_of_all_operations_still_come_out(
    operation: str, shared_data: Callable[[str], Path]
) -> None:
    judge(operation, shared_data)


def judge(operation: str, shared_data: Callable[[str], Path]) -> None:
    for dataset in (AUDIOCAPS, JAMENDO, LP):
        shared_data(dataset)
    rows = [row for row in ROWS if row["operation"] == operation]
    ids = {part for row in rows for part in row["id"].split("+")}
    sheets = Sheets(shared_data(AUDIOCAPS).parent, PARTS[0], only={operation: ids})
    made = {
        (each.dataset, each.id): each.row["order"]
        for each in sheets.operations()[operation]()
        if each.text
    }
    for row in rows:
        assert made.get((row["dataset"], row["id"])) == row["order"], row


@cases("operation", OPERATIONS)
@cases(("verdict", "reason"), [("verdict", "reason"), ("second", "second_reason")])
def test_at_most_one_in_twenty_is_wrong(operation: str, verdict: str, reason: str) -> None:
    rows = [row for row in ROWS if row["operation"] == operation]
    verdicts = Counter(row[verdict] for row in rows)
    assert len(rows) >= 30
    assert set(verdicts) <= {"good", "bad", *([""] if verdict == "second" else [])}
    assert verdicts["bad"] <= 0.05 * len(rows)
    assert all(bool(row[reason]) is (row[verdict] == "bad") for row in rows)


def test_the_sheet_holds_ids_and_positions_of_captions_held_out() -> None:
    assert all(is_held_out(part) for row in ROWS for part in row["id"].split("+"))
    assert len(OPERATIONS) == 9
