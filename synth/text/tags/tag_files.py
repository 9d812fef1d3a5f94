"""Readers of tag lists and captions: MTG-Jamendo, MSD, LP-MusicCaps, MusicCaps, CSV, Parquet.

Nothing in a file is evaluated: Python-literal lists, as MusicCaps has them in its CSV, are read by
a small grammar of quoted strings. The sources of these datasets read lists and tags by what is
here.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from synth.base import doors
from synth.base.errors import SourceError
from synth.labels.lexicon import Tag
from synth.text.tags.tags import TagCategory, TagVocabulary, find_category, spell

# Tables of MTG-Jamendo: a row a track, with as many columns as it has tags.
#
# TRACK_ID, ARTIST_ID, ALBUM_ID, PATH, DURATION, then `category---tag` in each further column;
# parted by tabs, nothing quoted, with or without a header.


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
        merged: What other spellings of a tag are, as `tag_map.json` has them: ("genre", "ambiant")
            is "ambient".
    """
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


FORMATS: Final = (
    "an MTG-Jamendo TSV, a JSON list of tags, LP-MusicCaps or MusicCaps JSON, or a CSV or Parquet "
    "file with a column caption, tag, tags (`rock; piano` or `genre:rock; instrument:piano`) or "
    "aspect_list"
)
_STRING: Final = re.compile(r"""'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)\"""")
_ESCAPE: Final = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))")
_PLAIN_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r"}
_ID_COLUMNS: Final = ("id", "audiocap_id", "track_id", "ytid", "path", "file")
_TAG_COLUMNS: Final = ("tags", "tag", "aspect_list")


@dataclass(frozen=True, slots=True)
class TaggedRecording:
    """A recording as a file tells of it.

    Args:
        id: As in the file, else the number of its row from 1.
        tags: Its tags, each once, as listed; a listed name stands as it is spelled in sentences
            ("electricguitar" as "electric guitar").
        caption: Its caption, "" where the file has none.
        path: Of its sound, "" where the file has none.
    """

    id: str
    tags: tuple[Tag, ...] = ()
    caption: str = ""
    path: str = ""


def read_items(path: Path) -> list[TaggedRecording]:
    """The recordings of any file in one of `FORMATS`."""
    if path.suffix == ".json":
        return _json_items(path)
    if path.suffix == ".parquet":
        return list(_table_items(path, *_read_parquet(path)))
    text = _text(path)
    if text.startswith("\t".join(HEADER[:2])):
        return [TaggedRecording(each.id, each.tags, "", each.path) for each in read_jamendo(path)]
    reader = csv.DictReader(io.StringIO(text, newline=""))
    return list(_table_items(path, reader.fieldnames or (), _number_lines(path, reader)))


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
    """A tag without a category, as sentences spell it; the shipped list's category if it is there.

    Args:
        name: At least one letter; runs of spaces are one.
    """
    kind = find_category(name)
    return Tag(kind.value if kind else "", _spell(name))


def parse_list(text: str) -> list[str]:
    """The strings of a Python or JSON list of strings, which is never evaluated."""
    body = text.strip()
    if not (body.startswith("[") and body.endswith("]")):
        raise ValueError("a list of quoted strings in brackets")
    body, strings, at = body[1:-1].strip(), [], 0
    while at < len(body):
        match = _STRING.match(body, at)
        if match is None:
            raise ValueError(f"a quoted string at {body[at : at + 20]!r}")
        strings.append(_ESCAPE.sub(_unescape, match[1] if match[1] is not None else match[2]))
        rest = body[match.end() :].lstrip()
        if rest and not rest.startswith(","):
            raise ValueError(f"a comma at {rest[:20]!r}")
        at = len(body) - len(rest[1:].lstrip())
    return strings


def _unescape(match: re.Match[str]) -> str:
    digits = match[1] or match[2] or match[3]
    if digits:
        return chr(int(digits, 16))
    return _PLAIN_ESCAPES.get(match[4], match[4])


def _json_items(path: Path) -> list[TaggedRecording]:
    match doors.parse_json(_text(path), str(path), refuse=SourceError, fix="download it again"):
        case [str(), *_] as value:
            return [
                TaggedRecording(str(row), (_parse_name(path, row, name),))
                for row, name in enumerate(value, start=1)
            ]
        case [{"prediction": _}, *_] as value:
            return [_parse_prediction(path, row, entry) for row, entry in enumerate(value, start=1)]
        case dict() as value if value and all(
            isinstance(entry, dict) and "aspect_list" in entry for entry in value.values()
        ):
            return [_parse_aspects(path, key, entry) for key, entry in value.items()]
    raise SourceError(f"{path}: holds neither tags nor captions", fix=f"expected {FORMATS}")


