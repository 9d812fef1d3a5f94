"""Your own sounds: a folder per label, or an index file of paths, labels and captions.

An index in the folder is used: `index.csv`, or else the one CSV or Parquet file there that has a
column `path`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path
from typing import ClassVar, Final

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import Field

from synth.base.errors import SourceError
from synth.labels.tag import Tag
from synth.sources.choice import innermost
from synth.sources.reading.base import ClipRef
from synth.sources.reading.files import FileSource, require_file, require_folder
from synth.sources.reading.tables import Columns, read_rows, tags_of, texts_of
from synth.sources.reading.walk import walk

SEPARATOR: Final = ";"
_COLUMNS: Final = Columns(
    required=("path",),
    optional=("label", "caption", "tags", "split", "recording", "licence", "attribution"),
    fix="an index needs at least the column path",
    usual={
        **dict.fromkeys(("file", "filename", "file_name", "filepath", "file_path"), "path"),
        **dict.fromkeys(("category", "class", "labels"), "label"),
    },
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
            it is a clip: files without audio go to the quarantine table. Texts and tables next to
            the sub-folders are not clips, and names that begin with a dot are skipped.
        index: CSV or Parquet file, below `root` or absolute; by default `index.csv` in `root`, or
            the one CSV or Parquet file there that has a column `path`. Besides `path` (relative to
            `root`) it may have `label` (several are separated by `;`), `caption`, `tags`
            ("genre:rock; mood:calm", or bare names; `,` and `|` also separate them), `split`,
            `recording`, `licence` and `attribution`. If it has no labels, captions or tags, the
            first folder of a path is its label.
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
        """One clip a file or a row; without a `recording` column each clip is its own recording.

        Raises:
            SourceError: If the folder or index is missing, or lists a path twice.
        """
        require_folder(self.root, "sound folder", "give an existing folder as root")
        index = self.find_index()
        return self._by_folder() if index is None else self._by_index(index)

    def find_index(self) -> Path | None:
        """The index, as `index` names it, or as it lies in the folder; None where there is none.

        Raises:
            SourceError: If several files in the folder could be the index.
        """
        if self.index is not None or not self.root.is_dir():
            return self.index
        if (self.root / DEFAULT_INDEX).is_file():
            return Path(DEFAULT_INDEX)
        found = [path.name for path in self._tables() if "path" in _header(path)]
        if len(found) > 1:
            raise SourceError(
                f"{self.root}: each of {', '.join(found)} could be the index",
                fix=f"name one, as in index: {found[0]}",
            )
        return Path(found[0]) if found else None

    def _tables(self) -> list[Path]:
        """The CSV and Parquet files beside the sub-folders, by name."""
        own = takewhile(lambda path: path.parent == self.root, walk(self.root))
        return [path for path in own if path.suffix.lower() in _TABLES and path.is_file()]

    def _by_folder(self) -> Iterator[ClipRef]:
        if not any(path.is_dir() for path in self.root.iterdir()):
            raise SourceError(
                f"{self.root}: holds no sub-folders",
                fix="put the files of each label into a folder of that name, or set index: FILE",
            )
        loose = []
        for path in walk(self.root):
            location = path.relative_to(self.root)
            if len(location.parts) == 1:
                is_text = path.suffix.lower() in _TEXTS or path.name.lower() in _PAPERS
                loose += [] if is_text else [path.name]
            else:
                yield self._ref(location.as_posix(), labels=location.parts[:1])
        for name in loose:
            yield self._ref(name, labels=())

    def _by_index(self, index: Path) -> Iterator[ClipRef]:
        path = self.root / index
        there = ", ".join(each.name for each in self._tables()) or "no CSV or Parquet file"
        require_file(path, "index", f"`index` is a path below root, where there is: {there}")
        seen: dict[str, str] = {}
        rows = read_rows(path, _COLUMNS)
        for row in rows:
            if not row["path"].strip():
                row.refuse("names no path")
            location = Path(row["path"]).as_posix()
            if location in seen:
                row.refuse(
                    f"{location} is already listed in {seen[location]}",
                    "keep one row per file; separate labels with ';'",
                )
            seen[location] = row.place
            says_nothing = row.keys().isdisjoint(("label", "caption", "tags"))
            yield self._ref(
                location,
                labels=_folder_label(location)
                if says_nothing
                else texts_of(row.get("label"), SEPARATOR),
                captions=texts_of(row.get("caption")),
                tags=tags_of(row.get("tags")),
                recording=row.get("recording", ""),
                licence=row.get("licence", ""),
                attribution=row.get("attribution", ""),
                split=row.get("split", ""),
            )

    def _ref(
        self,
        location: str,
        *,
        labels: tuple[str, ...],
        captions: tuple[str, ...] = (),
        tags: tuple[Tag, ...] = (),
        recording: str = "",
        licence: str = "",
        attribution: str = "",
        split: str = "",
    ) -> ClipRef:
        return ClipRef(
            id=f"{self.id_prefix}/{location}",
            location=location,
            labels=labels,
            captions=captions,
            tags=tags,
            recording=f"{self.id_prefix}/{recording or location}",
            licence=licence or self.licence,
            attribution=attribution or self.attribution,
            split=split,
        )


def index_line(source: object) -> str:
    """`index: index.csv` of a folder that has one, for summaries; "" of all else."""
    source = innermost(source)
    index = source.find_index() if isinstance(source, FolderSource) else None
    return f"index: {index}" if index is not None else ""


def _folder_label(location: str) -> tuple[str, ...]:
    """The first folder of a path below the root."""
    parts = Path(location).parts
    return parts[:1] if len(parts) > 1 and parts[0] not in ("/", "..") else ()


def _header(path: Path) -> list[str]:
    """The columns of a table that may be an index, or may be anything."""
    try:
        if path.suffix.lower() == ".parquet":
            names: list[str] = pq.read_schema(path).names
            return names
        with path.open(encoding="utf-8-sig", errors="replace", newline="") as file:
            line = file.readline()
    except (pa.ArrowException, OSError):
        return []
    return [name.strip('" ') for name in re.split(r"[,;\t]", line.strip())]
