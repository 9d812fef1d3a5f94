"""Read a library's index, CSV or Parquet, with errors that name file, row and column."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from synth.errors import SourceError
from synth.sources.base import require_file


def read_rows(path: Path, columns: Sequence[str], mend: str) -> Iterator[dict[str, str]]:
    """The rows of a CSV or Parquet file as text, nulls as "".

    Args:
        path: `.parquet` files are read as Parquet, others as CSV in UTF-8 (with or without BOM).
        columns: Columns that must be there; others are passed on.
        mend: What to tell a user whose file is missing or lacks a column.

    Raises:
        SourceError: If the file is missing, lacks a column, or a row has too few or many fields.
    """
    require_file(path, "the index", mend)
    read = _parquet_rows if path.suffix == ".parquet" else _csv_rows
    yield from read(path, columns, mend)


def _parquet_rows(path: Path, columns: Sequence[str], mend: str) -> Iterator[dict[str, str]]:
    try:
        file = pq.ParquetFile(path)
    except pa.ArrowInvalid as error:
        raise SourceError(f"{path}: not a Parquet file: {error}", mend=mend) from error
    missing = [name for name in columns if name not in file.schema_arrow.names]
    if missing:
        raise SourceError(f"{path}: no column {', '.join(map(repr, missing))}", mend=mend)
    for batch in file.iter_batches(batch_size=4096):
        for row in batch.to_pylist():
            yield {key: _text(value) for key, value in row.items()}


def _text(value: object) -> str:
    if value is None:
        return ""
    return ";".join(map(str, value)) if isinstance(value, list) else str(value)


def _csv_rows(path: Path, columns: Sequence[str], mend: str) -> Iterator[dict[str, str]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            missing = [name for name in columns if name not in (reader.fieldnames or ())]
            if missing:
                raise SourceError(
                    f"{path}: row 1: no column {', '.join(map(repr, missing))}", mend=mend
                )
            for row in reader:
                if None in row or None in row.values():
                    fields = len(reader.fieldnames or ())
                    raise SourceError(
                        f"{path}: line {reader.line_num}: expected {fields} fields",
                        mend="quote fields that hold commas or line breaks",
                    )
                yield row
    except (UnicodeDecodeError, csv.Error) as error:
        raise SourceError(f"{path}: {error}", mend="save it as CSV in UTF-8") from error
