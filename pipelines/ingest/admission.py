"""Admission: which catalogued clips a corpus may use, in which split, and why not the others.

All of a library is asked by columns. Rows are made of those alone that are refused, or may be.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, combinations
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, Int

from pipelines.config.spec import Intake
from pipelines.store.row_file import RowFile
from synth.labels.lexicon import are_confusable, untreated_id
from synth.sources.block import STAGE, Blocked, BlockList, tally, withdraw_blocked
from synth.sources.catalogue import quarantine_row
from synth.sources.reading.collected import LISTED_LEVEL_DB
from synth.sources.selection import (
    Allowed,
    SplitRule,
    assign_splits,
    split_finder,
    withdraw_unlicensed,
)

Row: TypeAlias = dict[str, Any]
Told: TypeAlias = dict[str, str]
Judge: TypeAlias = Callable[[list[Row]], tuple[list[Row], list[Told]]]
Marks: TypeAlias = Bool[np.ndarray, " clips"]

_NAMES: Final = ("id", "location")
_TEXTS: Final = ("captions", "tags")
_MEASURES: Final = ("frames", "onset", "offset", "loudness_lufs", "peak_db")
_NUMBER: Final = "number"
"""The key of a row's place in the library."""


@dataclass(frozen=True, slots=True)
class AdmittedClips:
    """What became of clips.

    Args:
        splits: Of every clip; "" for those outside of all splits.
        withdrawn: Rows of `schema.QUARANTINE` for those that are not kept.
        joined: Captions and tags by the number of a row that took those of its copies, too.
    """

    kept: Marks
    splits: Sequence[str]
    withdrawn: list[Told]
    blocked: tuple[Blocked, ...]
    joined: Mapping[int, Row]


@dataclass(frozen=True, slots=True)
class Admission:
    """What a spec asks of clips.

    Args:
        allowed: The licences they may have, None for any.
        blocks: Lists of what may not be used.
    """

    allowed: Allowed | None
    blocks: Sequence[BlockList]
    split_rules: Sequence[SplitRule]
    seed: int

    @classmethod
    def of(cls, intake: Intake) -> Admission:
        """Read the block lists."""
        return cls(
            allowed=None if intake.licences is None else Allowed.of(intake.licences),
            blocks=tuple(BlockList.open(path) for path in intake.block),
            split_rules=intake.split_rules,
            seed=intake.seed,
        )

    @property
    def weakness(self) -> str:
        """Which lists block less than they could, and why; "" where none does."""
        return "; ".join(block.weakness for block in self.blocks if block.weakness)

    def admit(self, rows: RowFile) -> AdmittedClips:
        """Find the clips that may be used, and their splits.

        Licences are judged first, then block lists, then copies: of two clips of one sound the one
        that may be used stays, and of those that contradict each other none, whatever the licence.

        Args:
            rows: With the columns of `schema.CLIPS` that a library and its files tell.
        """
        kept = np.ones(len(rows), dtype=np.bool_)
        unlicensed: list[Told] = []
        if self.allowed is not None:
            judge = partial(withdraw_unlicensed, allowed=self.allowed)
            unlicensed = _withdraw(rows, kept, judge, "licence")
        blocked: list[Told] = []
        if self.blocks:
            judge = partial(withdraw_blocked, blocks=self.blocks)
            blocked = _withdraw(rows, kept, judge, "recording", "sha256", "fingerprint")
            blocked += _withdraw_treated(rows, kept, blocked)
        find_split = split_finder(self.split_rules, self.seed)
        splits = [find_split(row) for row in rows.rows("recording", "source_split")]
        copies, joined = _withdraw_copies(rows, kept, splits)
        divided = self._withdraw_divided(rows, kept, splits)
        names = rows.rows("id", "recording") if self.blocks else ()
        return AdmittedClips(
            kept,
            splits,
            unlicensed + blocked + copies + divided,
            tally(self.blocks, names, blocked),
            joined,
        )

    def _withdraw_divided(self, rows: RowFile, kept: Marks, splits: Sequence[str]) -> list[Told]:
        """Withdraw clips of recordings that lie in several splits."""
        inside = kept & np.array([split != "" for split in splits], dtype=np.bool_)
        recordings = _number_values(rows, "recording")
        codes = {name: at for at, name in enumerate(dict.fromkeys(splits))}
        places = np.fromiter((codes[split] for split in splits), np.int64, len(splits))
        pairs = np.unique(recordings[inside] * len(codes) + places[inside]) // max(len(codes), 1)
        counts = np.bincount(pairs, minlength=len(rows) + 1)
        columns = ("recording", "source_split", "split")
        picked = [*chain.from_iterable(_pick(rows, inside & (counts[recordings] > 1), *columns))]
        withdrawn = assign_splits(picked, self.split_rules, self.seed)
        _keep(kept, picked, [row for row in picked if row["split"]])
        return withdrawn


