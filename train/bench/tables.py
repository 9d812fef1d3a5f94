"""The tables of published benchmarks, with errors that name file, row and column."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from synth.base.errors import CorpusError, SourceError
from synth.sources.reading.tables import Columns, read_cells, read_rows


def header(path: Path) -> tuple[str, ...]:
    """The columns of a CSV file."""
    if not path.is_file():
        raise CorpusError(f"{path}: no such file", fix="give the benchmark's CSV file")
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            return tuple(next(csv.reader(file, strict=True), ()))
    except (UnicodeDecodeError, csv.Error) as error:
        raise CorpusError(f"{path}: {error}", fix="save it as CSV in UTF-8") from error


def rows(
    path: Path, required: Sequence[str], fix: str, optional: Sequence[str] = ()
) -> Iterator[tuple[int, Mapping[str, str]]]:
    """The rows of a CSV file and their numbers, that of the header being 1.

    Args:
        path: The file, in UTF-8.
        required: Columns that must be there and hold something in every row.
        fix: What to tell a user whose file lacks one.
        optional: Columns that may be there, and then hold something in every row.
    """
    columns = Columns(tuple(required), fix, tuple(optional))
    try:
        for number, row in enumerate(read_rows(path, columns), start=2):
            for column in (*required, *(name for name in optional if name in row)):
                if not row[column].strip():
                    raise CorpusError(
                        f"{path}: row {number}: {column!r} is empty",
                        fix="fill it in, or remove the row",
                    )
            yield number, row
    except SourceError as error:
        raise CorpusError(error.message, fix=error.fix) from error


def unnamed_rows(
    path: Path, columns: Sequence[str], fix: str
) -> Iterator[tuple[int, Mapping[str, str]]]:
    """The rows of a CSV file that has no header, and their numbers.

    Args:
        path: The file, in UTF-8.
        columns: What its columns are; each holds something in every row.
        fix: What to tell a user whose file is another.
    """
    try:
        for number, cells in read_cells(path, fix):
            if len(cells) != len(columns) or not all(cell.strip() for cell in cells):
                raise CorpusError(
                    f"{path}: line {number}: is not of {', '.join(columns)}, each filled in",
                    fix=fix,
                )
            yield number, dict(zip(columns, cells, strict=True))
    except SourceError as error:
        raise CorpusError(error.message, fix=error.fix) from error
