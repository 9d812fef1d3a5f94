"""Published tables whose audio is collected by whoever may: found where it lies, or only listed."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Final

from synth.base.atomic import write_text
from synth.base.errors import SourceError
from synth.base.rng import digest
from synth.base.units import Seconds, to_frames
from synth.sources.reading.base import ClipRef
from synth.sources.reading.files import (
    FileSource,
    find_file,
    path_of,
    read_json,
    require_folder,
    walk,
)
from synth.sources.reading.tables import FIX_ROW, seconds_of

SUFFIXES: Final = (".wav", ".flac", ".ogg", ".opus", ".mp3", ".m4a", ".aif", ".aiff")
LISTED_RATE: Final = 48_000
LISTED_LEVEL_DB: Final = -20.0


class Collected(FileSource):
    """A source whose index is published without its audio, or apart from it.

    Args:
        root: Holds the index files.
        audio: Folder of the audio files, below `root` or absolute; sub-folders are searched.
            By default the library's own download folder, if it exists.
    """

    audio: Path | None = None
    usual_audio: ClassVar[tuple[str, ...]] = ("audio",)

    def files(self) -> AudioFiles | None:
        """The audio files; None where `audio` is not set and no usual folder is there."""
        if self.audio is not None:
            fix = "set audio: FOLDER, or leave it out to plan over the index alone"
            require_folder(self.root / self.audio, "the audio folder", fix)
            return AudioFiles(self.root, self.audio)
        usual = (Path(name) for name in self.list_usual() if (self.root / name).is_dir())
        return next((AudioFiles(self.root, folder) for folder in usual), None)

    def list_usual(self) -> Iterable[str]:
        """Where the audio is looked for if `audio` does not say."""
        return self.usual_audio


@dataclass(frozen=True)
class AudioFiles:
    """Audio files below `root / folder`."""

    root: Path
    folder: Path

    @cached_property
    def _by_stem(self) -> dict[str, list[Path]]:
        by_stem: dict[str, list[Path]] = {}
        base = self.root / self.folder
        for path in walk(base):
            if path.suffix.lower() in SUFFIXES:
                by_stem.setdefault(path.stem, []).append(path.relative_to(base))
        return by_stem

    def find_stem(self, *stems: str) -> str:
        """Location of the first file that has one of these names, without extension.

        Where there is none, the location where the first was expected, so that the clip is
        quarantined when it is opened.
        """
        for stem in stems:
            paths = self._by_stem.get(stem, [])
            if len(paths) > 1:
                raise SourceError(
                    f"{self.root / self.folder}: {paths[0]} and {paths[1]} have the same name",
                    fix="keep one of them",
                )
            if paths:
                return (self.folder / paths[0]).as_posix()
        return (self.folder / stems[0]).as_posix()

    def find_path(self, *paths: str) -> str:
        """Location of the first of these paths, below the folder, that is there; else the first."""
        for path in paths:
            if find_file(self.root / self.folder, path).is_file():
                return (self.folder / path).as_posix()
        return (self.folder / paths[0]).as_posix()


@dataclass(frozen=True, slots=True)
class Listing:
    """A collected source without its audio: it can be planned over, and not built."""

    source: Collected

    @property
    def name(self) -> str:
        """The source's name."""
        return str(self.source.name)  # type: ignore[attr-defined]

    def refs(self) -> Iterator[ClipRef]:
        """Every clip that the index lists."""
        return self.source.refs()  # type: ignore[attr-defined, no-any-return]

    def row(self, ref: ClipRef) -> dict[str, Any]:
        """What the catalogue would say of a clip that sounds for as long as the index says."""
        if ref.duration_s is None:
            raise SourceError(
                f"{ref.id}: its length is unknown without its audio", fix="set audio: FOLDER"
            )
        return unheard_row(ref.duration_s, self.name, ref.id)


def unheard_row(seconds: Seconds, *identity: str) -> dict[str, Any]:
    """The measured columns of `schema.CLIPS` for a clip that was never heard."""
    frames = to_frames(seconds, LISTED_RATE)
    return {
        "sample_rate": LISTED_RATE,
        "channels": 1,
        "frames": frames,
        "onset": 0,
        "offset": frames,
        "loudness_lufs": LISTED_LEVEL_DB,
        "peak_db": 0.0,
        "levels_db": [],
        "levels_dba": [],
        "attacks": [],
        "sha256": digest(*identity),
        "fingerprint": b"",
    }


