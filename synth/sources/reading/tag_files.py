"""Readers of tag lists and captions: MTG-Jamendo, MSD, LP-MusicCaps, MusicCaps, CSV, Parquet.

The sources of these datasets read tags by what is here.
"""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from synth.base import doors
from synth.base.doors import tidy_text
from synth.base.errors import SourceError
from synth.labels.lexicon import Tag
from synth.sources.reading.files import read_json, require_file
from synth.sources.reading.tables import Columns, TableRow, read_list, read_rows
from synth.text.tags.tags import TagCategory, TagVocabulary, find_category, spell

# Tables of MTG-Jamendo: a row a track, with as many columns as it has tags.
#
# TRACK_ID, ARTIST_ID, ALBUM_ID, PATH, DURATION, then `category---tag` in each further column;
# parted by tabs, nothing quoted, with or without a header.


HEADER: Final = ("TRACK_ID", "ARTIST_ID", "ALBUM_ID", "PATH", "DURATION", "TAGS")
_NONE: Final[Mapping[tuple[str, str], str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class TaggedRecording:
    """A recording as a file tells of it.

    Args:
        id: As in the file, else the number of its row from 1.
        tags: Its tags, each once, as listed; a listed name stands as it is spelled in sentences
            ("electricguitar" as "electric guitar").
        path: Of its audio; in MTG-Jamendo below the folder of the archives: "73/773.mp3".
        duration: In seconds, as MTG-Jamendo writes it.
        line: Where MTG-Jamendo has it.
    """

    id: str
    tags: tuple[Tag, ...] = ()
    caption: str = ""
    path: str = ""
    duration: str = ""
    line: int = 0


def read_jamendo(
    path: Path, merged: Mapping[tuple[str, str], str] = _NONE
) -> Iterator[TaggedRecording]:
    """The rows of a table, one at a time; `merged` are other spellings of tags (`tag_map.json`)."""
    track = None
    try:
        doors.require_regular(path, refuse=SourceError)
        with path.open(encoding="utf-8-sig", newline="\n") as lines:
            for track in _read_tracks(path, lines, merged):
                yield track
    except OSError as error:
        raise SourceError(
            f"{path}: cannot be read: {error.strerror or error}", fix="check the path"
        ) from error
    except UnicodeDecodeError as error:
        raise SourceError(f"{path}: is not text in UTF-8", fix="save it as UTF-8") from error
    if track is None:
        raise SourceError(f"{path}: has no rows", fix="use the file as published")


def _read_tracks(
    path: Path, lines: Iterable[str], merged: Mapping[tuple[str, str], str]
) -> Iterator[TaggedRecording]:
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
        yield TaggedRecording(cells[0], _drop_repeats(tags), "", cells[3], cells[4], number)


def _tag(where: str, cell: str, merged: Mapping[tuple[str, str], str]) -> Tag:
    category, parted, name = cell.strip().partition("---")
    if not (category and parted and name):
        raise SourceError(f"{where}: {cell!r} is not a tag", fix="expected category---tag")
    return Tag(category, spell(" ".join(merged.get((category, name), name).split())))


FORMATS: Final = (
    "an MTG-Jamendo TSV, a JSON list of tags (or tags and their numbers), LP-MusicCaps or "
    "MusicCaps JSON, or a CSV or Parquet file with a column caption, tag, tags (`rock; piano` or "
    "`genre:rock; instrument:piano`) or aspect_list"
)
_ID_COLUMNS: Final = ("id", "audiocap_id", "track_id", "ytid", "path", "file")
_TAG_COLUMNS: Final = ("tags", "tag", "aspect_list")


def read_items(path: Path) -> list[TaggedRecording]:
    """The recordings of any file in one of `FORMATS`."""
    if path.suffix == ".json":
        return _json_items(path)
    require_file(path, "the file of tags or captions", f"expected {FORMATS}")
    with path.open("rb") as file:
        is_jamendo = file.read(64).removeprefix(BOM_UTF8).startswith(b"TRACK_ID\tARTIST_ID")
    return list(read_jamendo(path) if is_jamendo else _table_items(path))


def read_vocabulary(path: Path) -> TagVocabulary:
    """All tags that a file names; the shipped list gives a category where the file gives none."""
    vocabulary = TagVocabulary.of(chain.from_iterable(item.tags for item in read_items(path)))
    if not vocabulary.tags:
        raise SourceError(f"{path}: names no tag", fix=f"expected {FORMATS}")
    return vocabulary


def read_captions(path: Path) -> list[TaggedRecording]:
    """The recordings of a file that have captions."""
    items = [item for item in read_items(path) if item.caption]
    if not items:
        raise SourceError(
            f"{path}: has no caption", fix="expected a caption column, or LP-MusicCaps JSON"
        )
    return items


@lru_cache(maxsize=65_536)
def parse_tag(name: str) -> Tag:
    """A tag as sentences spell it, with the shipped list's category if it is there."""
    kind = find_category(name)
    return Tag(kind.value if kind else "", _spell(name))


def _json_items(path: Path) -> list[TaggedRecording]:
    value = read_json(path)
    if isinstance(value, dict) and all(type(number) is int for number in value.values()):
        value = list(value)  # {"Speech": 0}: labels and their numbers
    match value:
        case [str(), *_]:
            return [
                TaggedRecording(str(row), (_parse_name(path, row, name),))
                for row, name in enumerate(value, start=1)
            ]
        case [{"prediction": _}, *_]:
            return [_parse_prediction(path, row, entry) for row, entry in enumerate(value, start=1)]
        case dict() if value and all(
            isinstance(entry, dict) and "aspect_list" in entry for entry in value.values()
        ):
            return [_parse_aspects(path, key, entry) for key, entry in value.items()]
    raise SourceError(f"{path}: holds neither tags nor captions", fix=f"expected {FORMATS}")


def _parse_prediction(path: Path, row: int, entry: Any) -> TaggedRecording:
    match entry:
        case {"prediction": str(caption)} if text := _tidy(caption):
            return TaggedRecording(str(row), (), text)
    raise SourceError(f"{path}: entry {row}: has no text in prediction", fix="leave it out")


def _parse_aspects(path: Path, key: str, entry: Mapping[str, Any]) -> TaggedRecording:
    match entry:
        case {"aspect_list": list(aspects), "caption": str(caption)}:
            tags = _drop_repeats(_parse_name(path, key, aspect) for aspect in aspects)
            return TaggedRecording(key, tags, _tidy(caption))
    raise SourceError(
        f"{path}: entry {key!r}: aspect_list is not a list, or caption not text", fix="leave it out"
    )


def _parse_name(path: Path, row: int | str, name: Any) -> Tag:
    if not isinstance(name, str) or not _tidy(name):
        raise SourceError(f"{path}: entry {row}: {name!r} is not a tag", fix="expected text")
    return parse_tag(name)


def _spell(name: str) -> str:
    return spell(_tidy(name))


def _table_items(path: Path) -> Iterator[TaggedRecording]:
    """A row for each item; or `id,category,tag`, a row for each tag."""
    gathered: dict[str, TaggedRecording] = {}
    for row in read_rows(path, Columns((), f"expected {FORMATS}")):
        if path.suffix == ".parquet" and "caption" not in row:  # as ours have it
            row = TableRow(
                {"caption" if key == "text" else key: row[key] for key in row}, row.where
            )
        names = next((column for column in _TAG_COLUMNS if column in row), None)
        if names is None and "caption" not in row:
            raise SourceError(
                f"{path}: has the columns {', '.join(row)}", fix=f"expected {FORMATS}"
            )
        key = next((column for column in _ID_COLUMNS if column in row), None)
        item = _read_item(row, key, names)
        if key is None or "caption" in row:
            yield item
        else:
            before = gathered.get(item.id, item)
            gathered[item.id] = replace(before, tags=_drop_repeats((*before.tags, *item.tags)))
    yield from gathered.values()


def _read_item(row: TableRow, key: str | None, names: str | None) -> TaggedRecording:
    category = row.get("category", "").strip()
    parts = _cells(row, names) if names else []
    pairs = [(category, part) if category else _split_category(part) for part in parts]
    tags = (Tag(group, _spell(part)) if group else parse_tag(part) for group, part in pairs)
    kind, number = row.place.split()
    return TaggedRecording(
        row[key].strip() if key else str(int(number) - (kind == "line")),
        _drop_repeats(tags),
        _tidy(row.get("caption", "")),
        row.get("path") or row.get("file_name", ""),
    )


def _split_category(tag: str) -> tuple[str, str]:
    """Category and name of `genre:rock`; no category where it is none of ours."""
    category, colon, name = tag.partition(":")
    is_one = colon and category.strip() in set(TagCategory) and name.strip()
    return (category.strip(), name.strip()) if is_one else ("", tag)


def _cells(row: TableRow, column: str) -> list[str]:
    """The tags of one cell: a list literal, or parted by semicolons, else by commas."""
    cell = row[column]
    if cell.lstrip().startswith("["):
        parts = read_list(cell, f"{row.where}: {column}")
    else:
        parts = cell.split(";" if ";" in cell else ",")
    return [part for part in map(_tidy, parts) if part]


def _drop_repeats(tags: Iterable[Tag]) -> tuple[Tag, ...]:
    return tuple(dict.fromkeys(tags))


def _tidy(text: str) -> str:
    return " ".join(tidy_text(text).split())
