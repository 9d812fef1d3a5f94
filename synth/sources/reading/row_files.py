"""Files of rows, read without their sounds, and one sound at a time: Parquet and Arrow streams."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, Protocol, runtime_checkable

import pyarrow as pa
import pyarrow.parquet as pq

from synth.base.doors import require_regular
from synth.base.errors import ClipError, SourceError
from synth.sources.reading.files import stamp_of

DAMAGE: Final = (pa.ArrowException, OSError, ValueError)
"""What reading a damaged file raises: a text that is no UTF-8 is a ValueError."""

_BATCH: Final = 1024


@runtime_checkable
class OpenRows(Protocol):
    """An open file of rows."""

    @property
    def schema(self) -> pa.Schema:
        """The columns."""
        ...

    def texts(self, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, Any]]]:
        """Row numbers, from 0, and some of the columns."""
        ...

    def value(self, row: int, column: str) -> Any:
        """One value."""
        ...


def open_rows(path: Path) -> OpenRows:
    """A Parquet file, by its extension, or an Arrow stream; files are mapped, not read."""
    opened = ParquetRows if path.suffix == ".parquet" else StreamRows
    try:
        return opened.open(require_regular(path, refuse=SourceError))
    except FileNotFoundError as error:
        raise SourceError(f"{path}: not found", fix="check root") from error
    except DAMAGE as error:
        raise damage_error(path, error) from error


@dataclass(frozen=True, slots=True)
class ParquetRows:
    """Rows of a Parquet file."""

    path: Path
    stamp: str
    file: pq.ParquetFile

    @classmethod
    def open(cls, path: Path) -> ParquetRows:
        """Open a file."""
        stamp = stamp_of(path)
        return cls(path, stamp, _parquet(path, stamp))

    @property
    def schema(self) -> pa.Schema:
        """The columns."""
        return self.file.schema_arrow

    def texts(self, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, Any]]]:
        """Row numbers and some of the columns."""
        if not columns:
            return ((number, {}) for number in range(self.file.metadata.num_rows))
        return _number_rows(self.path, self.file.iter_batches(_BATCH, columns=list(columns)))

    def value(self, row: int, column: str) -> Any:
        """One value; the column's row group is kept for its neighbours."""
        first = 0
        for group in range(self.file.num_row_groups):
            rows = self.file.metadata.row_group(group).num_rows
            if row < first + rows:
                try:
                    return _column(self.path, self.stamp, group, column)[row - first].as_py()
                except DAMAGE as error:
                    raise ClipError(damage_error(self.path, error).message) from error
            first += rows
        raise ClipError(f"its table has {first} rows, row {row} was requested")


@dataclass(frozen=True, slots=True)
class StreamRows:
    """Rows of an Arrow stream, as `datasets` saves them."""

    path: Path
    table: pa.Table

    @classmethod
    def open(cls, path: Path) -> StreamRows:
        """Open a file."""
        return cls(path, _stream(path, stamp_of(path)))

    @property
    def schema(self) -> pa.Schema:
        """The columns."""
        return self.table.schema

    def texts(self, columns: Sequence[str]) -> Iterator[tuple[int, dict[str, Any]]]:
        """Row numbers and some of the columns."""
        if not columns:
            return ((number, {}) for number in range(self.table.num_rows))
        return _number_rows(self.path, self.table.select(list(columns)).to_batches(_BATCH))

    def value(self, row: int, column: str) -> Any:
        """One value."""
        if row >= self.table.num_rows:
            raise ClipError(f"its table has {self.table.num_rows} rows, row {row} was requested")
        try:
            return self.table[column][row].as_py()
        except DAMAGE as error:
            raise ClipError(damage_error(self.path, error).message) from error


def damage_error(path: Path, error: Exception) -> SourceError:
    """What Arrow says of a file, in one line."""
    return SourceError(
        f"{path}: cannot be read: {' '.join(str(error).split())}", fix="copy or download it again"
    )


def _number_rows(
    path: Path, batches: Iterable[pa.RecordBatch]
) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        yield from enumerate(row for batch in batches for row in batch.to_pylist())
    except DAMAGE as error:
        raise damage_error(path, error) from error


@lru_cache(maxsize=8)
def _parquet(path: Path, stamp: str) -> pq.ParquetFile:
    return pq.ParquetFile(path, memory_map=True)


@lru_cache(maxsize=8)
def _stream(path: Path, stamp: str) -> pa.Table:
    return pa.ipc.open_stream(pa.memory_map(str(path))).read_all()


@lru_cache(maxsize=1)
def _column(path: Path, stamp: str, group: int, column: str) -> pa.ChunkedArray:
    return _parquet(path, stamp).read_row_group(group, columns=[column])[column]
