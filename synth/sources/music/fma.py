"""FMA: 106,574 tracks of the Free Music Archive, in four sizes (Defferrard et al., 2017).

Give the folder in which `fma_metadata.zip` and the archives of audio were unpacked:

- `fma_metadata/tracks.csv`: three header rows (a group, a name, and "track_id" alone), then a row a
  track whose fields hold commas, quotes and line breaks; used are set.split, set.subset,
  track.title, track.license (words as the artist chose them), track.duration, track.genres,
  track.genres_all and track.tags (lists as Python writes them) and artist.name;
- `fma_metadata/genres.csv`: genre_id, #tracks, parent, title, top_level;
- `fma_small/000/000002.mp3` and so on, for fma_small, _medium, _large (30 s each, from the middle
  of the track) and _full (the whole track), each with `checksums`: SHA-1, two spaces, path.

A track is in all sizes above its own. Some dozens of the clips are known to be shorter than 30 s,
or empty; these end in the quarantine, or are as long as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import ClassVar, Final, Literal

from synth.base.errors import SourceError
from synth.corpus.licence import parse_licence
from synth.labels.lexicon import Tag
from synth.sources.reading.base import ClipRef
from synth.sources.reading.collected import AudioFiles, Collected
from synth.sources.reading.files import (
    FIX_FILE,
    optional_file,
    read_checksums,
    require_file,
    require_folder,
)
from synth.sources.reading.tables import (
    Columns,
    TableRow,
    drop_duplicates,
    read_cells,
    read_list,
    read_rows,
)
from synth.sources.reading.tag_files import parse_tag

SIZES: Final = ("small", "medium", "large", "full")
CLIP_S: Final = 30.0
_MEND: Final = "give the folder that holds fma_metadata/ and fma_small/"
_NEEDED: Final = (
    *("set.split", "set.subset", "artist.name"),
    *("track.title", "track.license", "track.duration"),
    *("track.genres", "track.genres_all", "track.tags"),
)
_NUMBERS: Final = re.compile(r"\[\s*(?:\d+(?:\s*,\s*\d+)*)?\s*\]")


class Fma(Collected):
    """The tables of `root`, and the audio of one size.

    Args:
        root: Holds `fma_metadata/`, or its tables themselves.
        audio: Folder of the audio; by default the one of the size, `fma_small`.
        subset: Which size: each has the tracks of the smaller ones.
        uploader_tags: Take the free words that uploaders gave as tags of no category, too.
    """

    name: ClassVar[str] = "fma"
    subset: Literal["small", "medium", "large", "full"] = "small"
    uploader_tags: bool = False

    def list_usual(self) -> tuple[str, ...]:
        """The size's folder, or any other library's."""
        return f"fma_{self.subset}", *self.usual_audio

    def refs(self) -> Iterator[ClipRef]:
        """One clip a track of the size."""
        require_folder(self.root, "the folder of FMA", _MEND)
        folder = self.root / "fma_metadata"
        folder = folder if folder.is_dir() else self.root
        rows = read_rows(folder / "genres.csv", Columns(("genre_id", "title"), _MEND))
        genres = {row["genre_id"]: row["title"].strip() for row in rows}
        files = self.files()
        sizes = SIZES[: SIZES.index(self.subset) + 1]
        for row in drop_duplicates(_tracks(folder / "tracks.csv"), "track_id"):
            if row["set.subset"] not in SIZES:
                row.refuse(
                    f"set.subset is {row['set.subset']!r}, expected {', '.join(SIZES[:3])}",
                    FIX_FILE,
                )
            if row["set.subset"] in sizes:
                yield self._ref(row, genres, files)

    def checksums(self) -> Mapping[str, str]:
        """SHA-1 of the tracks by location, from the audio folder's own `checksums`."""
        files = self.files()
        if files is None:
            return {}
        path = optional_file(files.root / files.folder / "checksums", "the checksums")
        if path is None:
            return {}
        sums = read_checksums(path, "sha1")
        return {(files.folder / place).as_posix(): checksum for place, checksum in sums}

    def _ref(self, row: TableRow, genres: Mapping[str, str], files: AudioFiles | None) -> ClipRef:
        number = int(row["track_id"])
        path = f"{number:06d}"[:3] + f"/{number:06d}.mp3"
        whole_s = row.seconds("track.duration", is_length=True)
        title = row["track.title"].strip() or f"track {number}"
        return ClipRef(
            id=f"fma/{number:06d}",
            location=files.find_path(path) if files else path,
            recording=f"fma/{number}",
            licence=parse_licence(row["track.license"]).id,
            attribution=f"{title} by {row['artist.name'].strip() or 'unknown'}, "
            f"Free Music Archive {number}",
            split=row["set.split"],
            tags=self._tags(row, genres),
            duration_s=whole_s if self.subset == "full" else min(whole_s, CLIP_S),
        )

    def _tags(self, row: TableRow, genres: Mapping[str, str]) -> tuple[Tag, ...]:
        """Its genres, then those above them, then the uploader's words if they are asked for."""
        tags = []
        for number in (*_numbers(row, "track.genres"), *_numbers(row, "track.genres_all")):
            if number not in genres:
                row.refuse(f"genre {number} is not in genres.csv", "use both files as published")
            tags.append(Tag("genre", genres[number]))
        text = row["track.tags"] if self.uploader_tags else ""
        names = read_list(text, f"{row.where}: track.tags")
        tags.extend(parse_tag(name) for name in names if name.strip())
        return tuple(dict.fromkeys(tags))


def _numbers(row: TableRow, column: str) -> list[str]:
    """The numbers of a list as Python writes it."""
    text = row[column].strip() or "[]"
    if not _NUMBERS.fullmatch(text):
        row.refuse(f"{column} is {text[:40]!r}, expected a list of numbers", FIX_FILE)
    return [str(int(number)) for number in re.findall(r"[0-9]+", text)]


def _tracks(path: Path) -> Iterator[TableRow]:
    """The rows by group and name of the header, "track.title", and the first as "track_id"."""
    require_file(path, "the table of tracks", _MEND)
    rows = read_cells(path, _MEND)
    none: tuple[int, list[str]] = (0, [])
    groups, names, third = (next(rows, none)[1] for _ in range(3))
    if third[:1] != ["track_id"] or len(groups) != len(names):
        raise SourceError(f"{path}: lacks FMA's three header rows", fix=_MEND)
    pairs = list(zip(groups, names, strict=True))[1:]
    header = ["track_id", *(f"{group}.{name}" for group, name in pairs)]
    Columns(_NEEDED, _MEND).check(header, f"{path}: rows 1 and 2")
    row = None
    for line, cells in rows:
        where = f"{path}: line {line}"
        if len(cells) != len(header) or not (cells[0].isascii() and cells[0].isdecimal()):
            raise SourceError(
                f"{where}: expected {len(header)} fields, the first a number", fix=FIX_FILE
            )
        row = TableRow(dict(zip(header, cells, strict=True)), f"{where}: track {cells[0]}")
        yield row
    if row is None:
        raise SourceError(f"{path}: has no rows below its header", fix=_MEND)
