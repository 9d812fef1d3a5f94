"""Rows that need no memory: an Arrow file without a name, mapped, that ends with its last reader.

A row as a Python object takes ten times what it takes here, and a million rows are too many even
for Arrow's own form. Pages that were read are given back, so that they do not pile up.
"""

from __future__ import annotations

import mmap
import tempfile
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import Int

from synth.base.atomic import file_state, translate_disk_errors

BATCH_ROWS: Final = 256


class RowFile:
    """Rows of one schema; those that are asked for are dictionaries."""

    def __init__(self, folder: Path, mapped: mmap.mmap) -> None:
        self.folder = folder
        self._map = mapped
        reader = pa.ipc.open_file(pa.py_buffer(mapped))
        self._batches = [reader.get_batch(at) for at in range(reader.num_record_batches)]
        self._ends = list(accumulate(batch.num_rows for batch in self._batches))
        self.schema: pa.Schema = reader.schema

    @classmethod
    def write(cls, folder: Path, schema: pa.Schema, tables: Iterable[pa.Table]) -> Self:
        """Write rows.

        Args:
            folder: On the disk that has room for them.
            tables: The rows, in tables of any length.
        """
        folder.mkdir(parents=True, exist_ok=True)
        with translate_disk_errors(folder), tempfile.TemporaryFile(dir=folder) as file:
            with pa.ipc.new_file(file, schema) as writer:
                for batch in _rebatch(tables):
                    writer.write_batch(batch)
            file.flush()
            return cls(folder, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))

    def batches(self, columns: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """Views of the rows, `BATCH_ROWS` and fewer at a time; by default of all columns."""
        for batch in self._batches:
            yield batch.select(list(columns)) if columns else batch
            self.give_back()

    def rows(self, *columns: str) -> Iterator[dict[str, Any]]:
        """Each row; of some columns, or of all where none is named."""
        for batch in self.batches(columns):
            yield from batch.to_pylist()

    def give_back(self) -> None:
        """Let go of the pages that were read; they can be read again."""
        if hasattr(mmap, "MADV_DONTNEED"):
            self._map.madvise(mmap.MADV_DONTNEED)

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return self.rows()

    def row(self, number: int, *columns: str) -> dict[str, Any]:
        """One row; of some columns, or of all where none is named."""
        at = bisect_right(self._ends, number)
        batch = self._batches[at]
        start = self._ends[at] - batch.num_rows
        names = columns or self.schema.names
        return {name: batch.column(name)[number - start].as_py() for name in names}


def _rebatch(tables: Iterable[pa.Table]) -> Iterator[pa.RecordBatch]:
    """The same rows in batches of `BATCH_ROWS`, but for the last."""
    waiting: list[pa.Table] = []
    count = 0
    for table in tables:
        waiting.append(table)
        count += table.num_rows
        if count >= BATCH_ROWS:
            whole = count - count % BATCH_ROWS
            joined = pa.concat_tables(waiting)
            yield from joined.slice(0, whole).combine_chunks().to_batches(BATCH_ROWS)
            waiting, count = [joined.slice(whole)], count - whole
    if count:
        yield from pa.concat_tables(waiting).combine_chunks().to_batches()


# Row groups of manifests: each holds whole shards and is long enough to be worth its footer.


LEAST_ROWS: Final = 1024


class ShardTables:
    """Writes the tables of shards, several a row group until it has `LEAST_ROWS`."""

    def __init__(self, writer: pq.ParquetWriter) -> None:
        self._writer = writer
        self._tables: list[pa.Table] = []
        self._rows = 0
        self._groups = 0

    def add(self, table: pa.Table) -> tuple[int, int]:
        """Take a shard's table. Returns its row group, and its first row in that."""
        if self._rows >= LEAST_ROWS:
            self.flush()
        place = self._groups, self._rows
        self._tables.append(table)
        self._rows += table.num_rows
        return place

    def flush(self) -> None:
        """End the row group; needed once at the end."""
        if self._tables:
            joined = pa.concat_tables(self._tables)
            self._writer.write_table(joined, row_group_size=joined.num_rows)
            self._tables, self._rows = [], 0
            self._groups += 1


def read_batches(path: Path, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Some columns of a manifest of any length, in batches of at most `LEAST_ROWS` rows."""
    with pq.ParquetFile(path) as file:
        yield from file.iter_batches(LEAST_ROWS, columns=list(columns))


def take_rows(
    file: pq.ParquetFile,
    positions: Int[np.ndarray, " rows"],
    columns: Sequence[str] | None = None,
) -> Iterator[dict[str, Any]]:
    """The rows of a manifest of any length at ascending positions."""
    start = 0
    for group in range(file.num_row_groups):
        end = start + file.metadata.row_group(group).num_rows
        first, last = np.searchsorted(positions, (start, end))
        if first < last:
            rows = file.read_row_group(group, columns=columns)
            yield from rows.take(positions[first:last] - start).to_pylist()
        start = end


def read_columns(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Some columns of a file, or all; `read_table` imports pyarrow.dataset, and pandas with it."""
    with pq.ParquetFile(path) as file:
        return file.read(columns=None if columns is None else list(columns))


def read_rows(path: Path, row_group: int, row: int, rows: int) -> pa.Table:
    """The rows of one shard; the row group that was read last is kept.

    Args:
        row: The first of them in the row group.
    """
    return _read_group(path, file_state(path), row_group).slice(row, rows)


@lru_cache(maxsize=1)
def _read_group(path: Path, state: tuple[int, ...], row_group: int) -> pa.Table:
    with pq.ParquetFile(path, metadata=_read_metadata(path, state)) as file:
        return file.read_row_group(row_group)


@lru_cache(maxsize=1)
def _read_metadata(path: Path, state: tuple[int, ...]) -> Any:
    return pq.read_metadata(path)
