"""Read a library's whole files of text, JSON and checksums, with errors that name the file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from pydantic import ValidationError

from synth.base import doors
from synth.base.errors import SourceError

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
        found = _SUM.fullmatch(line.strip())
        if found is None or len(found["hex"]) != _DIGITS[algorithm]:
            raise SourceError(
                f"{path}: line {number}: expected a checksum ({algorithm}) and a path",
                fix=FIX_FILE,
            )
        yield found["path"], f"{algorithm}:{found['hex']}"
