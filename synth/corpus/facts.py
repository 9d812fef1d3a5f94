"""`corpus.json` and `latest` of a corpus from anywhere: read, and checked before they are used."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from synth.base.doors import read_json
from synth.base.errors import CorpusError, shorten
from synth.scene.timeline import Fade
from synth.storage import display_path
from synth.storage.pointer import VERSION_NAME, parse_pointer

GET_AGAIN: Final = "download or build the corpus again"
SPLIT_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
CORPUS_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")
MAX_RATE: Final = 768_000
"""In Hz: the highest at which converters work."""

_LEAST_PEAK_DB: Final = -200
_MOST_PATH_BYTES: Final = 2000
_MOST_PART_BYTES: Final = 255


def _is_text(value: Any) -> bool:
    """Whether it is text that a file can hold: half of a surrogate pair is none."""
    return isinstance(value, str) and value == value.encode("utf-8", "replace").decode()


def _is_path(value: Any) -> bool:
    return (
        _is_text(value)
        and 0 < len(value.encode()) <= _MOST_PATH_BYTES
        and all(len(part.encode()) <= _MOST_PART_BYTES for part in value.split("/"))
        and "\0" not in value
    )


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 1 << 63


def _is_level(value: Any) -> bool:
    return type(value) in (int, float) and _LEAST_PEAK_DB <= value <= 0


def _is_hours(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < 1 << 53


def _is_counts(value: Any) -> bool:
    return isinstance(value, dict) and all(map(_is_text, value)) and _are(_is_count, value)


def _is_algorithms(value: Any) -> bool:
    return isinstance(value, dict) and _are(lambda each: _is_count(each) or _is_text(each), value)


def _is_libraries(value: Any) -> bool:
    return isinstance(value, list) and all(
        isinstance(each, dict) and all(map(_is_text, each)) and _are(_is_text, each)
        for each in value
    )


def _are(fits: Callable[[Any], bool], found: Mapping[str, Any]) -> bool:
    return all(map(fits, found.values()))


def _names(pattern: re.Pattern[str]) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and pattern.fullmatch(value) is not None


def _is_splits(value: Any) -> bool:
    return isinstance(value, dict) and all(
        _names(SPLIT_NAME)(name) and _is_counts(counts) and {"samples", "shards"} <= {*counts}
        for name, counts in value.items()
    )


_NEEDED: Final[dict[str, tuple[Callable[[Any], bool], str]]] = {
    "corpus": (_names(CORPUS_NAME), "a name of letters, digits, - and _"),
    "version": (_names(VERSION_NAME), "a name of letters, digits, - _ and ."),
    "digest": (_is_text, "text"),
    "recipe": (_is_text, "text"),
    "source": (_is_text, "text"),
    "sample_rate": (
        lambda value: type(value) is int and 0 < value <= MAX_RATE,
        f"a whole number of Hz, 1 to {MAX_RATE}",
    ),
    "splits": (
        _is_splits,
        "an object with samples and shards of each split, a name of letters, digits, - and _",
    ),
    "shards": (_is_path, "a path"),
    "bank": (_is_path, "a path"),
    "fade": (
        lambda value: value in tuple(each.value for each in Fade),
        f"one of {', '.join(each.value for each in Fade)}",
    ),
    "peak_db": (_is_level, f"a number, {_LEAST_PEAK_DB} to 0"),
}
_COUNT: Final = (_is_count, "a whole number, 0 or more")
_COUNTS: Final = (_is_counts, "an object with a whole number for each name")
_OPTIONAL: Final[dict[str, tuple[Callable[[Any], bool], str]]] = {
    "algorithms": (_is_algorithms, "an object with a version for each name"),
    "audio_format": (_is_text, "text"),
    "citation": (_is_text, "text"),
    "excerpts": _COUNT,
    "excerpts_of_captioned_clips": _COUNT,
    "format_version": _COUNT,
    "generators": _COUNTS,
    "hours": (_is_hours, "a number, 0 or more"),
    "libraries": (_is_libraries, "a list of objects with text for each name"),
    "licence": (_is_text, "text"),
    "licence_reason": (_is_text, "text"),
    "licences": _COUNTS,
}


def read_facts(path: Path) -> dict[str, Any]:
    """What `corpus.json` says, once it is known to be of the corpus format.

    Raises:
        CorpusError: If it cannot be read, is not JSON object, or lacks a key or has it wrong.
    """
    where = display_path(path)
    try:
        found = read_json(path, where=where, fix=GET_AGAIN)
    except OSError as error:
        reason = error.strerror or str(error)
        raise CorpusError(f"{where}: cannot be read: {reason}", fix=GET_AGAIN) from error
    if not isinstance(found, dict):
        raise CorpusError(f"{where}: expected an object, found {shorten(found)}", fix=GET_AGAIN)
    for key, (fits, expected) in (_NEEDED | _OPTIONAL).items():
        if key not in found and key in _OPTIONAL:
            continue
        if key not in found:
            raise CorpusError(f"{where}: lacks {key!r}: expected {expected}", fix=GET_AGAIN)
        if not fits(found[key]):
            said = shorten(found[key])
            raise CorpusError(f"{where}: {key} is {said}: expected {expected}", fix=GET_AGAIN)
    return found


def follow_latest(pointer: Path) -> Path:
    """The folder that `latest` names, which lies beside it; its own folder where it is not there.

    Raises:
        CorpusError: If it names anything else.
    """
    if not pointer.is_file():
        return pointer.parent
    try:
        data = pointer.read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        raise CorpusError(
            f"{display_path(pointer)}: cannot be read: {reason}", fix=GET_AGAIN
        ) from error
    name = parse_pointer(data)
    if name is None:
        said = shorten(data.decode("utf-8", "replace"))
        raise CorpusError(
            f"{display_path(pointer)}: says {said}: expected the name of a version",
            fix="write the name of a folder beside it into it, or give that folder",
        )
    return pointer.parent / name


def memory_error(path: Path) -> CorpusError:
    """What is to be told where a file needs more memory than there is."""
    return CorpusError(
        f"{display_path(path)}: needs more memory than there is",
        fix="close other programs, or open it on a machine with more memory",
    )
