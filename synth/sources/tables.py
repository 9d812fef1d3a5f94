"""Read a library's index, CSV or Parquet, with errors that name file, row and column."""

from __future__ import annotations

import csv
import difflib
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from synth.errors import SourceError
from synth.sources.base import require_file


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of an index.

    Args:
        required: Those that must be there.
        optional: Those that may be; a column whose name is nearly one of these is an error.
        mend: What to tell a user whose file is missing or lacks a column.
    """

    required: tuple[str, ...]
    mend: str
    optional: tuple[str, ...] = ()

    def check(self, found: Collection[str], where: str) -> None:
        """Refuse a header that lacks a column, or misspells one.

        Raises:
            SourceError: If it does.
        """
        missing = [name for name in self.required if name not in found]
        if missing:
            raise SourceError(f"{where}: no column {', '.join(map(repr, missing))}", mend=self.mend)
        known = (*self.required, *self.optional)
        for name in found:
            near = difflib.get_close_matches(name.strip().lower(), known, 1, cutoff=0.8)
            if name not in known and near and near[0] not in found:
                raise SourceError(
                    f"{where}: column {name!r} is not known, {near[0]!r} would be",
                    mend=f"rename it to {near[0]!r}, or to something else if it is not meant",
                )


def read_rows(path: Path, columns: Columns) -> Iterator[dict[str, str]]:
    """The rows of a CSV or Parquet file as text, nulls as "".

    Args:
        path: `.parquet` files are read as Parquet, others as CSV in UTF-8 (with or without BOM).
        columns: Columns that are looked for; others are passed on.

    Raises:
        SourceError: If the file is missing, lacks or misspells a column, or a row has too few or
            many fields.
    """
    require_file(path, "the index", columns.mend)
    read = _parquet_rows if path.suffix == ".parquet" else _csv_rows
    yield from read(path, columns)


def _parquet_rows(path: Path, columns: Columns) -> Iterator[dict[str, str]]:
    try:
        file = pq.ParquetFile(path)
    except pa.ArrowInvalid as error:
        raise SourceError(f"{path}: not a Parquet file: {error}", mend=columns.mend) from error
    columns.check(file.schema_arrow.names, str(path))
    for batch in file.iter_batches(batch_size=4096):
        for row in batch.to_pylist():
            yield {key: _text(value) for key, value in row.items()}


def _text(value: object) -> str:
    if value is None:
        return ""
    return ";".join(map(str, value)) if isinstance(value, list) else str(value)


def _csv_rows(path: Path, columns: Columns) -> Iterator[dict[str, str]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file, strict=True)
            columns.check(reader.fieldnames or (), f"{path}: row 1")
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
