"""Counts what two judges said of the texts of `tests/data/judged/heldout.csv`, as JSON.

    python -m benchmarks.figures.tally DATA

Beside it: the share of captions that each operation skips (`python -m benchmarks.judging count`).
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path
from typing import Any, Final

from sklearn.metrics import cohen_kappa_score

from benchmarks.judging import PARTS, Sheets, count

SHEET: Final = Path(__file__).resolve().parents[2] / "tests" / "data" / "judged" / "heldout.csv"


def tally(rows: list[dict[str, str]]) -> dict[str, Any]:
    """How many texts each judge called wrong, by operation and data set, and how far they agree."""
    wrong: dict[str, dict[str, int]] = {}
    for row in rows:
        key = f"{row['operation']}, {row['dataset']}"
        counts = wrong.setdefault(key, {"texts": 0, "twice": 0, "first": 0, "second": 0})
        counts["texts"] += 1
        counts["twice"] += row["second"] != ""
        counts["first"] += row["verdict"] == "bad"
        counts["second"] += row["second"] == "bad"
    twice = [row for row in rows if row["second"]]
    first, second = ([row[judge] for row in twice] for judge in ("verdict", "second"))
    agreed = sum(a == b for a, b in zip(first, second, strict=True))
    return {
        "texts": len(rows),
        "twice": len(twice),
        "agreed": agreed / len(twice),
        "kappa": float(cohen_kappa_score(first, second)),
        "wrong": wrong,
    }


def skipped(data: Path) -> dict[str, float]:
    """The percentage of captions that an operation skips of those that it could change."""
    rows = [line.strip("| ").split(" | ") for line in count(Sheets(data, PARTS[0]))][2:]
    return {f"{row[0]}, {row[1]}": float(row[3].rstrip("%")) for row in rows}


if __name__ == "__main__":
    with SHEET.open(encoding="utf-8", newline="") as file:
        counts = tally(list(csv.DictReader(file)))
    print(json.dumps(counts | {"skipped": skipped(Path(sys.argv[1]))}))
