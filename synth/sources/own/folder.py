"""Your own sounds: a folder per label, or an index file of paths, labels and captions.

An index in the folder is used: `index.csv`, or else the one CSV or Parquet file there that has a
column `path`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain, takewhile
from pathlib import Path
from typing import Any, ClassVar, Final, Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field, model_validator

from synth.base.errors import SourceError
from synth.base.own_label import LabelName
from synth.base.rng import Randomness
from synth.base.shipped import read_shipped_rows
from synth.base.units import Seconds
from synth.sources import innermost
from synth.sources.own.split_names import find_split_folders
from synth.sources.reading.base import ClipRef, Settings
from synth.sources.reading.collected import unheard_row
from synth.sources.reading.files import (
    FileSource,
    explain_escape,
    find_file,
    require_file,
    require_folder,
    walk,
)
from synth.sources.reading.tables import (
    Columns,
    TableRow,
    join_captions,
    list_numbered,
    make_ref,
    read_rows,
)

_MOST_HEADER: Final = 1 << 16
_COLUMNS: Final = Columns(
    required=("path",),
    optional=("label", "caption", "tags", "split", "recording", "licence", "attribution"),
    fix="an index needs at least the column path",
    usual={
        **dict.fromkeys(("file", "filename", "file_name", "filepath", "file_path"), "path"),
        **dict.fromkeys(("category", "class", "labels"), "label"),
    },
    numbered="caption",
)
DEFAULT_INDEX: Final = "index.csv"
_TABLES: Final = (".csv", ".parquet")
_TEXTS: Final = (*_TABLES, ".tsv", ".txt", ".md", ".rst", ".pdf", ".json", ".yaml", ".yml")
_PAPERS: Final = frozenset({"licence", "license", "readme", "copying", "authors"})
"""Names of texts that are published without a suffix."""


class FolderSource(FileSource):
    """Audio files below `root`.

    Args:
        root: The folder. Without an index, each of its sub-folders is a label, and every file in
            it is a clip: files without audio go to the quarantine table. Folders named train, val,
            test, fold1 and the like are splits, above the labels or below them. Texts and tables
            next to the sub-folders are not clips, and names that begin with a dot are skipped.
        index: CSV or Parquet file, below `root` or absolute; by default `index.csv` in `root`, or
            the one CSV or Parquet file there that has a column `path`. Besides `path` (relative to
            `root`) it may have `label` (several are separated by `;`), `caption`, `tags`
            ("genre:rock; mood:calm", or bare names; `,` and `|` also separate them), `split`,
            `recording`, `licence` and `attribution`. Rows that differ in `caption` alone are one
            clip with all their captions; so is a row with `caption_1`, `caption_2` and so on. If it
            has no labels, captions or tags, the folders of a path are its label and split.
        licence: Licence of clips without one in the index.
        attribution: Whom to credit for clips without an attribution in the index.
        id_prefix: First part of every clip id.
    """

    name: ClassVar[str] = "folder"
    index: Path | None = None
    licence: str = "unknown"
    attribution: str = ""
    id_prefix: str = Field(default="folder", pattern=r"^[A-Za-z0-9_.-]+$")

    def refs(self) -> Iterator[ClipRef]:
        """One clip a file; without a `recording` column each clip is its own recording."""
        require_folder(self.root, "sound folder", "give an existing folder as root")
        index = self.find_index()
        return self._by_folder() if index is None else self._by_index(index)

    def find_index(self) -> Path | None:
        """The index, as `index` names it, or as it lies in the folder; None where there is none."""
        if self.index is not None or not self.root.is_dir():
            return self.index
        if (self.root / DEFAULT_INDEX).is_file():
            return Path(DEFAULT_INDEX)
        indexes = [path.name for path in self._tables() if "path" in _header(path)]
        if len(indexes) > 1:
            raise SourceError(
                f"{self.root}: each of {', '.join(indexes)} could be the index",
                fix=f"choose one, as in index: {indexes[0]}",
            )
        return Path(indexes[0]) if indexes else None

    def _tables(self) -> list[Path]:
        """The CSV and Parquet files beside the sub-folders, by name."""
        own = takewhile(lambda path: path.parent == self.root, walk(self.root))
        return [path for path in own if path.suffix.lower() in _TABLES and path.is_file()]

    def _by_folder(self) -> Iterator[ClipRef]:
        if not any(path.is_dir() for path in self.root.iterdir()):
            raise SourceError(
                f"{self.root}: has no sub-folders",
                fix="put the files of each label into a folder of that name, or set index: FILE",
            )
        paths = [path.relative_to(self.root) for path in walk(self.root)]
        folders = find_split_folders(self.root, (path for path in paths if not _is_text(path)))
        for location in paths:
            if len(location.parts) > 1 or not _is_text(location):
                label, split = folders.read(location)
                ref = self._ref(location.as_posix(), TableRow({}, ""), ())
                yield replace(ref, labels=label, split=split)

    def _by_index(self, index: Path) -> Iterator[ClipRef]:
        path = find_file(self.root, str(index))
        there = ", ".join(table.name for table in self._tables()) or "no CSV or Parquet file"
        require_file(path, "index", f"`index` is a path below root, where there is: {there}")
        places: dict[str, str] = {}
        clips: dict[str, ClipRef] = {}
        for row in read_rows(path, _COLUMNS):
            if not row["path"].strip():
                row.refuse("names no path")
            captions = list_numbered(_COLUMNS.numbered, row)
            ref = self._ref(Path(row["path"]).as_posix(), row, captions)
            joined = join_captions(clips.setdefault(ref.location, ref), ref)
            if joined is None:
                row.refuse(
                    f"{ref.location} is already listed in {places[ref.location]}",
                    "rows of one file may differ in their caption alone; separate labels with ';'",
                )
            places.setdefault(ref.location, row.place)
            clips[ref.location] = joined
        for location, place in places.items():
            is_odd = ".." in location or location.startswith("/")
            if is_odd and (reason := explain_escape(location, self.root)):
                line = f"{place.rpartition(': ')[2]} of {path.name}"
                clips[location] = replace(clips[location], refusal=f"{reason} ({line})")
        if not row.keys().isdisjoint(("label", "tags", *captions)):
            yield from clips.values()
            return
        folders = find_split_folders(self.root, map(Path, clips))
        for location, ref in clips.items():
            label, split = folders.read(Path(location))
            yield replace(ref, labels=label, split=ref.split or split)

    def _ref(self, location: str, row: TableRow, captions: Sequence[str]) -> ClipRef:
        def texts(role: str, separators: str) -> tuple[str, ...]:
            columns = captions if role == "caption" else (role,)
            return tuple(chain.from_iterable(row.texts(name, separators) for name in columns))

        return make_ref(
            lambda role: row.get(role, ""),
            texts,
            prefix=self.id_prefix,
            name=location,
            location=location,
            licence=self.licence,
            attribution=self.attribution,
            split=row.get("split", ""),
        )


def index_line(source: object) -> str:
    """`index: index.csv` of a folder that has one, for summaries; "" of all else."""
    source = innermost(source)
    index = source.find_index() if isinstance(source, FolderSource) else None
    return f"index: {index}" if index is not None else ""


def _is_text(path: Path) -> bool:
    return path.suffix.lower() in _TEXTS or path.name.lower() in _PAPERS


def _header(path: Path) -> list[str]:
    """The columns of a table that may be an index, or may be anything."""
    try:
        if path.suffix.lower() == ".parquet":
            names: list[str] = pq.read_schema(path).names
            return names
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            line = file.readline(_MOST_HEADER)
    except (pa.ArrowException, OSError):
        return []
    return [name.strip('" ') for name in re.split(r"[,;\t]", line.strip())]


# Labels without recordings, with drawn lengths: for planning only.


class VocabularySource(Settings):
    """Labels with a few drawn lengths each.

    Args:
        labels: `audioset` (527), `esc50`, or a list.
        takes: Clips per label.
        seconds: Shortest and longest; lengths are spread evenly over the logarithm.
        seed: Another seed draws other lengths.
    """

    name: ClassVar[str] = "vocabulary"
    labels: Literal["audioset", "esc50"] | tuple[LabelName, ...] = "audioset"
    takes: int = Field(default=5, ge=1, le=10_000)
    seconds: tuple[Seconds, Seconds] = (0.5, 10.0)
    seed: int = Field(default=0, ge=0, lt=2**63)

    @model_validator(mode="after")
    def _in_order(self) -> VocabularySource:
        shortest, longest = self.seconds
        if not 0 < shortest <= longest:
            raise ValueError(f"seconds: expected 0 < shortest <= longest, got {self.seconds}")
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The labels."""
        if not isinstance(self.labels, str):
            return self.labels
        rows = read_shipped_rows(f"lexicons/sources/{self.labels}.csv")
        return tuple(row["label"] for row in rows if row["family"])

    def refs(self) -> Iterator[ClipRef]:
        """One clip a take."""
        for label in self.names:
            for take in range(self.takes):
                name = f"vocabulary/{label}-{take:05d}"
                yield ClipRef(name, f"{label}/{take}", (label,), recording=name, licence="CC0-1.0")

    def row(self, ref: ClipRef) -> dict[str, Any]:
        """What the catalogue would say of a clip, had it been recorded."""
        label, take = ref.location.rsplit("/", 1)
        rng = Randomness(self.seed).at(f"vocabulary/{label}", int(take))
        low, high = np.log(self.seconds)
        return unheard_row(float(np.exp(rng.uniform(low, high))), self.name, str(self.seed), ref.id)
