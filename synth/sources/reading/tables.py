"""Read a library's index, CSV or Parquet, with errors that name file, row and column."""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, NoReturn

from synth.base.errors import SourceError, nearest, shorten
from synth.base.rng import digest
from synth.base.units import Seconds
from synth.labels.lexicon import Tag
from synth.sources.reading.base import ClipRef
from synth.sources.reading.files import require_file
from synth.sources.reading.rows import ClassName, named_rows, open_rows

DELIMITERS: Final = {",": "commas", "\t": "tabs"}
FIX_ROW: Final = "fix the row or remove it"
_SECONDS: Final = re.compile(r"[0-9]+(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?")
_TRUTHS: Final = {"true": True, "false": False, "": None}
TAG_SEPARATORS: Final = ";,|"
_STRING: Final = re.compile(r"""'((?:[^'\\\n]|\\.)*)'|"((?:[^"\\\n]|\\.)*)\"""")
_ESCAPE: Final = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))")
_PLAIN_ESCAPES: Final = {"n": "\n", "t": "\t", "r": "\r"}
_LISTED: Final = re.compile(r"""\s*\[\s*['"]""")
_FIX_TEXT: Final = (
    "give a column of words; save the names of classes with their numbers (Hugging Face's "
    "ClassLabel); of a struct, name a field, as in columns: {label: events.label}"
)


def read_cells(
    path: Path, fix: str, *, delimiter: str = ",", quoted: bool = True, fallback: str = ""
) -> Iterator[tuple[int, list[str]]]:
    """The fields of each row of a CSV file, and the line where it ends; empty lines are left out.

    Args:
        fallback: Encoding of a file that is not in UTF-8; "" for none.
    """
    line = 0
    try:
        encoding = fallback if fallback and _find_foreign_line(path) else "utf-8-sig"
        with path.open(encoding=encoding, newline="") as file:
            reader = csv.reader(
                file,
                delimiter=delimiter,
                quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE,
                strict=True,
            )
            for cells in reader:
                line = reader.line_num
                if cells:
                    yield line, cells
    except OSError as error:
        raise SourceError(f"{path}: cannot be read: {error.strerror or error}", fix=fix) from error
    except UnicodeDecodeError as error:
        raise SourceError(
            f"{path}: line {_find_foreign_line(path)}: {error}",
            fix="save it as UTF-8",
        ) from error
    except csv.Error as error:
        raise SourceError(
            f"{path}: after line {line}: {error}",
            fix="save it as CSV, quotes closed and doubled inside a field",
        ) from error


def _find_foreign_line(path: Path) -> int:
    """The first line that is not in UTF-8, 0 for none; blocks that are decoded go beyond it."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return number
    return 0


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of an index.

    Args:
        optional: Those that may be; a column whose name is nearly one of these is an error.
        usual: Other names that people give to columns, and which column each may be.
        numbered: An optional column of which there may be several, as in `caption_1`.
    """

    required: tuple[str, ...]
    fix: str
    optional: tuple[str, ...] = ()
    usual: Mapping[str, str] = field(default_factory=dict)
    numbered: str = ""

    def check(self, header: Collection[str], where: str) -> None:
        """Refuse a header that lacks a column, or misspells one."""
        missing = [name for name in self.required if name not in header]
        if missing:
            lacks = f"{where}: no column {', '.join(map(repr, missing))}"
            raise SourceError(
                f"{lacks} among {', '.join(header)}" if header else lacks, fix=self._fix_of(header)
            )
        known = (*self.required, *self.optional, *list_numbered(self.numbered, header))
        twice = [name for name in known if list(header).count(name) > 1]
        if twice:
            raise SourceError(f"{where}: column {twice[0]!r} appears twice", fix="keep one")
        for name in header:
            near = nearest(name, known, likeness=0.8)
            if name not in known and near and near not in header:
                raise SourceError(
                    f"{where}: column {name!r} is not known, {near!r} would be",
                    fix=f"rename it to {near!r}, or to something else if it is not that column",
                )

    def _fix_of(self, header: Collection[str]) -> str:
        renamed = {self.usual.get(name.strip().casefold(), ""): name for name in header}
        guesses = [
            f"rename {renamed[name]!r} to {name!r}"
            for name in (*self.required, *self.optional)
            if name in renamed and name not in header
        ]
        return ", ".join(guesses) or self.fix


