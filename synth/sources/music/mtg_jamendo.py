"""MTG-Jamendo: 55,000 Creative Commons tracks with tags of genre, instrument and mood/theme.

Give the folder of the repository (Bogdanov et al., 2019), or one that holds some of its tables:

- `data/splits/split-N/autotagging[_SUBSET]-{train,validation,test}.tsv`, `data/autotagging[_SUBSET]
  .tsv`, `data/raw*.tsv`: TRACK_ID, ARTIST_ID, ALBUM_ID, PATH, DURATION, then a column a tag, as
  many as a track has. A few tags and 84 tracks are in no split. In a checkout without symbolic
  links `autotagging.tsv` is one line of text; `raw_30s_cleantags_50artists.tsv` is what it names.
- `data/tag_map.json`: spellings of tags that were merged into others. It changes nothing in tables
  that are clean already, and cleans the raw ones.
- `audio_licenses.txt`: four lines a track: path, "TITLE by ARTIST from Jamendo: URL", licence with
  its address, nothing.
- `data/download/{raw_30s,autotagging_moodtheme}_audio[-low]_sha256_tracks.txt`.

Audio is unpacked elsewhere, as `73/773.mp3`, or `73/773.low.mp3` of the smaller download.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, Literal

from pydantic import Field

from synth.base.errors import SourceError
from synth.corpus.licence import parse_licence
from synth.sources.reading.base import ClipRef
from synth.sources.reading.collected import AudioFiles, Collected, refuse_absent
from synth.sources.reading.files import (
    FIX_FILE,
    optional_file,
    read_checksums,
    read_form,
    read_text,
    require_file,
)
from synth.sources.reading.tables import FIX_ROW, seconds_of
from synth.sources.reading.tag_files import TaggedRecording, read_jamendo

PARTS: Final = ("train", "validation", "test")
_MEND: Final = "give the folder of the repository mtg-jamendo-dataset, or of its autotagging*.tsv"
_PATH: Final = re.compile(r"(?:\d+/)?(?P<track>\d+)(?:\.\w+)?\.mp3")
_ADDRESS: Final = re.compile(r"https?://creativecommons\.org/\S+")
_WORDS: Final = re.compile(
    r"(?i)(?:available under (?:an? |the )?)?(?P<words>.*?)(?::\s*https?:.*)?"
)


class MtgJamendo(Collected):
    """The tables of `root`, and a folder of audio.

    Args:
        root: The repository's folder, or any folder with the tables.
        audio: Where the archives were unpacked, below `root` or absolute; by default `audio`,
            `audio-low`, `raw_30s/audio` or `raw_30s/audio-low`, the first that is there.
        subset: Only tracks with tags of this kind, and only those tags; "" for all.
        split: Which of the five splits. Without one that is there, or with none, the clips are
            those of the whole table and have no split.
        table: A table to read instead, below `root` or absolute: `data/raw_30s.tsv`.
    """

    name: ClassVar[str] = "mtg_jamendo"
    usual_audio: ClassVar[tuple[str, ...]] = (
        "audio",
        "audio-low",
        "raw_30s/audio",
        "raw_30s/audio-low",
    )
    subset: Literal["", "genre", "instrument", "moodtheme", "top50tags"] = ""
    split: int | None = Field(default=0, ge=0, le=4)
    table: Path | None = None

    def refs(self) -> Iterator[ClipRef]:
        """One clip a track."""
        tables = self._tables()
        files = self.files()
        tag_map = self._companion("tag_map.json")
        spellings = read_form(tag_map, dict[str, dict[str, str]]) if tag_map else {}
        merged = {
            (category, name): into
            for category, names in spellings.items()
            for name, into in names.items()
        }
        rights = read_rights(self._companion("audio_licenses.txt"))
        seen: dict[str, Path] = {}
        for split, table in tables:
            for track in read_jamendo(table, merged):
                if track.id in seen:
                    raise SourceError(
                        f"{table}: line {track.line}: {track.id} is in {seen[track.id]} already",
                        fix="keep one row per track",
                    )
                seen[track.id] = table
                yield _ref(table, track, split, files, rights)

    def checksums(self) -> Mapping[str, str]:
        """SHA-256 of the tracks by location, from the lists of `data/download`.

        A path for which the two downloads publish different ones is left out: the folder does not
        say which of them it is.
        """
        files = self.files()
        if files is None:
            return {}
        checksums: dict[str, set[str]] = {}
        for path in sorted((self.root / "data" / "download").glob("*_audio*_sha256_tracks.txt")):
            for place, checksum in read_checksums(path, "sha256"):
                location = (files.folder / place).as_posix()
                if (self.root / location).is_file():
                    checksums.setdefault(location, set()).add(checksum)
        return {location: sums.pop() for location, sums in checksums.items() if len(sums) == 1}

    def _tables(self) -> list[tuple[str, Path]]:
        """Tables by split, "" for a table of all."""
        if self.table is not None:
            return [("", require_file(self.root / self.table, "the table", _MEND))]
        stem = f"autotagging_{self.subset}" if self.subset else "autotagging"
        folders = (f"data/splits/split-{self.split}", f"splits/split-{self.split}", "")
        for folder in folders if self.split is not None else ():
            parts = [(part, self.root / folder / f"{stem}-{part}.tsv") for part in PARTS]
            if present := [(part, path) for part, path in parts if path.is_file()]:
                return present
        names = (
            (f"{stem}.tsv",) if self.subset else ("raw_30s_cleantags_50artists.tsv", f"{stem}.tsv")
        )
        paths = (self.root / folder / name for folder in ("data", "") for name in names)
        whole = next(filter(Path.is_file, paths), None)
        refuse_absent(self.root, [whole] if whole else [], f"{stem}*.tsv", _MEND)
        return [("", whole)] if whole else []

    def _companion(self, name: str) -> Path | None:
        paths = (optional_file(self.root / folder / name, "a companion") for folder in ("", "data"))
        return next((path for path in paths if path), None)


@dataclass(frozen=True, slots=True)
class TrackRights:
    """Whom to credit for a track (title, author and address), and its licence."""

    credit: str
    licence: str


def read_rights(path: Path | None) -> dict[str, TrackRights]:
    """Licences by track number ("773"); none where there is no file."""
    if path is None:
        return {}
    rights: dict[str, TrackRights] = {}
    lines = [line.strip() for line in read_text(path).split("\n")]
    starts = [number for number, line in enumerate(lines) if _PATH.fullmatch(line)]
    if not starts:
        raise SourceError(f"{path}: names no track", fix=FIX_FILE)
    for first, after in zip(starts, [*starts[1:], len(lines)], strict=True):
        block = [line for line in lines[first + 1 : after] if line]
        match = _PATH.fullmatch(lines[first])
        if len(block) < 2 or match is None:
            raise SourceError(
                f"{path}: line {first + 1}: expected a credit and a licence after {lines[first]}",
                fix=FIX_FILE,
            )
        address, words = _ADDRESS.search(block[-1]), _WORDS.fullmatch(block[-1])
        text = address[0] if address else words["words"] if words else block[-1]
        rights[match["track"]] = TrackRights(" ".join(block[:-1]), parse_licence(text).id)
    return rights


def track_number(track_id: str, where: str) -> str:
    """Jamendo's own number of a track: "773" of "track_0000773" or "773"."""
    digits = track_id.removeprefix("track_")
    if not (digits.isascii() and digits.isdecimal()):
        raise SourceError(
            f"{where}: {track_id!r} is not a track id, expected track_0000773",
            fix=FIX_ROW,
        )
    return str(int(digits))


def _ref(
    table: Path,
    track: TaggedRecording,
    split: str,
    files: AudioFiles | None,
    rights: Mapping[str, TrackRights],
) -> ClipRef:
    where = f"{table}: line {track.line}"
    number = track_number(track.id, where)
    right = rights.get(number, TrackRights(f"Jamendo track {number}", "unknown"))
    low = f"{track.path.removesuffix('.mp3')}.low.mp3"
    return ClipRef(
        id=f"mtg_jamendo/{number}",
        location=files.find_path(track.path, low) if files else track.path,
        recording=f"jamendo/{number}",
        licence=right.licence,
        attribution=right.credit,
        split=split,
        tags=track.tags,
        duration_s=seconds_of(track.duration, "DURATION", where, is_length=True),
    )
