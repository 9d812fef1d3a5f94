"""Rows of a file that a user gives: CSV, Parquet, JSON lines or a JSON list of objects."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.parquet as pq

from synth.base.doors import parse_json, read_json_lines, read_text, require_regular
from synth.base.errors import SourceError, first_line

DataRow: TypeAlias = Mapping[str, Any]
DATA_FILES: Final = "a .csv, .parquet, .jsonl or .json file"


def read_data_file(path: Path, kinds: str = DATA_FILES) -> Iterator[tuple[str, DataRow]]:
    """The rows of a file, each with its place: "line 3", "row 2".

    Args:
        kinds: What else would do, for errors.
    """
    if not require_regular(path, refuse=SourceError).exists():
        raise SourceError(f"{path}: no such file", fix=f"name {kinds}")
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise SourceError(f"{path}: unknown kind of file", fix=f"give {kinds}")
    try:
        yield from reader(path)
    except (ValueError, csv.Error, pa.ArrowException) as error:
        reason = first_line(error)
        raise SourceError(f"{path}: cannot be read: {reason}", fix="fix the file") from error


def number_rows(rows: Iterable[DataRow]) -> Iterator[tuple[str, DataRow]]:
    """Rows with their places, from 1."""
    for number, values in enumerate(rows, start=1):
        yield f"row {number}", values


def _read_csv(path: Path) -> Iterator[tuple[str, DataRow]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        reader = csv.DictReader(file, strict=True)
        for values in reader:
            yield f"line {reader.line_num}", values


def _read_parquet(path: Path) -> Iterator[tuple[str, DataRow]]:
    return number_rows(pq.read_table(path).to_pylist())


def _read_jsonl(path: Path) -> Iterator[tuple[str, DataRow]]:
    for where, value in read_json_lines(path, refuse=SourceError, fix="fix the line"):
        yield where.removeprefix(f"{path}: "), value


def _read_json(path: Path) -> Iterator[tuple[str, DataRow]]:
    text = read_text(path, refuse=SourceError)
    rows = parse_json(text, str(path), refuse=SourceError, fix="fix the file")
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise ValueError("a list of objects was expected")
    return number_rows(rows)


_READERS: Final[Mapping[str, Callable[[Path], Iterator[tuple[str, DataRow]]]]] = {
    ".csv": _read_csv,
    ".parquet": _read_parquet,
    ".jsonl": _read_jsonl,
    ".json": _read_json,
}
