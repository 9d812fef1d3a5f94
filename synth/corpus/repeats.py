"""Ids that occur twice in a manifest, found without keeping all of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

_MOST_RUNS: Final = 1 << 12


class Runs:
    """Stretches of ids that ascend: a build writes one a split, and no two of them overlap.

    Attributes:
        certain: Whether all ids so far are known to differ. Where it is False they still may, and
            have to be compared one by one.
    """

    def __init__(self) -> None:
        self.certain = True
        self._runs: list[tuple[str, str]] = []

    def add(self, ids: pa.Array) -> None:
        """Go on with a batch of ids, none missing."""
        if not self.certain or not len(ids):
            return
        falls = pc.indices_nonzero(pc.less_equal(ids[1:], ids[:-1])).to_pylist()
        starts = [0, *(fall + 1 for fall in falls)]
        if len(self._runs) + len(starts) > _MOST_RUNS:
            self.certain = False
            return
        for start, end in zip(starts, [*starts[1:], len(ids)], strict=True):
            first, last = ids[start].as_py(), ids[end - 1].as_py()
            if start == 0 and self._runs and self._runs[-1][1] < first:
                first = self._runs.pop()[0]
            self._runs.append((first, last))

    def end(self) -> bool:
        """Whether all ids are known to differ, now that all have been added."""
        runs = sorted(self._runs)
        return self.certain and all(one[1] < other[0] for one, other in pairwise(runs))


def find_repeat(batches: Iterator[pa.Array]) -> tuple[str, int, int] | None:
    """An id that occurs twice, and the first two rows that bear it; None where there is none."""
    ids = pa.chunked_array(list(batches), pa.string())
    counts = pc.value_counts(ids)
    repeated = pc.index(pc.greater(counts.field("counts"), 1), True).as_py()
    if repeated < 0:
        return None
    name = counts.field("values")[repeated].as_py()
    first, second = pc.indices_nonzero(pc.equal(ids, name))[:2].to_pylist()
    return name, first, second
