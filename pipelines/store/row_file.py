"""Rows that need no memory: an Arrow file without a name, mapped, that ends with its last reader.

A row as a Python object takes ten times what it takes here, and a million rows are too many even
for Arrow's own form. Pages that were read are given back, so that they do not pile up.
"""

from __future__ import annotations

import mmap
import tempfile
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any, Final, Self, overload

import pyarrow as pa

from synth.base.atomic import translate_disk_errors

BATCH_ROWS: Final = 256


class RowFile(Sequence[dict[str, Any]]):
    """Rows of one schema; as a sequence they are dictionaries, made as they are asked for."""

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
        """Views of the rows, `BATCH_ROWS` and fewer at a time.

        Args:
            columns: Those that are wanted, all by default.
        """
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

    @overload
    def __getitem__(self, at: int) -> dict[str, Any]: ...

    @overload
    def __getitem__(self, at: slice) -> list[dict[str, Any]]: ...

    def __getitem__(self, at: int | slice) -> dict[str, Any] | list[dict[str, Any]]:
        if isinstance(at, slice):
            return [self[each] for each in range(*at.indices(len(self)))]
        return self.row(range(len(self))[at])

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