def list_numbered(name: str, columns: Iterable[str]) -> list[str]:
    """The column of a name (a regular expression), and those of it and a number."""
    return list(filter(re.compile(rf"{name}(?:[_ ]?\d+)?").fullmatch, columns)) if name else []


class TableRow(dict[str, str]):
    """The fields of a row by column, and where it is, for errors.

    Args:
        raw: The same as they are in a table that holds more than text.
    """

    __slots__ = ("raw", "where")

    def __init__(
        self, fields: Mapping[str, str], where: str, raw: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(fields)
        self.where = where
        self.raw: Mapping[str, Any] = fields if raw is None else raw

    @property
    def place(self) -> str:
        """Its line, without the file."""
        return self.where.rpartition(": ")[2]

    def refuse(self, reason: str, fix: str = FIX_ROW) -> NoReturn:
        """Refuse the row."""
        raise SourceError(f"{self.where}: {reason}", fix=fix)

    def texts(self, column: str, separators: str = "") -> tuple[str, ...]:
        """The texts in a column, as `texts_of`; none where there is no such column."""
        return texts_of(self.raw.get(column), separators, f"{self.where}: {column}")

    def seconds(self, column: str, *, is_length: bool = False) -> Seconds:
        """The time in a column."""
        return seconds_of(self[column], column, self.where, is_length=is_length)

    def truth(self, column: str) -> bool | None:
        """Whether a column says True, in any case of letters; None where it says nothing."""
        word = self[column].strip().lower()
        if word not in _TRUTHS:
            self.refuse(f"{column} is {self[column]!r}, expected True or False")
        return _TRUTHS[word]


def read_rows(
    path: Path,
    columns: Columns,
    *,
    delimiter: str = ",",
    quoted: bool = True,
    fallback: str = "",
) -> Iterator[TableRow]:
    """The rows of a CSV or Parquet file as text, nulls as "".

    Args:
        path: `.parquet` files are read as Parquet, others as CSV in UTF-8 (with or without BOM).
        columns: Columns that are looked for; others are passed on.
        fallback: Encoding of a CSV file that is not in UTF-8; "" for none.
    """
    require_file(path, "the index", columns.fix)
    if path.suffix == ".parquet":
        rows = _parquet_rows(path, columns)
    else:
        cells = read_cells(path, columns.fix, delimiter=delimiter, quoted=quoted, fallback=fallback)
        rows = _csv_rows(path, columns, delimiter, cells)
    number = 0
    for number, row in enumerate(rows, start=1):  # noqa: B007
        yield row
    if number == 0:
        raise SourceError(f"{path}: has no rows below its header", fix=columns.fix)


def _csv_rows(
    path: Path, columns: Columns, delimiter: str, rows: Iterator[tuple[int, list[str]]]
) -> Iterator[TableRow]:
    line, header = next(rows, (1, []))
    where = f"{path}: line {line}"
    if len(header) == 1 and ";" in header[0]:  # as spreadsheets of some countries write it
        raise SourceError(
            f"{where}: columns are separated by ';', expected {delimiter!r}",
            fix=f"save it with {DELIMITERS[delimiter]} between columns",
        )
    columns.check(header, where)
    for line, cells in rows:
        where = f"{path}: line {line}"
        if len(cells) != len(header):
            raise SourceError(
                f"{where}: expected {len(header)} fields, not {len(cells)}",
                fix=f"quote fields that hold {DELIMITERS[delimiter]} or line breaks",
            )
        yield TableRow(dict(zip(header, cells, strict=True)), where)


def _parquet_rows(path: Path, columns: Columns) -> Iterator[TableRow]:
    rows = open_rows(path)
    columns.check(rows.schema.names, str(path))
    for number, row in named_rows(rows, rows.schema.names):
        fields = {key: _text(value) for key, value in row.items()}
        yield TableRow(fields, f"{path}: row {number + 1}", row)


def _text(value: object) -> str:
    if value is None:
        return ""
    return ";".join(map(str, value)) if isinstance(value, list) else str(value)


def drop_duplicates(rows: Iterable[TableRow], key: str) -> Iterator[TableRow]:
    """The rows, told apart by a column; one that is there again, equal in all, is left out."""
    first: dict[str, tuple[str, str]] = {}
    for row in rows:
        fields = digest(*row.values())
        if row[key] not in first:
            first[row[key]] = fields, row.place
            yield row
        elif first[row[key]][0] != fields:
            row.refuse(
                f"two rows on {row[key]} differ, the other is {first[row[key]][1]}",
                "keep the right one",
            )


def seconds_of(text: str, name: str, where: str, *, is_length: bool = False) -> Seconds:
    """A time in seconds that a table writes ("30", "1e-3"), 0 or more; a length is more than 0."""
    seconds = float(text) if _SECONDS.fullmatch(text) else math.nan
    if not math.isfinite(seconds) or (is_length and seconds == 0):
        raise SourceError(f"{where}: {name} is {text!r}, expected seconds", fix=FIX_ROW)
    return seconds


def texts_of(value: object, separators: str = "", where: str = "") -> tuple[str, ...]:
    """The texts in a list, or in a text that may hold several; empty ones left out.

    Args:
        separators: What parts the texts in one; a list as Python or JSON writes it is read, too.
    """
    if isinstance(value, str) and not isinstance(value, ClassName):
        value = _split_text(value, separators, where)
    texts: list[str] = []
    for part in value if isinstance(value, list) else [value]:
        if isinstance(part, list):
            texts += texts_of(part, "", where)
        elif part is not None and not isinstance(part, str):
            raise SourceError(f"{where} is {shorten(part)}, expected text", fix=_FIX_TEXT)
        elif text := (part or "").strip():
            texts.append(text)
    return tuple(texts)


def _split_text(text: str, separators: str, where: str) -> list[str]:
    if _LISTED.match(text) and text.rstrip().endswith("]"):
        return read_list(text, where)
    return re.split(f"[{separators}]", text) if separators else [text]


def read_list(text: str, where: str) -> list[str]:
    """The texts of a list as Python or JSON writes it, which is never evaluated; none of ""."""
    try:
        return parse_list(text) if text.strip() else []
    except ValueError as error:
        raise SourceError(
            f"{where}: {shorten(text)} is not a list, expected {error}", fix=FIX_ROW
        ) from error


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


def make_ref(
    text: Callable[[str], str],
    texts: Callable[[str, str], tuple[str, ...]],
    *,
    prefix: str,
    name: str,
    location: str,
    licence: str,
    attribution: str,
    split: str,
) -> ClipRef:
    """The clip of a row of a library of your own.

    Args:
        text: The text that the row has as its `recording`, `licence` or `attribution`; "" for none.
        texts: Those that it has as `label`, `caption` or `tags`, parted by any of some characters.
        prefix: First part of the ids of the library's clips and recordings.
        name: What the clip's id is without it.
        licence: Where the row names none; `attribution` likewise.
    """
    pairs = (tag.rpartition(":") for tag in texts("tags", TAG_SEPARATORS))
    return ClipRef(
        id=f"{prefix}/{name}",
        location=location,
        labels=texts("label", ";"),
        captions=texts("caption", ""),
        tags=tuple(Tag(category.strip(), tag.strip()) for category, _, tag in pairs),
        recording=f"{prefix}/{text('recording') or name}",
        licence=text("licence") or licence,
        attribution=text("attribution") or attribution,
        split=split,
    )


def join_captions(first: ClipRef, other: ClipRef) -> ClipRef | None:
    """The clip of two rows, with the captions of both; None where they differ in more."""
    captions = tuple(dict.fromkeys((*first.captions, *other.captions)))
    joined = replace(first, captions=captions)
    return joined if replace(other, captions=captions, location=first.location) == joined else None
