"""What each value of a manifest must be, so that no row of a stranger leads out of its folder.

Every rule is asked of a whole batch at once; a single row is looked at only where it is at fault.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Int
from pyarrow import types

from synth.corpus.facts import MAX_RATE, SPLIT_NAME

MAX_MEMBER_BYTES: Final = 8 << 30
"""A tar file cannot hold a longer member."""

MAX_SHARD_BYTES: Final = 1 << 50
MAX_NAME_BYTES: Final = 150
"""Names of files end at 255 bytes; a key is given endings, prefixes and marks of partial files."""

MAX_HOURS: Final = 24
"""Of one sample."""

_KEY: Final = r"^[A-Za-z0-9_][A-Za-z0-9_-]*$"
_MEMBER: Final = r"^[A-Za-z0-9_][A-Za-z0-9_-]*\.(flac|wav)$"
_SHARD: Final = r"^[A-Za-z0-9_][A-Za-z0-9._-]*\.tar$"
_Whole: TypeAlias = Int[np.ndarray, " stretches"]
Rules: TypeAlias = Mapping[str, tuple[tuple[Callable[[pa.Array], pa.BooleanArray], str], ...]]
"""By column: what must hold of every value, and the same in words."""


def is_key(text: str) -> bool:
    """Whether a sample can have this id."""
    return len(text) <= MAX_NAME_BYTES and re.fullmatch(_KEY, text) is not None


@dataclass(frozen=True, slots=True)
class RowFault:
    """A value that cannot be."""

    row: int
    column: str
    value: Any
    expected: str


def find_fault(
    batch: pa.RecordBatch, splits: Collection[str] | None, rules: Rules = MappingProxyType({})
) -> RowFault | None:
    """The first fault of a batch, column by column; None where there is none.

    Args:
        splits: Those that the corpus has; None where it does not say.
        rules: What the values of columns must be; none may be missing in any.
    """
    batch.validate(full=True)
    return next(_find_faults(batch, splits, rules), None)


def _find_faults(
    batch: pa.RecordBatch, splits: Collection[str] | None, rules: Rules
) -> Iterator[RowFault]:
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if _lacks_values(column):
            row = next(at for at in range(len(column)) if _lacks_values(column.slice(at, 1)))
            yield RowFault(row, name, None, "a value")
            return
        for is_good, expected in rules.get(name, ()):
            yield from _judge(name, column, is_good(column), expected)
    names = batch.schema.names
    if "frames" in rules and {"frames", "sample_rate"} <= {*names}:
        longest = pc.multiply(batch["sample_rate"].cast(pa.int64()), MAX_HOURS * 3600)
        good = pc.less_equal(batch["frames"], longest)
        yield from _judge("frames", batch["frames"], good, f"{MAX_HOURS} hours at most")
    if {"segments", "frames"} <= {*names}:
        good = _ends_within(batch["segments"], batch["frames"])
        yield from _judge("segments", batch["segments"], good, "stretches within the file")
    if splits is not None and "split" in names:
        good = pc.is_in(batch["split"], pa.array(splits, batch["split"].type))
        listed = ", ".join(splits) or "none"
        yield from _judge("split", batch["split"], good, f"one of the corpus's: {listed}")


def _judge(name: str, column: pa.Array, good: pa.BooleanArray, expected: str) -> Iterator[RowFault]:
    """The first value that is not good, where there is one."""
    if not pc.all(good, min_count=0).as_py():
        row = pc.index(good, False).as_py()
        yield RowFault(row, name, column[row].as_py(), expected)


def _lacks_values(column: pa.Array) -> bool:
    """Whether a value is missing, at any depth of lists and structures."""
    if column.null_count:
        return True
    if types.is_list(column.type) or types.is_large_list(column.type):
        return _lacks_values(column.flatten())
    return types.is_struct(column.type) and any(map(_lacks_values, column.flatten()))


def _matches(pattern: str) -> Callable[[pa.Array], pa.BooleanArray]:
    # RE2's $ stands for the very end of the text, unlike Python's.
    return lambda column: pc.match_substring_regex(column, pattern)


def _is_short(column: pa.Array) -> pa.BooleanArray:
    return pc.less_equal(pc.binary_length(column), MAX_NAME_BYTES)


def _is_between(least: int, most: int) -> Callable[[pa.Array], pa.BooleanArray]:
    return lambda column: pc.and_(pc.greater_equal(column, least), pc.less_equal(column, most))


def _is_in_order(segments: pa.Array) -> pa.BooleanArray:
    """Whether the stretches of each row begin at 0 or later, are not empty, and lie apart."""
    parents, onsets, offsets = _flatten_segments(segments)
    bad = (onsets < 0) | (onsets >= offsets)
    bad[1:] |= (parents[1:] == parents[:-1]) & (onsets[1:] <= offsets[:-1])
    good = np.ones(len(segments), bool)
    good[parents[bad]] = False
    return pa.array(good)


def _ends_within(segments: pa.Array, frames: pa.Array) -> pa.BooleanArray:
    parents, _, offsets = _flatten_segments(segments)
    good = np.ones(len(segments), bool)
    good[parents[offsets > frames.to_numpy()[parents]]] = False
    return pa.array(good)


def _flatten_segments(segments: pa.Array) -> tuple[_Whole, _Whole, _Whole]:
    """The row, onset and offset of each stretch."""
    flat = segments.flatten()
    values = pc.list_parent_indices(segments), flat.field("onset"), flat.field("offset")
    parents, onsets, offsets = (column.to_numpy(zero_copy_only=False) for column in values)
    return parents, onsets, offsets


_POSITIVE: Final = (_is_between(1, 1 << 62), "a whole number above 0")
_NATURAL: Final = (_is_between(0, 1 << 62), "a whole number, 0 or more")
_SHORT: Final = (_is_short, f"at most {MAX_NAME_BYTES} bytes")
ROW_RULES: Final[Rules] = {
    "id": ((_matches(_KEY), "letters, digits, - and _"), _SHORT),
    "split": ((_matches(f"^{SPLIT_NAME.pattern}$"), "letters, digits, - and _"),),
    "shard": ((_matches(_SHARD), "letters, digits, - _ and ., ending in .tar"), _SHORT),
    "member": ((_matches(_MEMBER), "letters, digits, - and _, ending in .flac or .wav"), _SHORT),
    "offset": ((_is_between(0, MAX_SHARD_BYTES), "a place in the shard, in bytes"),),
    "size": (
        (_is_between(0, MAX_MEMBER_BYTES - 1), "bytes of one member, 0 or more and below 8 GiB"),
    ),
    "index": (_NATURAL,),
    "samples": ((_is_between(1, 1 << 40), "a whole number above 0"),),
    "row_group": (_NATURAL,),
    "row": (_NATURAL,),
    "excerpts": (_NATURAL,),
    "frames": (_POSITIVE,),
    "sample_rate": ((_is_between(1, MAX_RATE), f"a whole number of Hz, 1 to {MAX_RATE}"),),
}
"""Those of the rows of a plan, of samples and of shards."""
CLIP_RULES: Final[Rules] = {
    "sample_rate": (_POSITIVE,),
    "frames": (_NATURAL,),
    "segments": ((_is_in_order, "stretches that are apart and in order, none of them empty"),),
}
"""Those of the rows of a catalogue of clips."""


# Ids that occur twice in a manifest, found without keeping all of them.


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
