"""Tables with a sound a row, embedded or beside them: Parquet files and Arrow streams."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Final

import pyarrow as pa
from pydantic import Field

from synth.audio.decoding import read_audio
from synth.base.errors import ClipError, SourceError
from synth.sources.reading.base import ClipRef, Recording, Settings
from synth.sources.reading.files import ROW, LibraryRoot, read_recording, stamp_of, to_mono
from synth.sources.reading.paths import explain_escape
from synth.sources.reading.row_files import class_names, open_rows
from synth.sources.reading.tables import tags_of, texts_of
from synth.sources.reading.walk import walk

UNLABELLED: Final = -1
"""How Hugging Face's ClassLabel writes that a row has none."""

NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    "audio": ("audio", "path", "file_name", "file"),
    "id": ("id",),
    "caption": ("caption", "captions", "text"),
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
        path: Below the root.
        split: The library's own split that the file holds, "" where it names none.
    """

    path: Path
    split: str = ""


def parquet_files(folder: Path) -> list[Path]:
    """The Parquet files below a folder, in the order of their paths.

    Raises:
        SourceError: If a folder cannot be read.
    """
    return sorted(path for path in walk(folder) if path.suffix == ".parquet")


class RowSource(Settings):
    """A source whose clips are rows.

    Args:
        root: The folder, or one file.
        columns: Where a column is called otherwise than usual: `{caption: text, audio: sound}`. The
            usual names are `audio` (bytes, a path below the folder, or Hugging Face's struct of
            both), `id`, `caption`, `label`, `tags`, `split`, `recording`, `licence`, `attribution`.
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
        """One clip a row, in the order of the tables.

        Raises:
            SourceError: If a table cannot be read, lacks a column, or a row's id is there already,
                or no table holds a row.
        """
        seen: dict[str, str] = {}
        for table in tables:
            path = self.folder / table.path
            rows = open_rows(path)
            names = self._names(rows.schema, path)
            labels = class_names(rows.schema, names.get("label", ""))
            for number, row in rows.texts(
                [name for role, name in names.items() if role != "audio"]
            ):
                ref = self._ref(table, number, row, names, labels)
                where = f"{path}: row {number}"
                if ref.id in seen:
                    raise SourceError(
                        f"{where}: the id {ref.id!r} is already used in {seen[ref.id]}",
                        fix="give each row an id of its own",
                    )
                seen[ref.id] = where
                yield ref
        if not seen:
            raise SourceError(f"{self.root}: its tables hold no rows", fix="give tables with rows")

    def stamp(self, ref: ClipRef) -> str:
        """Size and times of the table's file."""
        return stamp_of(self.folder / ref.location.split(ROW)[0])

    def load(self, ref: ClipRef) -> Recording:
        """Decode a row's sound.

        Raises:
            ClipError: If it holds none, or one that cannot be decoded.
        """
        location, number = ref.location.rsplit(ROW, 1)
        path = self.folder / location
        rows = open_rows(path)
        value = rows.value(int(number), self._names(rows.schema, path)["audio"])
        return self._recording(value, path.parent)

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
            reasons = [explain_escape(name, each, self.folder) for each in beside]
            inside = [each for each, why in zip(beside, reasons, strict=True) if not why]
            if not inside:
                raise ClipError(reasons[0])
            paths = [each / name for each in inside]
            # Unlike Path.is_file, it takes a name that is too long.
            found = next((path for path in paths if os.path.isfile(path)), paths[0])  # noqa: PTH113
            return read_recording(found)
        channels, rate = read_audio(data, Path(name).suffix)
        sha256 = hashlib.sha256(data).hexdigest()
        return Recording(to_mono(channels), rate, channels.shape[1], sha256)

    def _names(self, schema: pa.Schema, path: Path) -> dict[str, str]:
        """The table's column for each role that it fills."""
        strange = sorted(set(self.columns) - set(NAMES))
        if strange:
            raise SourceError(
                f"columns: unknown {', '.join(strange)}", fix=f"there are {', '.join(NAMES)}"
            )
        absent = [name for name in self.columns.values() if name not in schema.names]
        if absent:
            raise SourceError(
                f"{path}: no column {', '.join(map(repr, absent))}",
                fix=f"it has {', '.join(schema.names)}",
            )
        usual = {
            role: next((name for name in names if name in schema.names), None)
            for role, names in NAMES.items()
        }
        found = {role: name for role, name in (usual | self.columns).items() if name is not None}
        if "audio" not in found:
            raise SourceError(
                f"{path}: no column audio, path or file_name",
                fix=f"name it, as in columns: {{audio: {schema.names[0]}}}; "
                f"it has {', '.join(schema.names)}",
            )
        return found

    def _ref(
        self,
        table: SoundTable,
        number: int,
        row: Mapping[str, Any],
        names: Mapping[str, str],
        labels: Sequence[str],
    ) -> ClipRef:
        def text(role: str) -> str:
            value = row.get(names.get(role, ""))
            return "" if value is None else str(value)

        label = row.get(names.get("label", ""))
        if labels and label == UNLABELLED:
            label = None
        if labels and isinstance(label, int) and not 0 <= label < len(labels):
            raise SourceError(
                f"{self.folder / table.path}: row {number}: label {label} is not one of "
                f"the {len(labels)} classes",
                fix="fix the row or remove it",
            )
        own = text("id") or f"{table.path.with_suffix('').as_posix()}-{number}"
        prefix = self.id_prefix or self.name
        name = f"{prefix}/{own}"
        recording = text("recording")
        return ClipRef(
            id=name,
            location=f"{table.path.as_posix()}{ROW}{number}",
            labels=(labels[label],) if labels and isinstance(label, int) else texts_of(label, ";"),
            captions=texts_of(row.get(names.get("caption", ""))),
            tags=tags_of(row.get(names.get("tags", ""))),
            recording=f"{prefix}/{recording}" if recording else name,
            licence=text("licence") or self.licence,
            attribution=text("attribution") or self.attribution,
            split=text("split") or table.split,
        )
