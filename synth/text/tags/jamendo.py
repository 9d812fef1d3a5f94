"""Tables of MTG-Jamendo: a row a track, with as many columns as it has tags.

TRACK_ID, ARTIST_ID, ALBUM_ID, PATH, DURATION, then `category---tag` in each further column; parted
by tabs, nothing quoted, with or without a header.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

from synth.base.doors import require_regular
from synth.base.errors import SourceError
from synth.labels.tag import Tag
from synth.text.tags.tag_words import spell

HEADER: Final = ("TRACK_ID", "ARTIST_ID", "ALBUM_ID", "PATH", "DURATION", "TAGS")
_NONE: Final[Mapping[tuple[str, str], str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class JamendoTrack:
    """A row of one of MTG-Jamendo's tables.

    Args:
        id: As in the table: "track_0000773".
        path: Of its audio below the folder of the archives: "73/773.mp3".
        duration: In seconds, as the table writes it.
        tags: Each once, in the order of the table.
        line: In the table, from 1.
    """

    id: str
    path: str
    duration: str
    tags: tuple[Tag, ...]
    line: int


def read_jamendo(
    path: Path, merged: Mapping[tuple[str, str], str] = _NONE
) -> Iterator[JamendoTrack]:
    """The rows of a table, one at a time.

    Args:
        path: The table.
        merged: What other spellings of a tag are, as `tag_map.json` has them: ("genre", "ambiant")
            is "ambient".
    """
    track = None
    try:
        require_regular(path, refuse=SourceError)
        with path.open(encoding="utf-8-sig", newline="\n") as lines:
            for track in _tracks(path, lines, merged):
                yield track
    except OSError as error:
        raise SourceError(
            f"{path}: cannot be read: {error.strerror or error}", fix="check the path"
        ) from error
    except UnicodeDecodeError as error:
        raise SourceError(f"{path}: is not text in UTF-8", fix="save it as UTF-8") from error
    if track is None:
        raise SourceError(f"{path}: holds no rows", fix="use the file as published")


def _tracks(
    path: Path, lines: Iterable[str], merged: Mapping[tuple[str, str], str]
) -> Iterator[JamendoTrack]:
    for number, line in enumerate(lines, start=1):
        cells = line.rstrip("\r\n").split("\t")
        if not line.strip() or (number == 1 and cells[0] == HEADER[0]):
            continue
        where = f"{path}: line {number}"
        if len(cells) < len(HEADER):
            raise SourceError(
                f"{where}: {len(cells)} columns", fix="expected six or more, separated by tabs"
            )
        tags = (_tag(where, cell, merged) for cell in cells[5:] if cell.strip())
        yield JamendoTrack(cells[0], cells[3], cells[4], tuple(dict.fromkeys(tags)), number)


def _tag(where: str, cell: str, merged: Mapping[tuple[str, str], str]) -> Tag:
    category, parted, name = cell.strip().partition("---")
    if not (category and parted and name):
        raise SourceError(f"{where}: {cell!r} is not a tag", fix="expected category---tag")
    return Tag(category, spell(" ".join(merged.get((category, name), name).split())))
