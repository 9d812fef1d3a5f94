"""Is a library on disk what it should be? Its files against its index and their checksums.

The manner is mirdata's and soundata's, whose index files are read too: each file by its path and
checksum; what is missing, what has changed, and what no index knows is told.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from synth.base.atomic import write_text
from synth.base.errors import SourceError
from synth.sources.reading.collected import SUFFIXES
from synth.sources.reading.files import find_file, path_of, require_folder
from synth.sources.reading.texts import read_json
from synth.sources.reading.walk import walk

INDEX_VERSION: Final = 1
_ENTRIES: Final = ("clips", "tracks", "multitracks", "clipgroups", "metadata")
_MEND: Final = "give an index that `segue check --write` made, or one of mirdata or soundata"


@dataclass(frozen=True, slots=True)
class Integrity:
    """What a check found; paths are below the library's root.

    Args:
        listed: Files that the library, its index or its checksums name.
        missing: Those that are not there.
        checked: Those whose checksum was compared.
        changed: Those whose checksum differs.
        unlisted: Audio files that are there and named nowhere.
    """

    listed: int
    missing: tuple[str, ...]
    checked: int
    changed: tuple[str, ...]
    unlisted: tuple[str, ...]

    @property
    def is_whole(self) -> bool:
        """Whether nothing is missing and nothing has changed."""
        return not self.missing and not self.changed

    def to_json(self) -> dict[str, Any]:
        """As JSON values: numbers, and the first ten of each."""
        lists = {name: value for name, value in asdict(self).items() if isinstance(value, tuple)}
        return {
            name: len(value) if isinstance(value, tuple) else value
            for name, value in asdict(self).items()
        } | {"examples": {name: list(value[:10]) for name, value in lists.items() if value}}


def check_files(
    root: Path,
    locations: Iterable[str],
    checksums: Mapping[str, str],
    advance: Callable[[], None] = lambda: None,
) -> Integrity:
    """Compare the files below `root` with what is said of them."""
    require_folder(root, "the library's folder", "give the folder of a library")
    checksums = {_relative_path(root, path): checksum for path, checksum in checksums.items()}
    places = {_relative_path(root, path_of(location)) for location in locations}
    listed = sorted(places | set(checksums))

    def verdict(path: str) -> str:
        advance()
        if not (root / path).is_file():
            return "missing"
        expected = checksums.get(path)
        if expected is None:
            return "there"
        algorithm = expected.partition(":")[0]
        return "same" if _checksum(root / path, algorithm) == expected else "changed"

    with ThreadPoolExecutor() as pool:
        verdicts = dict(zip(listed, pool.map(verdict, listed), strict=True))
    found = {kind: tuple(p for p in listed if verdicts[p] == kind) for kind in verdicts.values()}
    changed = found.get("changed", ())
    return Integrity(
        listed=len(listed),
        missing=found.get("missing", ()),
        checked=len(found.get("same", ())) + len(changed),
        changed=changed,
        unlisted=tuple(
            path
            for path in list_files(root)
            if path not in verdicts and Path(path).suffix.lower() in SUFFIXES
        ),
    )


def _relative_path(root: Path, path: str) -> str:
    """A path as it is below the root, where it is: an absolute one may lead there, too."""
    place, above = Path(os.path.normpath(find_file(root, path))), os.path.normpath(root)
    return place.relative_to(above).as_posix() if place.is_relative_to(above) else path


def list_files(root: Path) -> Iterator[str]:
    """Every file below a folder whose path holds no hidden part, in order."""
    paths = (path.relative_to(root).as_posix() for path in walk(root) if path.is_file())
    yield from sorted(paths)


def write_index(root: Path, target: Path, advance: Callable[[], None] = lambda: None) -> int:
    """Write the SHA-256 of every file below `root`.

    Returns:
        How many there are.
    """
    paths = list(list_files(root))

    def checksum(path: str) -> str:
        advance()
        return _checksum(root / path, "sha256")

    with ThreadPoolExecutor() as pool:
        files = dict(zip(paths, pool.map(checksum, paths), strict=True))
    write_text(target, json.dumps({"version": INDEX_VERSION, "files": files}, indent=1) + "\n")
    return len(files)


def read_index(path: Path) -> dict[str, str]:
    """Checksums by path, of an index of ours, or of mirdata's or soundata's (MD5)."""
    value = read_json(path, _MEND)
    if not isinstance(value, dict):
        raise SourceError(f"{path}: expected an object", fix=_MEND)
    if isinstance(value.get("files"), dict):
        found: dict[str, str] = value["files"]
    else:
        found = {
            location: f"md5:{checksum}"
            for part in _ENTRIES
            for entry in _objects(value.get(part))
            for location, checksum in _pairs(entry)
        }
    known = hashlib.algorithms_available
    for location, checksum in found.items():
        if str(checksum).partition(":")[0] not in known:
            raise SourceError(f"{path}: {location}: no checksum: {checksum!r}", fix=_MEND)
    if not found:
        raise SourceError(f"{path}: names no file", fix=_MEND)
    return found


def _objects(part: object) -> Iterator[Any]:
    if isinstance(part, dict):
        yield from part.values()


def _pairs(entry: object) -> Iterator[tuple[str, str]]:
    """The [path, checksum] pairs of an entry, however they are nested."""
    match entry:
        case [str(path), str(checksum)]:
            yield path, checksum
        case dict():
            for part in entry.values():
                yield from _pairs(part)


def _checksum(path: Path, algorithm: str) -> str:
    with path.open("rb") as file:
        return f"{algorithm}:{hashlib.file_digest(file, algorithm).hexdigest()}"
