"""Your own sounds: one folder a label, or an index file of paths, labels and captions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Final

from pydantic import Field

from synth.errors import SourceError
from synth.sources.base import ClipRef, FileSource, require_folder
from synth.sources.tables import Columns, read_rows, tags_of, texts_of
from synth.sources.walk import walk
from synth.tag import Tag

SEPARATOR: Final = ";"
_COLUMNS: Final = Columns(
    required=("path",),
    optional=("label", "caption", "tags", "split", "recording", "licence", "attribution"),
    mend="an index needs at least the column path",
)


class Folder(FileSource):
    """Audio files below `root`.

    Args:
        root: The folder. Without `index`, each of its sub-folders is a label, and every file in it
            is a clip: what is no audio ends in the quarantine table. Names that begin with a dot
            are passed over.
        index: CSV or Parquet file, below `root` or absolute, with the column `path` (below `root`)
            and any of `label` (several parted by `;`), `caption`, `tags` ("genre:rock; mood:calm",
            or bare names; `,` and `|` part them too), `split`, `recording`, `licence` and
            `attribution`.
        licence: Licence of clips for which the index names none.
        attribution: Credit for clips for which the index names none.
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
        require_folder(self.root, "the sound folder", "give an existing folder as root")
        return self._by_folder() if self.index is None else self._by_index(self.index)

    def _by_folder(self) -> Iterator[ClipRef]:
        if not any(path.is_dir() for path in self.root.iterdir()):
            raise SourceError(
                f"{self.root}: holds no sub-folders",
                mend="put the files of each label into a folder of that name, or set index: FILE",
            )
        loose = []
        for path in walk(self.root):
            location = path.relative_to(self.root)
            if len(location.parts) == 1:
                loose.append(path.name)
            else:
                yield self._ref(location.as_posix(), labels=location.parts[:1])
        for name in loose:
            yield self._ref(name, labels=())

    def _by_index(self, index: Path) -> Iterator[ClipRef]:
        path = self.root / index
        seen: dict[str, str] = {}
        rows = read_rows(path, _COLUMNS)
        for row in rows:
            if not row["path"].strip():
                row.wrong("names no path")
            location = Path(row["path"]).as_posix()
            if location in seen:
                row.wrong(
                    f"{location} is listed in {seen[location]} already",
                    "keep one row a file; part several labels by ';'",
                )
            seen[location] = row.place
            yield self._ref(
                location,
                labels=texts_of(row.get("label"), SEPARATOR),
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