def _withdraw(rows: RowFile, kept: Marks, judge: Judge, *columns: str) -> list[Told]:
    """Withdraw the clips that a judge does not leave, a batch at a time."""
    withdrawn: list[Told] = []
    for picked in _pick(rows, kept, *columns):
        remaining, refused = judge(picked)
        _keep(kept, picked, remaining)
        withdrawn += refused
    return withdrawn


def _withdraw_treated(rows: RowFile, kept: Marks, blocked: Sequence[Told]) -> list[Told]:
    """Withdraw what was made of blocked clips: by itself it may be another file and sound."""
    reasons = {row["id"]: row["reason"] for row in blocked}
    withdrawn: list[Told] = []
    for picked in _pick(rows, kept) if reasons else ():
        treated = [row for row in picked if untreated_id(row["id"]) in reasons]
        kept[[row[_NUMBER] for row in treated]] = False
        withdrawn += [
            quarantine_row(row["id"], row["location"], STAGE, reasons[untreated_id(row["id"])])
            for row in treated
        ]
    return withdrawn


def _withdraw_copies(
    rows: RowFile, kept: Marks, splits: Sequence[str]
) -> tuple[list[Told], dict[int, Row]]:
    """Keep one clip of each file, with the captions and tags of all; no sound under two labels.

    Copies would let a recording be heard in two splits, or be told as what it is not. Other files
    of one sound, in another format perhaps, stay while all are in one split.
    """
    withdrawn: dict[int, Told] = {}
    joined: dict[int, Row] = {}
    for copies in _find_copies(rows):
        usable = [row for row in copies if kept[row[_NUMBER]]]
        # One row of each set of labels, the first: a file may have thousands of copies.
        distinct = {tuple(row["labels"]): row for row in reversed(copies)}
        firsts = sorted(distinct.values(), key=lambda row: row[_NUMBER])
        unlike = next((pair for pair in combinations(firsts, 2) if not _are_alike(*pair)), None)
        refused: list[tuple[Row, str]] = []
        if unlike is not None:
            named = (f"{row['location']} ({', '.join(row['labels'])})" for row in unlike)
            reason = f"is one sound under two labels: {' and '.join(named)}"
            refused = [(row, reason) for row in usable]
        else:
            usable.sort(key=lambda row: not row["labels"])
            for stays, *others in _group_copies(usable, splits):
                texts = {name: _unite(row[name] for row in (stays, *others)) for name in _TEXTS}
                reason = f"is the same sound as {stays['location']}"
                if any(texts[name] != stays[name] for name in _TEXTS):
                    joined[stays[_NUMBER]] = texts
                    reason += ", which has its captions and tags, too"
                refused += [(row, reason) for row in others]
        for row, reason in refused:
            refusal = quarantine_row(row["id"], row["location"], "ingest", reason)
            withdrawn[row[_NUMBER]] = refusal
    kept[[*withdrawn]] = False
    return [withdrawn[number] for number in sorted(withdrawn)], joined


