"""Tables with a sound a row, embedded or beside them: Parquet files and Arrow streams."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Final

import pyarrow as pa
from pydantic import Field

from synth.audio.decoding import read_audio
from synth.base.errors import ClipError, SourceError
from synth.sources.reading.base import ClipRef, Recording, Settings
from synth.sources.reading.files import (
    ROW,
    LibraryRoot,
    find_file,
    read_recording,
    stamp_of,
    to_mono,
)
from synth.sources.reading.hub import Card, named_rows
from synth.sources.reading.paths import explain_escape, walk
from synth.sources.reading.row_files import open_rows
from synth.sources.reading.tables import TAG_SEPARATORS, tags_of, texts_of

NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "audio": ("audio", "path", "file_name", "file"),
    "id": ("id",),
    "caption": ("text",),
    "label": ("label", "labels", "category"),
    "tags": ("tags", "tag"),
    "split": ("split",),
    "recording": ("recording",),
    "licence": ("licence", "license"),
    "attribution": ("attribution",),
}
_CAPTION: Final = re.compile(r"captions?(?:[_ ]?\d+)?")
"""There may be several, as `caption_1` to `caption_5`."""


@dataclass(frozen=True, slots=True)
class SoundTable:
    """One file of a library of rows.

    Args:
        split: The library's own split that the file holds; "" where no file of the library names
            one, None where others do.
    """

    path: Path
    split: str | None = ""


def parquet_files(folder: Path) -> list[Path]:
    """The Parquet files below a folder, in the order of their paths."""
    return sorted(path for path in walk(folder) if path.suffix == ".parquet")


class RowSource(Settings):
    """A source whose clips are rows.

    Args:
        root: The folder, or one file.
        columns: Where a column is called otherwise than usual: `{caption: text, audio: sound}`. The
            usual names are `audio` (bytes, a path below the folder, or Hugging Face's struct of
            both), `id`, `caption` (also `caption_1` and so on), `label`, `tags`, `split`,
            `recording`, `licence`, `attribution`. A field of a struct is named `events.label`.
        licence: Licence of rows that name none.
        attribution: Credit for rows that name none.
        id_prefix: First part of every clip id, the source's name by default.
    """

    root: LibraryRoot
    columns: dict[str, str] = Field(default_factory=dict)
    licence: str = "unknown"
    attribution: str = ""
    id_prefix: str = Field(default="", pattern=r"^[A-Za-z0-9_.-]*$")
    name: ClassVar[str]

    @property
    def folder(self) -> Path:
        """What paths are below."""
        return self.root.parent if self.root.is_file() else self.root

    def refs_of(self, tables: Sequence[SoundTable]) -> Iterator[ClipRef]:
        """One clip a row, in the order of the tables; rows of one id and sound are one clip."""
        card = Card.read(self.folder)
        clips: dict[str, ClipRef] = {}
        for table in tables:
            path = self.folder / table.path
            rows = open_rows(path)
            names = self._names(rows.schema, path)
            columns_named = chain.from_iterable(names[role] for role in names if role != "audio")
            columns = dict.fromkeys(_top(name, rows.schema) for name in columns_named)
            for number, row in named_rows(rows, [*columns], path, card):
                ref = self._ref(table, number, row, names)
                if ref.id in clips:
                    ref = self._join(clips[ref.id], ref)
                clips[ref.id] = ref
        if not clips:
            raise SourceError(f"{self.root}: its tables hold no rows", fix="give tables with rows")
        yield from clips.values()

    def _join(self, first: ClipRef, other: ClipRef) -> ClipRef:
        """The clip of two rows that differ in their captions alone."""
        captions = (*first.captions, *other.captions)
        joined = replace(first, captions=tuple(dict.fromkeys(captions)))
        same = replace(other, captions=joined.captions, location=first.location) == joined
        if not same or self._value(first) != self._value(other):
            raise SourceError(
                f"{self._place(other)}: the id {other.id!r} is already used in "
                f"{self._place(first)}",
                fix="give each row an id of its own; rows of one clip differ in captions alone",
            )
        return joined

    def _place(self, ref: ClipRef) -> str:
        location, number = ref.location.rsplit(ROW, 1)
        return f"{self.folder / location}: row {number}"

    def _value(self, ref: ClipRef) -> Any:
        """What a row has as its sound."""
        location, number = ref.location.rsplit(ROW, 1)
        rows = open_rows(self.folder / location)
        (column,) = self._names(rows.schema, self.folder / location)["audio"]
        return rows.value(int(number), column)

    def stamp(self, ref: ClipRef) -> str:
        """Size and times of the table's file."""
        return stamp_of(self.folder / ref.location.split(ROW)[0])

    def load(self, ref: ClipRef) -> Recording:
        """Decode a row's sound."""
        location = ref.location.rsplit(ROW, 1)[0]
        return self._recording(self._value(ref), (self.folder / location).parent)

    def _recording(self, value: Any, folder: Path) -> Recording:
        data, name = value, ""
        if isinstance(value, dict):
            data, name = value.get("bytes"), value.get("path") or ""
        elif isinstance(value, str):
            data, name = None, value
        if data is None and not name:
            raise ClipError("has no audio in its row")
        if data is None:
            beside = (folder, self.folder)
            reasons = [explain_escape(name, place, self.folder) for place in beside]
            inside = [place for place, why in zip(beside, reasons, strict=True) if not why]
            if not inside:
                raise ClipError(reasons[0])
            paths = [find_file(place, name) for place in inside]
            # Unlike Path.is_file, it takes a name that is too long.
            return read_recording(next(filter(os.path.isfile, paths), paths[0]))
        channels, rate = read_audio(data, Path(name).suffix)
        sha256 = hashlib.sha256(data).hexdigest()
        return Recording(to_mono(channels), rate, channels.shape[1], sha256)

    def _names(self, schema: pa.Schema, path: Path) -> dict[str, tuple[str, ...]]:
        """The table's columns for each role that it fills; of `caption` there may be several."""
        strange = sorted(set(self.columns) - set(NAMES))
        if strange:
            raise SourceError(
                f"columns: unknown {', '.join(strange)}", fix=f"there are {', '.join(NAMES)}"
            )
        absent = [name for name in self.columns.values() if _top(name, schema) not in schema.names]
        if absent:
            raise SourceError(
                f"{path}: no column {', '.join(map(repr, absent))}",
                fix=f"it has {', '.join(schema.names)}",
            )
        usual = {
            role: tuple(name for name in names if name in schema.names)[:1]
            for role, names in NAMES.items()
        }
        usual["caption"] = tuple(filter(_CAPTION.fullmatch, schema.names)) or usual["caption"]
        columns = usual | {role: (name,) for role, name in self.columns.items()}
        if not columns["audio"]:
            raise SourceError(
                f"{path}: no column audio, path or file_name",
                fix=f"name it, as in columns: {{audio: {schema.names[0]}}}; "
                f"it has {', '.join(schema.names)}",
            )
        return columns

    def _ref(
        self,
        table: SoundTable,
        number: int,
        row: Mapping[str, Any],
        names: Mapping[str, Sequence[str]],
    ) -> ClipRef:
        path = self.folder / table.path
        where = f"{path}: row {number}"

        def text(role: str) -> str:
            (value,) = (_dig(row, name) for name in names[role] or ("",))
            return "" if value is None else str(value)

        def texts(role: str, separator: str = "") -> tuple[str, ...]:
            parts = (
                texts_of(_dig(row, name), separator, f"{where}: {name}") for name in names[role]
            )
            return tuple(chain.from_iterable(parts))

        own = text("id") or f"{table.path.with_suffix('').as_posix()}-{number}"
        prefix = self.id_prefix or self.name
        name = f"{prefix}/{own}"
        recording = text("recording")
        split = text("split") or table.split
        if split is None:
            raise SourceError(
                f"{path}: its name tells no split, as others in {self.folder} do",
                fix="rename it, as in train.parquet, or give all tables a column split",
            )
        return ClipRef(
            id=name,
            location=f"{table.path.as_posix()}{ROW}{number}",
            labels=texts("label", ";"),
            captions=texts("caption"),
            tags=tags_of(texts("tags", TAG_SEPARATORS)),
            recording=f"{prefix}/{recording}" if recording else name,
            licence=text("licence") or self.licence,
            attribution=text("attribution") or self.attribution,
            split=split,
        )


def _top(name: str, schema: pa.Schema) -> str:
    """The column of a name that may be that of a field within it."""
    return name if name in schema.names else name.partition(".")[0]


def _dig(value: Any, name: str) -> Any:
    """What a row, or a struct or a list of them, holds under a name such as `events.label`."""
    if isinstance(value, list):
        return [_dig(part, name) for part in value]
    if not isinstance(value, Mapping):
        return value if not name else None
    if name in value:
        return value[name]
    head, _, rest = name.partition(".")
    return _dig(value[head], rest) if rest and head in value else None
