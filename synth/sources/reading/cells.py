"""The cells of a CSV file, with errors that name the line and how to save it."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from synth.base import doors
from synth.base.errors import SourceError

DELIMITERS: Final = {",": "commas", "\t": "tabs"}
_BLOCK: Final = 1 << 20


def read_cells(
    path: Path, fix: str, *, delimiter: str = ",", quoted: bool = True, fallback: str = ""
) -> Iterator[tuple[int, list[str]]]:
    """The fields of each row of a CSV file, and the line where it ends; empty lines are left out.

    Args:
        path: A file in UTF-8, with or without BOM.
        fallback: Encoding of a file that is not in UTF-8; "" for none.
    """
    line = 0
    try:
        encoding = fallback if fallback and not _is_utf8(path) else "utf-8-sig"
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
            f"{path}: line {_first_foreign_line(path)}: {error}",
            fix="save it as UTF-8",
        ) from error
    except csv.Error as error:
        raise SourceError(
            f"{path}: after line {line}: {error}",
            fix="save it as CSV, quotes closed and doubled inside a field",
        ) from error


def _is_utf8(path: Path) -> bool:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            while file.read(_BLOCK):
                pass
    except UnicodeDecodeError:
        return False
    return True


def _first_foreign_line(path: Path) -> int:
    """The first line that is not in UTF-8; a file is decoded in blocks that go beyond it."""
    with path.open("rb") as file:
        for number, line in enumerate(file, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError:
                return number
    return number


def check_delimiter(header: Sequence[str], delimiter: str, where: str) -> None:
    """Refuse a header that semicolons part, as spreadsheets of some countries write it."""
    if len(header) == 1 and ";" in header[0]:
        raise SourceError(
            f"{where}: columns are separated by ';', expected {delimiter!r}",
            fix=f"save it with {DELIMITERS.get(delimiter, 'commas')} between columns",
        )


# Read a library's whole files of text, JSON and checksums, with errors that name the file.


FIX_FILE: Final = "use the file as published"
_SUM: Final = re.compile(r"(?P<hex>[0-9a-f]+)\s+(?P<path>\S.*)")
_DIGITS: Final = {"sha1": 40, "sha256": 64}


def read_text(path: Path, fix: str = FIX_FILE) -> str:
    """The text of a file in UTF-8, with or without BOM."""
    try:
        return doors.read_text(path, refuse=SourceError, fix=fix)
    except OSError as error:
        raise SourceError(f"{path}: cannot be read: {error.strerror or error}", fix=fix) from error


def read_json(path: Path, fix: str = FIX_FILE) -> Any:
    """The value in a file of JSON."""
    return doors.parse_json(read_text(path, fix), str(path), refuse=SourceError, fix=fix)


def wrong_value_error(path: Path, error: ValidationError) -> SourceError:
    """What is wrong first in a file's value, by its keys."""
    first = error.errors()[0]
    where = ".".join(map(str, first["loc"])) or "the file"
    return SourceError(f"{path}: {where}: {first['msg']}", fix=FIX_FILE)


def read_checksums(path: Path, algorithm: str) -> Iterator[tuple[str, str]]:
    """Path and `ALGORITHM:HEX` of each line of a list as `sha1sum` and its like write it.

    Args:
        path: The list: checksum, spaces, path.
        algorithm: `sha1` or `sha256`.
    """
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        entry = _SUM.fullmatch(line.strip())
        if entry is None or len(entry["hex"]) != _DIGITS[algorithm]:
            raise SourceError(
                f"{path}: line {number}: expected a checksum ({algorithm}) and a path",
                fix=FIX_FILE,
            )
        yield entry["path"], f"{algorithm}:{entry['hex']}"
