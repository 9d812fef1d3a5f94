"""Rows of a manifest by their place or their id, read a row group at a time."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from synth.corpus.validation import explain_damage

MOST_BYTES: Final = 256 << 20
"""Of the row groups that are kept."""

_PLACES_KEPT: Final = 1 << 12


@dataclass(frozen=True, slots=True)
class _KeptGroup:
    """A row group that is kept: which one, and which of its columns."""

    group: int
    columns: tuple[str, ...] | None


class ManifestRows:
    """The rows of a Parquet file; thread-safe. Row groups that were read last are kept.

    Args:
        path: The file, which has a column `id`.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        with explain_damage(path):
            self.metadata: pq.FileMetaData = pq.read_metadata(path)
        groups = range(self.metadata.num_row_groups)
        sizes = [self.metadata.row_group(at).num_rows for at in groups]
        self._starts: NDArray[np.int64] = np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])
        self._kept: OrderedDict[_KeptGroup, pa.Table] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()
        self._found = lru_cache(_PLACES_KEPT)(self._find)

    def find(self, name: str) -> int | None:
        """The place of the row with an id; None where there is none."""
        return self._found(name)

    def _find(self, name: str) -> int | None:
        place = int(pc.index(self._ids, name).as_py())
        return None if place < 0 else place

    @cached_property
    def _ids(self) -> pa.ChunkedArray:
        with explain_damage(self._path):
            return pq.read_table(self._path, columns=["id"]).column("id")

    def take(
        self, places: Sequence[int] | NDArray[np.int64], columns: tuple[str, ...] | None = None
    ) -> list[dict[str, Any]]:
        """The rows at some ascending places.

        Args:
            places: Counted from 0.
            columns: Names of columns, or paths of their leaves; None for all.
        """
        rows: list[dict[str, Any]] = []
        groups = np.searchsorted(self._starts, places, side="right") - 1
        for group in dict.fromkeys(groups.tolist()):
            own = [
                int(place) - int(self._starts[group])
                for place, its in zip(places, groups, strict=True)
                if its == group
            ]
            rows += self._read(_KeptGroup(group, columns)).take(own).to_pylist()
        return rows

    def find_equal(self, place: int, names: Sequence[str]) -> list[int]:
        """The places near a row, itself among them, of rows that have the same values.

        Near is the row's own row group and its neighbours as far as they hold the first value.

        Args:
            names: Of columns of text.
        """
        here = int(np.searchsorted(self._starts, place, side="right")) - 1
        (row,) = self.take([place], tuple(names))
        groups = [here]
        for step in (-1, 1):
            group = here + step
            while 0 <= group < len(self._starts) - 1 and self._may_hold(group, row, names[0]):
                groups.append(group)
                group += step
        found: list[int] = []
        for group in sorted(groups):
            table = self._read(_KeptGroup(group, tuple(names)))
            mask = pc.equal(table[names[0]], row[names[0]])
            for name in names[1:]:
                mask = pc.and_(mask, pc.equal(table[name], row[name]))
            start = int(self._starts[group])
            found += [start + at for at in pc.indices_nonzero(mask).to_pylist()]
        return found

    def _may_hold(self, group: int, row: dict[str, Any], name: str) -> bool:
        """Whether a row group may hold a row's value of a column, as far as its statistics say."""
        columns = self.metadata.row_group(group)
        at = self.metadata.schema.names.index(name)
        statistics = columns.column(at).statistics
        if statistics is None or not statistics.has_min_max:
            return False
        return bool(statistics.min <= row[name] <= statistics.max)

    def _read(self, part: _KeptGroup) -> pa.Table:
        with self._lock:
            table = self._kept.get(part)
            if table is not None:
                self._kept.move_to_end(part)
                return table
        with explain_damage(self._path), pq.ParquetFile(self._path) as file:
            chosen = None if part.columns is None else list(part.columns)
            table = file.read_row_group(part.group, columns=chosen, use_threads=False)
        with self._lock:
            if part not in self._kept:
                self._bytes += table.nbytes
            self._kept[part] = table
            while self._bytes > MOST_BYTES and len(self._kept) > 1:
                _, oldest = self._kept.popitem(last=False)
                self._bytes -= oldest.nbytes
        return table