def _parse_prediction(path: Path, row: int, entry: Any) -> TaggedRecording:
    match entry:
        case {"prediction": str(caption)} if caption.strip():
            return TaggedRecording(str(row), (), _tidy(caption))
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
    if not isinstance(name, str) or not name.strip():
        raise SourceError(f"{path}: entry {row}: {name!r} is not a tag", fix="expected text")
    return parse_tag(name)


def _spell(name: str) -> str:
    return spell(_tidy(name))


def _number_lines(
    path: Path, reader: csv.DictReader[str]
) -> Iterator[tuple[int, Mapping[str, str]]]:
    try:
        for row in reader:
            yield reader.line_num, row
    except csv.Error as error:
        raise SourceError(
            f"{path}: line {reader.line_num}: {error}", fix="save it as CSV again"
        ) from error


def _read_parquet(
    path: Path,
) -> tuple[Sequence[str], Iterator[tuple[int, Mapping[str, str]]]]:
    """Columns and rows as a CSV has them; a `text` without a `caption` is one, as ours have it."""
    try:
        table = pq.read_table(doors.require_regular(path, refuse=SourceError))
        rows = table.to_pylist()
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise SourceError(f"{path}: cannot be read: {reason}", fix=f"expected {FORMATS}") from error
    columns = table.column_names
    if "caption" not in columns:
        columns = ["caption" if name == "text" else name for name in columns]
    cells = (map(_to_cell, row.values()) for row in rows)
    return columns, enumerate((dict(zip(columns, row, strict=True)) for row in cells), start=2)


def _to_cell(value: Any) -> str:
    if value is None:
        return ""
    return ";".join(map(str, value)) if isinstance(value, list) else str(value)


def _table_items(
    path: Path, columns: Sequence[str], rows: Iterable[tuple[int, Mapping[str, str]]]
) -> Iterator[TaggedRecording]:
    """`id,category,tag` with a row for each tag, or a row for each item."""
    names = next((column for column in _TAG_COLUMNS if column in columns), None)
    if names is None and "caption" not in columns:
        raise SourceError(
            f"{path}: has the columns {', '.join(columns) or 'of none'}", fix=f"expected {FORMATS}"
        )
    key = next((column for column in _ID_COLUMNS if column in columns), None)
    gathered: dict[str, TaggedRecording] = {}
    for line, row in rows:
        item = _csv_item(path, line, row, key, names)
        if key is None or "caption" in columns:
            yield item
        else:
            before = gathered.get(item.id, item)
            gathered[item.id] = replace(before, tags=_drop_repeats((*before.tags, *item.tags)))
    yield from gathered.values()


def _csv_item(
    path: Path, line: int, row: Mapping[str, Any], key: str | None, names: str | None
) -> TaggedRecording:
    if None in row or None in row.values():
        raise SourceError(
            f"{path}: line {line}: has more or fewer cells than the first line",
            fix="put quotes around cells that hold commas",
        )
    category = (row.get("category") or "").strip()
    tags: Iterable[Tag] = ()
    if names is not None:
        parts = _cells(path, line, row[names])
        pairs = [(category, part) if category else _split_category(part) for part in parts]
        tags = (
            Tag(each, _spell(part)) if each else _parse_name(path, line, part)
            for each, part in pairs
        )
    return TaggedRecording(
        row[key].strip() if key else str(line - 1),
        _drop_repeats(tags),
        _tidy(row.get("caption") or ""),
        row.get("path") or row.get("file_name") or "",
    )


def _split_category(tag: str) -> tuple[str, str]:
    """Category and name of `genre:rock`; no category where it is none of ours."""
    category, colon, name = tag.partition(":")
    is_one = colon and category.strip() in set(TagCategory) and name.strip()
    return (category.strip(), name.strip()) if is_one else ("", tag)


def _cells(path: Path, line: int, cell: str) -> list[str]:
    """The tags of one cell: a list literal, or parted by semicolons, else by commas."""
    if cell.lstrip().startswith("["):
        try:
            return [part for part in parse_list(cell) if part.strip()]
        except ValueError as error:
            raise SourceError(
                f"{path}: line {line}: the tags are not a list", fix=f"expected {error}"
            ) from error
    return [part for part in cell.split(";" if ";" in cell else ",") if part.strip()]


def _drop_repeats(tags: Iterable[Tag]) -> tuple[Tag, ...]:
    return tuple(dict.fromkeys(tags))


def _tidy(text: str) -> str:
    return " ".join(text.split())


def _text(path: Path) -> str:
    try:
        return doors.read_text(path, refuse=SourceError, fix="save it as UTF-8")
    except OSError as error:
        raise SourceError(
            f"{path}: cannot be read: {error.strerror or error}", fix="check the path"
        ) from error
