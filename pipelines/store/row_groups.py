"""Row groups of manifests: each holds whole shards and is long enough to be worth its footer.

A Parquet file of very many row groups is slow to open: each takes a kilobyte a column, whoever
reads one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from synth.base.atomic import file_state

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