def _group_copies(usable: Sequence[Row], splits: Sequence[str]) -> Iterable[list[Row]]:
    """For each clip of a sound that stays those that do not, behind it."""
    groups: dict[int, list[Row]] = {}
    inside = [row for row in usable if splits[row[_NUMBER]]]
    for row in usable:
        split = splits[row[_NUMBER]]
        is_divided = split and split != splits[inside[0][_NUMBER]]
        groups.setdefault((inside[0] if is_divided else row)["file"], []).append(row)
    return groups.values()


def _find_copies(rows: RowFile) -> Iterator[list[Row]]:
    """Clips of one sound: every measure of it is the same, whatever file it lies in."""
    files = _number_values(rows, "sha256")
    measures = np.stack([_number_values(rows, name) for name in _MEASURES])
    _, sounds = np.unique(measures, axis=1, return_inverse=True)
    batches = (batch.column(0).to_numpy() for batch in rows.batches(["loudness_lufs"]))
    levels = np.concatenate([np.zeros(0), *batches])
    # Clips that are only listed have no measures of their own.
    sounds = np.where(levels == LISTED_LEVEL_DB, len(rows) + files, sounds.reshape(-1))
    _, sounds, counts = np.unique(sounds, return_inverse=True, return_counts=True)
    groups: dict[tuple[Any, ...], list[Row]] = {}
    columns = ("labels", *_TEXTS, "levels_db", "fingerprint")
    for row in chain.from_iterable(_pick(rows, counts[sounds] > 1, *columns)):
        sound = (int(sounds[row[_NUMBER]]), row.pop("fingerprint"), *row.pop("levels_db"))
        groups.setdefault(sound, []).append(row | {"file": int(files[row[_NUMBER]])})
    yield from (copies for copies in groups.values() if len(copies) > 1)


def _unite(lists: Iterable[list[Any]]) -> list[Any]:
    """The values of several lists, each once, in their order."""
    values: list[Any] = []
    for value in chain.from_iterable(lists):
        if value not in values:
            values.append(value)
    return values


def _are_alike(row: Row, other: Row) -> bool:
    """Whether the labels of one sound could all be said of it: those of one that has none can."""
    if not row["labels"] or not other["labels"]:
        return True
    pairs = (row["labels"], other["labels"]), (other["labels"], row["labels"])
    return all(any(are_confusable(a, b) for b in second) for first, second in pairs for a in first)


def _keep(kept: Marks, rows: Sequence[Row], remaining: Sequence[Row]) -> None:
    """Of some rows keep those that are left."""
    kept[[row[_NUMBER] for row in rows]] = False
    kept[[row[_NUMBER] for row in remaining]] = True


def _pick(rows: RowFile, chosen: Marks, *columns: str) -> Iterator[list[Row]]:
    start = 0
    for batch in rows.batches([*_NAMES, *columns]):
        marks = chosen[start : start + batch.num_rows]
        numbers = np.flatnonzero(marks) + start
        start += batch.num_rows
        if len(numbers):
            picked = batch.filter(pa.array(marks)).to_pylist()
            yield [row | {_NUMBER: at} for row, at in zip(picked, numbers.tolist(), strict=True)]


def _number_values(rows: RowFile, column: str) -> Int[np.ndarray, " clips"]:
    """Numbers in the place of a column's values, the same for equal ones."""
    # Batch by batch: over views of all batches the whole file would be in memory.
    batches = [batch.column(0).dictionary_encode() for batch in rows.batches([column])]
    kind = pa.dictionary(pa.int32(), rows.schema.field(column).type)
    values = pa.chunked_array(batches, kind).unify_dictionaries()
    chunks = [chunk.indices.to_numpy() for chunk in values.chunks]
    return np.concatenate([np.zeros(0, dtype=np.int64), *chunks]).astype(np.int64)
