"""Tables of cases and miniatures that lie in files below tests/data."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import yaml

DATA = Path(__file__).resolve().parents[1] / "data"


def read_rows(name: str) -> list[dict[str, str]]:
    """The rows of a CSV file; lines that begin with # are notes."""
    with (DATA / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(line for line in file if not line.startswith("#")))


def read_data(name: str) -> Any:
    """What a YAML or JSON file holds: a table with a line a case, settings, or a description."""
    return yaml.safe_load((DATA / name).read_text(encoding="utf-8"))
