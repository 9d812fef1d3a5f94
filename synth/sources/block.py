"""Block lists: recordings and clips, of an evaluation set say, that no corpus may take in."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from synth.base.errors import SourceError
from synth.corpus.corpus import CLIPS_FILE, find_finished
from synth.corpus.leakage import COLUMNS, ClipShelf, Shared
from synth.corpus.schema import CLIPS
from synth.sources.catalogue import quarantine_row
from synth.sources.reading.files import read_text

STAGE: Final = "block list"
_SHOWN: Final = 5

_MEND: Final = (
    "give a text file with one id per line, a CSV file with a column `recording` or `id`, "
    "the clips.parquet of a corpus, or its folder"
)


@dataclass(frozen=True)
class BlockList:
    """One block list.

    Args:
        entries: Ids of recordings or clips, from a text list. An entry may leave out the name of
            the library: `17150` means `freesound/17150`, too.
        weakness: Why it blocks less than it could, in one line; "" if it does not.
    """

    name: str
    entries: frozenset[str]
    ids: frozenset[str]
    shelf: ClipShelf
    weakness: str

    @classmethod
    def open(cls, path: Path) -> BlockList:
        """Read a text list, a catalogue, or the catalogue of a corpus's folder."""
        file = path
        if path.is_dir():
            plain = path / CLIPS_FILE
            file = plain if plain.is_file() else find_finished(path) / CLIPS_FILE
        if not file.is_file():
            raise SourceError(f"{file}: the block list is missing", fix=_MEND)
        block = _catalogue(path, file) if file.suffix == ".parquet" else _list(path)
        if not (block.entries or block.ids or block.shelf.clips):
            raise SourceError(f"{file}: the block list is empty", fix=_MEND)
        return block

    def partner(self, row: Mapping[str, Any]) -> Shared | None:
        """What a clip shares with the list, the plainest thing first; None if nothing."""
        for by in ("id", "recording"):
            entry = next((name for name in _names(row[by]) if name in self.entries), None)
            if entry is not None:
                return Shared(row["id"], entry, by, f"{by} {entry}")
        if row["id"] in self.ids:
            return Shared(row["id"], row["id"], "id", f"id {row['id']}")
        return next(self.shelf.find_shared(row), None)


@dataclass(frozen=True, slots=True)
class Blocked:
    """What a block list did.

    Args:
        clips: How many clips it withdrew; one that an earlier list withdrew counts there.
        unmatched: Entries of a text list that are no clip's id or recording.
        entries: How many entries the text list has; 0 for a catalogue.
    """

    name: str
    clips: int
    unmatched: Sequence[str]
    entries: int

    @property
    def line(self) -> str:
        """The same for a reader."""
        line = f"block list {self.name}: {self.clips:,} clips blocked"
        if not self.unmatched:
            return line
        shown = ", ".join(self.unmatched[:_SHOWN]) + (", …" if self.unmatched[_SHOWN:] else "")
        few = f"{len(self.unmatched):,} of its {self.entries:,} entries"
        return f"{line}; {few} match no clip: {shown}"

    def to_json(self) -> dict[str, Any]:
        """As JSON values; `Blocked(**value)` is its inverse."""
        return asdict(self) | {"unmatched": list(self.unmatched)}


def tally(
    blocks: Sequence[BlockList],
    rows: Iterable[Mapping[str, Any]],
    withdrawn: Sequence[Mapping[str, str]],
) -> tuple[Blocked, ...]:
    """What each list did to the rows of `schema.CLIPS` there were before any was withdrawn."""
    unmatched: set[str] = set().union(*(block.entries for block in blocks))
    for row in rows:
        unmatched.difference_update(_names(row["id"]), _names(row["recording"]))
    return tuple(
        Blocked(
            block.name,
            sum(row["reason"].startswith(_reason(block)) for row in withdrawn),
            tuple(sorted(block.entries & unmatched)),
            len(block.entries),
        )
        for block in blocks
    )


def _reason(block: BlockList) -> str:
    return f"is blocked by {block.name}: "


def withdraw_blocked(
    rows: Sequence[dict[str, Any]], blocks: Sequence[BlockList]
) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """Keep the clips that no list blocks, by id, recording, bytes or sound.

    Returns:
        The rows to keep, and rows of `schema.QUARANTINE` for the others.
    """
    kept, withdrawn = [], []
    for row in rows:
        partners = ((block, block.partner(row)) for block in blocks)
        block, partner = next((pair for pair in partners if pair[1]), (None, None))
        if block is None or partner is None:
            kept.append(row)
            continue
        reason = f"{_reason(block)}{partner.detail}"
        withdrawn.append(quarantine_row(row["id"], row["location"], STAGE, reason))
    return kept, withdrawn


def _names(name: str) -> Iterator[str]:
    """A name, and what is left of it after each slash."""
    while name:
        yield name
        name = name.partition("/")[2]


def _list(path: Path) -> BlockList:
    text = read_text(path, _MEND)
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    header = next(csv.reader(lines[:1]), [])
    columns = [name.strip() for name in header if name.strip() in ("recording", "id")]
    if columns:
        entries = _cells(path, lines, [name.strip() for name in header], columns)
    elif path.suffix.lower() == ".csv":
        raise SourceError(f"{path}: no column 'recording' or 'id'", fix=_MEND)
    else:
        entries = {line.strip() for line in lines}
    return BlockList(str(path), frozenset(entries - {""}), frozenset(), ClipShelf.of(()), "")


def _cells(path: Path, lines: list[str], header: list[str], columns: list[str]) -> set[str]:
    places = [header.index(name) for name in columns]
    entries: set[str] = set()
    try:
        for number, cells in enumerate(csv.reader(lines[1:], strict=True), 1):
            if len(cells) != len(header):
                raise SourceError(
                    f"{path}: row {number}: expected {len(header)} fields, found {len(cells)}",
                    fix="put values that hold a comma in quotes",
                )
            entries.update(cells[place].strip() for place in places)
    except csv.Error as error:
        raise SourceError(f"{path}: not a CSV file: {error}", fix=_MEND) from error
    return entries


def _catalogue(path: Path, file: Path) -> BlockList:
    try:
        with pq.ParquetFile(file) as table:
            _check_columns(file, table.schema_arrow)
            columns = [name for name in COLUMNS if name in table.schema_arrow.names]
            rows = table.read(columns=columns).to_pylist()
    except (pa.ArrowInvalid, OSError) as error:
        raise SourceError(f"{file}: cannot be read as Parquet: {error}", fix=_MEND) from error
    shelf = ClipShelf.of(rows)
    ids = frozenset(row["id"] for row in rows if row["id"])
    weakness = (
        f"{path}: {shelf.unheard} of its {shelf.clips} clips block by id, recording and "
        "bytes, not by sound: their audio was not read, their fingerprint is of another "
        "version, or they sound too short or too steady"
    )
    return BlockList(str(path), frozenset(), ids, shelf, weakness if shelf.unheard else "")


def _check_columns(file: Path, schema: pa.Schema) -> None:
    missing = [name for name in ("id", "recording") if name not in schema.names]
    if missing:
        raise SourceError(f"{file}: no column {', '.join(map(repr, missing))}", fix=_MEND)
    for name in COLUMNS:
        wanted = CLIPS.field(name).type
        if name in schema.names and schema.field(name).type != wanted:
            raise SourceError(
                f"{file}: column {name!r} holds {schema.field(name).type}, expected {wanted}",
                fix="give the clips.parquet of a corpus, or a file with its columns",
            )
