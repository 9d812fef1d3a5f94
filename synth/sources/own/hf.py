"""Libraries of rows: Parquet files and Hugging Face datasets, sounds embedded or beside them.

Of a Hugging Face dataset `save_to_disk` leaves `state.json` and Arrow streams
(`data-00000-of-00003.arrow`), of a DatasetDict one such folder a split and `dataset_dict.json`. A
downloaded one holds Parquet files whose paths name the split (`data/train-00000-of-00003.parquet`,
`default/train/0000.parquet`), or its `README.md` says which they are.
`hf download NAME --repo-type dataset --local-dir DIR` gets one.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, ClassVar, Final

import pyarrow as pa
from pydantic import BaseModel, Field

from synth.base.errors import ClipError, SourceError
from synth.sources.own.split_names import find_split
from synth.sources.reading.base import ClipRef, Recording, Settings
from synth.sources.reading.files import (
    ROW,
    LibraryRoot,
    decode,
    explain_escape,
    find_file,
    read_form,
    read_recording,
    require_folder,
    stamp_of,
    walk,
)
from synth.sources.reading.rows import Card, named_rows, open_rows
from synth.sources.reading.tables import join_captions, list_numbered, make_ref, texts_of

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


@dataclass(frozen=True, slots=True)
class SoundTable:
    """One file of a library of rows.

    Args:
        split: The library's own split that the file holds; "" where no file of the library names
            one, None where others do.
    """

    path: Path
    split: str | None = ""


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
    expected: ClassVar[tuple[str, str]]
    """What must be there, and the fix where it is not."""

    @property
    def folder(self) -> Path:
        """What paths are below."""
        return self.root.parent if self.root.is_file() else self.root

    def refs(self) -> Iterator[ClipRef]:
        """One clip a row, in the order of the tables; rows of one id and sound are one clip.

        The split is the dataset's own, or the one that a path tells, where any does.
        """
        what, fix = self.expected
        if not self.root.is_file():
            require_folder(self.root, "the file or folder", fix)
        tables = list(self._list_tables())
        if not tables:
            raise SourceError(f"{self.root}: no {what}", fix=fix)
        return self._list_refs(tables)

    def _list_tables(self) -> Iterator[SoundTable]:
        """The Parquet files by path, each with the split that the card says, or its name."""
        root = self.root
        is_one = root.is_file()
        paths = [root] if is_one else [p for p in walk(root) if p.suffix == ".parquet"]
        card = Card.read(self.folder)
        places = [path.relative_to(self.folder) for path in sorted(paths)]
        splits = [card.split_of(place) or find_split(place) for place in places]
        unknown = None if any(splits) else ""
        for place, split in zip(places, splits, strict=True):
            yield SoundTable(place, split or unknown)

    def _list_refs(self, tables: Sequence[SoundTable]) -> Iterator[ClipRef]:
        card = Card.read(self.folder)
        clips: dict[str, ClipRef] = {}
        for table in tables:
            path = self.folder / table.path
            rows = open_rows(path)
            names = self._names(rows.schema, path)
            columns_named = chain.from_iterable(names[role] for role in names if role != "audio")
            columns = dict.fromkeys(_top(name, rows.schema) for name in columns_named)
            for number, row in named_rows(rows, [*columns], card):
                ref = self._ref(table, number, row, names)
                if ref.id in clips:
                    ref = self._join(clips[ref.id], ref)
                clips[ref.id] = ref
        if not clips:
            raise SourceError(f"{self.root}: its tables have no rows", fix="give tables with rows")
        yield from clips.values()

    def _join(self, first: ClipRef, other: ClipRef) -> ClipRef:
        """The clip of two rows that differ in their captions alone."""
        joined = join_captions(first, other)
        if joined is None or self._value(first) != self._value(other):
            raise SourceError(
                f"{self._place(other)}: the id {other.id!r} is already used in "
                f"{self._place(first)}",
                fix="give every row its own id; rows of one clip may differ only in captions",
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
        return decode(data, Path(name).suffix)

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
        usual["caption"] = tuple(list_numbered("captions?", schema.names)) or usual["caption"]
        columns = usual | {role: (name,) for role, name in self.columns.items()}
        if not columns["audio"]:
            raise SourceError(
                f"{path}: no column audio, path or file_name",
                fix=f"name the column of the audio, as in columns: {{audio: {schema.names[0]}}}; "
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

        def texts(role: str, separators: str) -> tuple[str, ...]:
            parts = (
                texts_of(_dig(row, name), separators, f"{where}: {name}") for name in names[role]
            )
            return tuple(chain.from_iterable(parts))

        split = text("split") or table.split
        if split is None:
            raise SourceError(
                f"{path}: its name does not contain a split, unlike others in {self.folder} do",
                fix="rename it, as in train.parquet, or give all tables a column split",
            )
        return make_ref(
            text,
            texts,
            prefix=self.id_prefix or self.name,
            name=text("id") or f"{table.path.with_suffix('').as_posix()}-{number}",
            location=f"{table.path.as_posix()}{ROW}{number}",
            licence=self.licence,
            attribution=self.attribution,
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


_HF_MEND: Final = "give a folder that save_to_disk wrote, or a downloaded dataset's folder"


class _Splits(BaseModel):
    """`dataset_dict.json`."""

    splits: tuple[str, ...]


class _SourceFile(BaseModel):
    filename: str


class _State(BaseModel):
    """`state.json`."""

    data_files: tuple[_SourceFile, ...] = Field(alias="_data_files")
    split: str | None = Field(alias="_split", default=None)


class HuggingFaceSource(RowSource):
    """The dataset's folder; features of type ClassLabel become their names."""

    name: ClassVar[str] = "hf"
    expected = "Hugging Face dataset", _HF_MEND

    def refs(self) -> Iterator[ClipRef]:
        """One clip a row; the split is the dataset's own."""
        require_folder(self.root, "the dataset's folder", _HF_MEND)
        return super().refs()

    def _list_tables(self) -> Iterator[SoundTable]:
        if (self.root / "dataset_dict.json").is_file():
            for split in read_form(self.root / "dataset_dict.json", _Splits, _HF_MEND).splits:
                yield from self._list_saved(Path(split), split)
        elif (self.root / "state.json").is_file():
            yield from self._list_saved(Path(), "")
        else:
            yield from super()._list_tables()

    def _list_saved(self, folder: Path, split: str) -> Iterator[SoundTable]:
        state = read_form(self.root / folder / "state.json", _State, _HF_MEND)
        for part in state.data_files:
            if explain_escape((folder / part.filename).as_posix(), self.root):
                raise SourceError(
                    f"{self.root / folder / 'state.json'}: names {part.filename!r}: expected a "
                    "file below the dataset's folder",
                    fix=_HF_MEND,
                )
            yield SoundTable(folder / part.filename, split or state.split or "")


class ParquetSource(RowSource):
    """One `.parquet` file, or all those below a folder."""

    name: ClassVar[str] = "parquet"
    expected = "Parquet file", "give a Parquet file, or a folder of them"
