"""The one place where a corpus is checked: on opening, before anything that it says is used.

Whoever opens a corpus may have it from a stranger. After this check no name in its manifests is a
path, and no place in a shard lies outside of it. A file that did not change is checked once. Every
rule is asked of a whole batch at once; a single row is looked at only where it is at fault.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from jaxtyping import Int
from pyarrow import types

from synth.base.atomic import file_state
from synth.base.doors import require_regular
from synth.base.errors import CorpusError, first_line, shorten
from synth.corpus.facts import GET_AGAIN, MAX_RATE, SPLIT_NAME, memory_error
from synth.corpus.schema import ADDED, AUDIBLE, CLIPS, INCIDENTAL
from synth.storage import display_path

# What each value of a manifest must be, so that no row of a stranger leads out of its folder.


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


def _find_faults(
    batch: pa.RecordBatch, splits: Collection[str] | None, rules: Rules
) -> Iterator[RowFault]:
    """The faults of a batch, column by column.

    Args:
        splits: Those that the corpus has; None where it does not say.
        rules: What the values of columns must be; none may be missing in any.
    """
    batch.validate(full=True)
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
_SHORT: Final = (
    lambda column: pc.less_equal(pc.binary_length(column), MAX_NAME_BYTES),
    f"at most {MAX_NAME_BYTES} bytes",
)
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
    "lead": (_NATURAL,),
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


def _find_repeat(batches: Iterator[pa.Array]) -> tuple[str, int, int] | None:
    """An id that occurs twice, and the first two rows that bear it; None where there is none."""
    ids = pa.chunked_array(list(batches), pa.string())
    counts = pc.value_counts(ids)
    repeated = pc.index(pc.greater(counts.field("counts"), 1), True).as_py()
    if repeated < 0:
        return None
    name = counts.field("values")[repeated].as_py()
    first, second = pc.indices_nonzero(pc.equal(ids, name))[:2].to_pylist()
    return name, first, second


# Files, their columns and rows.


_ROWS_AT_ONCE: Final = 1 << 16
_KEPT: Final = 64
_FRAMES: Final = re.compile(rb"[0-9]{1,15}")
_CATALOGUE: Final = pa.schema([field for field in CLIPS if field.name not in INCIDENTAL - ADDED])
Extents: TypeAlias = dict[tuple[str, str], tuple[int, int]]
"""By split and shard: its samples, and where the last of them ends in bytes; 0 if rows lack it."""


def check_columns(path: Path, expected: pa.Schema) -> pq.FileMetaData:
    """The metadata of a Parquet file that has the columns of a schema, each of its type.

    Those that were added to the format later may lack.
    """
    require_regular(path)
    with explain_damage(path):
        metadata: pq.FileMetaData = pq.read_metadata(path)
        schema = metadata.schema.to_arrow_schema()
    if twice := sorted({name for name in schema.names if schema.names.count(name) > 1}):
        raise CorpusError(f"{path}: has the column {shorten(twice[0])} twice", fix=GET_AGAIN)
    for field in expected:
        if field.name not in schema.names:
            if field.name in ADDED:
                continue
            raise CorpusError(
                f"{path}: lacks the column {field.name!r}",
                fix="it was made by an older version: build or plan again",
            )
        kind = schema.field(field.name).type
        if not _fits(kind, field.type):
            raise CorpusError(
                f"{path}: column {field.name!r} is {shorten(kind)}: expected {field.type}",
                fix=GET_AGAIN,
            )
    return metadata


def check_manifest(
    path: Path,
    expected: pa.Schema,
    splits: Collection[str] | None = None,
    shards: Path | None = None,
    rate: int | None = None,
) -> Extents:
    """Check every row of a plan, of samples or of shards.

    Args:
        splits: Those that the corpus has; None where it does not say.
        shards: Folder of the shards; those that are there must be as long as the rows say.
        rate: In Hz, of every sample; None where the corpus does not say.

    Returns:
        What is known of each shard that rows lie in, or list.
    """
    metadata = check_columns(path, expected)
    audible = (metadata.metadata or {}).get(AUDIBLE.encode())
    if audible is not None and not _FRAMES.fullmatch(audible):
        value = shorten(audible.decode("utf-8", "replace"))
        raise CorpusError(
            f"{display_path(path)}: {AUDIBLE} of its metadata is {value}: expected whole frames",
            fix=GET_AGAIN,
        )
    if not metadata.num_rows:
        raise CorpusError(f"{display_path(path)}: has no rows: expected one", fix=GET_AGAIN)
    known = None if splits is None else tuple(splits)
    extents = _check_rows(path, file_state(path), expected, known, rate)
    for (split, shard), (_, end) in extents.items() if shards is not None else ():
        assert shards is not None
        try:
            size = require_regular(shards / split / shard).stat().st_size
        except (OSError, ValueError):
            continue  # it may lie in a store, or have been removed; reading it tells
        if end > size:
            raise _make_extent_error(path, split, shard, size)
    return extents


def check_clips(path: Path, manifest: Path) -> None:
    """Check the columns of a catalogue of clips that samples depend on, and that no value lacks.

    Those of before there were fingerprints or segments can be opened, too.
    """
    check_columns(path, _CATALOGUE)
    _check_rows(path, file_state(path), _CATALOGUE, is_catalogue=True)
    _check_used(path, manifest, file_state(path) + file_state(manifest))


@lru_cache(_KEPT)
def _check_used(clips: Path, manifest: Path, stamp: tuple[int, ...]) -> None:
    """Check that every clip that samples use is in the catalogue, which tells its licence."""
    with explain_damage(clips), pq.ParquetFile(clips) as file:
        listed = pa.chunked_array(list(_read_ids(file)), pa.string())
    start = 0
    with explain_damage(manifest), pq.ParquetFile(manifest) as file:
        for batch in file.iter_batches(_ROWS_AT_ONCE, columns=["clips"]):
            empty = pc.index(pc.list_value_length(batch["clips"]), 0).as_py()
            if empty >= 0:
                raise CorpusError(
                    f"{display_path(manifest)}: row {start + empty}: clips is empty: expected one",
                    fix=GET_AGAIN,
                )
            start += batch.num_rows
            used = pc.unique(batch["clips"].flatten()).cast(pa.string())
            missing = used.filter(pc.invert(pc.is_in(used, listed)))
            if len(missing):
                raise CorpusError(
                    f"{display_path(clips)}: lacks clip {shorten(missing[0].as_py())}, "
                    f"which {manifest.name} names: its licence is unknown",
                    fix=GET_AGAIN,
                )


@lru_cache(_KEPT)
def _check_rows(
    path: Path,
    stamp: tuple[int, ...],
    expected: pa.Schema,
    splits: tuple[str, ...] | None = None,
    rate: int | None = None,
    is_catalogue: bool = False,
) -> Extents:
    """Check all rows; `stamp` makes a changed file another one."""
    rules: Rules = CLIP_RULES if is_catalogue else ROW_RULES
    if rate is not None:
        same = lambda rates: pc.equal(rates, rate), f"{rate} Hz, that of the corpus"
        rules = {**rules, "sample_rate": (same,)}
    extents: Extents = {}
    start = 0
    with explain_damage(path), pq.ParquetFile(path) as file:
        columns = [*_choose_columns(file.metadata, expected, rules)]
        for batch in file.iter_batches(_ROWS_AT_ONCE, columns=columns):
            fault = next(_find_faults(batch, splits, rules), None)
            if fault is not None:
                raise _make_row_error(path, start, fault, batch)
            _measure_extents(batch, extents)
            start += batch.num_rows
        repeat = _find_repeat(_read_ids(file)) if "id" in file.schema_arrow.names else None
    if repeat is not None:
        name, first, second = repeat
        raise CorpusError(
            f"{display_path(path)}: row {second} (id {shorten(name)}): id is also that of "
            f"row {first}: expected a unique id",
            fix=GET_AGAIN,
        )
    return extents


def _read_ids(file: pq.ParquetFile) -> Iterator[pa.Array]:
    for batch in file.iter_batches(_ROWS_AT_ONCE, columns=["id"]):
        yield batch["id"].cast(pa.string())


def _choose_columns(metadata: pq.FileMetaData, expected: pa.Schema, rules: Rules) -> Iterator[str]:
    """The leaves to be read: of columns with rules, and where a value may be missing.

    Lists and structures that are missing are told by any of their leaves: the smallest is read.
    """
    nested: dict[str, list[int]] = {}
    if "id" in metadata.schema.names:
        yield "id"
    for at in range(metadata.num_columns):
        path = metadata.schema.column(at).path
        name = path.partition(".")[0]
        if name not in expected.names or path == "id":
            continue
        if name in rules or (name == path and _may_hold_nulls(metadata, at)):
            yield path
        elif name != path:
            nested.setdefault(name, []).append(at)
    schema = metadata.schema.to_arrow_schema()
    groups = [metadata.row_group(at) for at in range(metadata.num_row_groups)]
    sizes = [
        sum(group.column(at).total_compressed_size for group in groups)
        for at in range(metadata.num_columns)
    ]
    for name, leaves in nested.items():
        smallest = min(leaves, key=sizes.__getitem__)
        for at in leaves:
            path = metadata.schema.column(at).path
            # A list has two steps of its own: "positives.list.element.text".
            is_optional = _is_missable(schema.field(name).type, path.split(".")[1:])
            is_asked = at == smallest or is_optional
            if is_asked and _may_hold_nulls(metadata, at):
                yield path


def _is_missable(kind: pa.DataType, steps: list[str]) -> bool:
    """Whether the leaf of a list of structures may be missing by itself."""
    if types.is_list(kind) or types.is_large_list(kind):
        return _is_missable(kind.value_type, steps[2:])
    if not types.is_struct(kind):
        return not types.is_nested(kind)
    field = kind.field(steps[0])
    return bool(field.nullable) or (
        types.is_nested(field.type) and _is_missable(field.type, steps[1:])
    )


def _may_hold_nulls(metadata: pq.FileMetaData, column: int) -> bool:
    """Whether a column lacks a value somewhere, or does not say that it lacks none."""
    if not metadata.schema.column(column).max_definition_level:
        return False
    for group in range(metadata.num_row_groups):
        statistics = metadata.row_group(group).column(column).statistics
        if statistics is None or not statistics.has_null_count or statistics.null_count:
            return True
    return False


def _measure_extents(batch: pa.RecordBatch, extents: Extents) -> None:
    names = batch.schema.names
    if not {"split", "shard"} <= {*names} or not batch.num_rows:
        return
    columns = {
        "split": batch["split"],
        "shard": batch["shard"],
        "samples": batch["samples"] if "samples" in names else pa.repeat(1, batch.num_rows),
        "end": _add_ends(batch) if "size" in names else pa.repeat(0, batch.num_rows),
    }
    groups = pa.table(columns).group_by(["split", "shard"], use_threads=False)
    for row in groups.aggregate([("samples", "sum"), ("end", "max")]).to_pylist():
        samples, end = extents.get((row["split"], row["shard"]), (0, 0))
        own = samples + row["samples_sum"], max(end, row["end_max"])
        extents[row["split"], row["shard"]] = own


def _add_ends(batch: pa.RecordBatch) -> pa.Array:
    """Where each member ends; columns of 32 bits would overflow."""
    return pc.add(*(batch[name].cast(pa.int64()) for name in ("offset", "size")))


def _make_row_error(path: Path, start: int, fault: RowFault, batch: pa.RecordBatch) -> CorpusError:
    key = f" (id {shorten(batch['id'][fault.row].as_py())})" if "id" in batch.schema.names else ""
    problem = "is missing" if fault.value is None else f"is {shorten(fault.value)}"
    return CorpusError(
        f"{display_path(path)}: row {start + fault.row}{key}: {fault.column} {problem}: "
        f"expected {fault.expected}",
        fix=GET_AGAIN,
    )


def _make_extent_error(path: Path, split: str, shard: str, size: int) -> CorpusError:
    """Tells the first row whose member ends outside of its shard."""
    columns = ["id", "split", "shard", "offset", "size"]
    start = 0
    with explain_damage(path), pq.ParquetFile(path) as file:
        for batch in file.iter_batches(_ROWS_AT_ONCE, columns=columns):
            own = pc.and_(pc.equal(batch["split"], split), pc.equal(batch["shard"], shard))
            beyond = pc.greater(_add_ends(batch), size)
            row = pc.index(pc.and_(own, beyond), True).as_py()
            if row >= 0:
                value, expected = batch["offset"][row].as_py(), f"{batch['size'][row]} bytes from"
                expected += f" there to lie within the {size} bytes of {shard}"
                return _make_row_error(path, start, RowFault(row, "offset", value, expected), batch)
            start += batch.num_rows
    return make_damage_error(path, ValueError(f"its rows are outside of {shard}"))


def _fits(given: pa.DataType, wanted: pa.DataType) -> bool:
    """Whether values of a type can be read as those of another."""
    if types.is_struct(wanted):
        return types.is_struct(given) and all(
            field.name in ADDED
            if given.get_field_index(field.name) < 0
            else _fits(given.field(field.name).type, field.type)
            for field in wanted
        )
    for is_kind in (types.is_list, types.is_large_list):
        if types.is_list(wanted) and is_kind(given):
            return _fits(given.value_type, wanted.value_type)
    for is_kind, is_also in (
        (types.is_string, types.is_large_string),
        (types.is_binary, types.is_large_binary),
        (types.is_signed_integer, types.is_signed_integer),
        (types.is_floating, types.is_floating),
    ):
        if is_kind(wanted):
            return bool(is_kind(given) or is_also(given))
    return bool(given == wanted)


@contextmanager
def explain_damage(path: Path) -> Iterator[None]:
    """What goes wrong while a file is read, as one clear error."""
    try:
        yield
    except MemoryError as error:
        raise memory_error(path) from error
    except FileNotFoundError as error:
        raise CorpusError(f"{path}: missing", fix="build or plan again") from error
    except PermissionError as error:
        raise CorpusError(
            f"{path}: cannot be read: {error.strerror or error}",
            fix="ask its owner for read access",
        ) from error
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise make_damage_error(path, error) from error


def make_damage_error(path: Path, error: Exception) -> CorpusError:
    """What is to be told of a file, or of a folder, that cannot be read."""
    return CorpusError(f"{path}: damaged: {first_line(error)}", fix="build or plan again")