def find_tables(
    root: Path, splits: Sequence[str], name: str, expected: str, fix: str
) -> dict[str, Path]:
    """The tables that are there, by split ("SPLIT" in their name); at least one."""
    paths = {split: root / name.replace("SPLIT", split) for split in splits}
    tables = {split: path for split, path in paths.items() if path.is_file()}
    refuse_absent(root, [*tables.values()], expected, fix)
    return tables


def refuse_absent(root: Path, present: Sequence[Path], expected: str, fix: str) -> None:
    """Check that a folder holds at least one of a library's index files."""
    require_folder(root, "the dataset folder", fix)
    if not present:
        raise SourceError(f"{root}: has no {expected}", fix=fix)


# Is a library on disk what it should be? Its files against its index and their checksums.
#
# The manner is mirdata's and soundata's, whose index files are read too: each file by its path and
# checksum; what is missing, what has changed, and what no index knows is told.


INDEX_VERSION: Final = 1
_ENTRIES: Final = ("clips", "tracks", "multitracks", "clipgroups", "metadata")
_MEND: Final = "give an index that `segue check --write` made, or one of mirdata or soundata"


@dataclass(frozen=True, slots=True)
class Integrity:
    """What a check found; paths are below the library's root.

    Args:
        listed: Files that the library, its index or its checksums name.
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
        values = asdict(self)
        lists = {name: value for name, value in values.items() if isinstance(value, tuple)}
        examples = {name: list(value[:10]) for name, value in lists.items() if value}
        return {**values, **{name: len(lists[name]) for name in lists}, "examples": examples}


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
    missing, changed, same = (
        tuple(path for path in listed if verdicts[path] == kind)
        for kind in ("missing", "changed", "same")
    )
    return Integrity(
        listed=len(listed),
        missing=missing,
        checked=len(same) + len(changed),
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
    """Write the SHA-256 of every file below `root`."""
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
        checksums: dict[str, str] = value["files"]
    else:
        checksums = {
            location: f"md5:{checksum}"
            for part in _ENTRIES
            if isinstance(value.get(part), dict)
            for location, checksum in _pairs(value[part])
        }
    known = hashlib.algorithms_available
    for location, checksum in checksums.items():
        if str(checksum).partition(":")[0] not in known:
            raise SourceError(f"{path}: {location}: no checksum: {checksum!r}", fix=_MEND)
    if not checksums:
        raise SourceError(f"{path}: names no file", fix=_MEND)
    return checksums


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


# Stretches of YouTube videos, and how their audio is named by those who collect it.


def stems(youtube_id: str, start: str, seconds: Seconds) -> tuple[str, ...]:
    """File names in common use for a stretch of a video, without extension, the likeliest first.

    Args:
        youtube_id: 11 characters; it may begin with a dash.
        start: Where the stretch begins in seconds, as the index writes it.
    """
    begin = int(float(start))
    end = int(float(start) + seconds)
    return (
        f"{youtube_id}_{start}",
        f"{youtube_id}_{begin}",
        f"Y{youtube_id}_{start}",
        f"{youtube_id}_{begin}_{end}",
        f"{youtube_id}_{begin * 1000}",
        f"{youtube_id}_{begin * 1000}_{end * 1000}",
        youtube_id,
        f"Y{youtube_id}",
    )


@dataclass(frozen=True, slots=True)
class YouTubeClip:
    """A stretch of a video, whose times are kept as the table writes them."""

    youtube_id: str
    start: str
    end: str
    seconds: Seconds

    @classmethod
    def of(cls, youtube_id: str, start: str, end: str, where: str) -> YouTubeClip:
        """A clip of a table's fields."""
        begin_s, end_s = seconds_of(start, "start", where), seconds_of(end, "end", where)
        if not youtube_id or end_s <= begin_s:
            raise SourceError(
                f"{where}: a clip of {youtube_id!r} from {start!r} to {end!r}, "
                "expected a video and seconds in order",
                fix=FIX_ROW,
            )
        return cls(youtube_id, start, end, end_s - begin_s)

    @property
    def name(self) -> str:
        """Video and start."""
        return f"{self.youtube_id}_{self.start}"

    @property
    def recording(self) -> str:
        """The video."""
        return f"youtube/{self.youtube_id}"

    @property
    def stems(self) -> tuple[str, ...]:
        """File names in common use, without extension, the likeliest first."""
        bracketed = f"[{self.youtube_id}]-[{self.start}-{self.end}]"
        return (bracketed, *stems(self.youtube_id, self.start, self.seconds))
