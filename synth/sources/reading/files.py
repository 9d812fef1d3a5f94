"""Files of a library: below its folder, whole, decoded; or a reason why not."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import stat
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from functools import lru_cache
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias, TypeVar

import numpy as np
from pydantic import AfterValidator, TypeAdapter, ValidationError

from synth.audio.decoding import read_audio
from synth.audio.dsp import Audio
from synth.base import doors
from synth.base.doors import explain_unreadable, tidy_text
from synth.base.errors import ClipError, SourceError, nearest
from synth.base.units import Seconds, to_frames
from synth.labels.lexicon import Tag
from synth.sources.reading.base import ClipRef, Recording, Settings

FIX_FILE: Final = "use the file as published"
_SUM: Final = re.compile(r"(?P<hex>[0-9a-f]+)\s+(?P<path>\S.*)")
_DIGITS: Final = {"sha1": 40, "sha256": 64}

SHOWN: Final = 3
"""Folders that are offered."""


def suggest_folder(path: Path, fix: str) -> str:
    """The fix for a folder that is not there.

    Returns:
        That an archive has to be unpacked, a folder of nearly the same name, or the folder one
        level up or down that does hold one of this name.
    """
    lost = next((folder for folder in (*reversed(path.parents), path) if not folder.is_dir()), path)
    if lost.is_file():
        return f"{lost} is a file: unpack it and give the folder" if lost != path else fix
    if lost == path:
        above = path.parent.parent / path.name
        below = sorted(path.parent.glob(f"*/{path.name}/"))
        if folders := [above.parent] * above.is_dir() or [folder.parent for folder in below]:
            return f"did you mean {' or '.join(map(str, folders[:SHOWN]))}?"
    near = nearest(lost.name, (folder.name for folder in lost.parent.glob("*/")))
    return f"did you mean {lost.parent / near}?" if near else fix


END_TOLERANCE_S: Final = 0.1
ROW: Final = "#row="
MISSING: Final = "missing"
"""The stamp of a file that is not there."""
CANCELLED_DB: Final = -12.0
"""A mix this far below what unrelated channels would give has lost most of its sound."""

_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]+:")
_STRETCH: Final = re.compile(r"(?P<path>.+)#t=(?P<begin>\d+(?:\.\d+)?),(?P<end>\d+(?:\.\d+)?)")


def _refuse_address(root: Path) -> Path:
    """Specs and commands make paths absolute first: what is left of an address is its scheme."""
    if any(map(_SCHEME.fullmatch, root.parts)) and not root.exists():
        raise ValueError(
            "expected a folder of this machine, got a URL; download the library, unpack it "
            "and give its folder"
        )
    return root


LibraryRoot: TypeAlias = Annotated[Path, AfterValidator(_refuse_address)]


class FileSource(Settings):
    """A source whose clips are audio files below `root`, or stretches of them.

    Args:
        root: The library's folder, as it was published and unpacked.
    """

    root: LibraryRoot

    def stamp(self, ref: ClipRef) -> str:
        """Size and times of the file, "missing" where there is none."""
        return stamp_of(find_file(self.root, _split(ref.location)[0]))

    def load(self, ref: ClipRef) -> Recording:
        """Read the file, or the stretch of it, mixed down to mono."""
        location, span = _split(ref.location)
        path = find_file(self.root, location)
        if span is None:
            return read_recording(path)
        return _cut(_read_cached(path, stamp_of(path)), *span)

    def checksums(self) -> Mapping[str, str]:
        """Checksums that the library itself publishes: `ALGORITHM:HEX` by location."""
        return {}


def stretch(location: str, begin: Seconds, end: Seconds) -> str:
    """The location of a stretch of a file, as a media fragment (W3C Media Fragments URI 1.0)."""
    return f"{location}#t={begin:.3f},{end:.3f}"


def path_of(location: str) -> str:
    """The path of the file in which a location lies."""
    return _split(location)[0].split(ROW)[0]


def _split(location: str) -> tuple[str, tuple[Seconds, Seconds] | None]:
    parts = _STRETCH.fullmatch(location)
    if parts is None:
        return location, None
    return parts["path"], (float(parts["begin"]), float(parts["end"]))


def find_file(folder: Path, name: str) -> Path:
    """The path that an index names, in whichever Unicode form its parts are spelled on the disk.

    Both forms read the same; a Mac parts letters and accents. The name as it is comes first; where
    nothing is found, it is what is returned.
    """
    path = folder / name
    if name.isascii() or os.path.lexists(path):
        return path
    place = folder
    for part in Path(name).parts:
        forms = (part, *(unicodedata.normalize(form, part) for form in ("NFC", "NFD")))
        places = (place / form for form in forms)
        place = next(filter(os.path.lexists, places), place / part)
    return place if os.path.lexists(place) else path


def stamp_of(path: Path) -> str:
    """Size and times of a file, "missing" where there is none."""
    try:
        status = path.stat()
    except OSError as error:
        explain_unreadable(error, path)
        return MISSING
    return f"{status.st_size}:{status.st_mtime_ns}:{status.st_ctime_ns}"


def read_recording(path: Path) -> Recording:
    """A whole audio file, mixed down to mono."""
    try:
        status = path.stat()
        mode = status.st_mode
        if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):  # a pipe would be waited for
            raise ClipError("is not a regular file")
        data = path.read_bytes()
        if len(data) < status.st_size:  # the system gave up in the midst of it
            raise OSError(errno.EIO, f"{len(data)} of {status.st_size} bytes were read")
    except FileNotFoundError as error:
        raise ClipError("cannot be read: the file is missing") from error
    except OSError as error:
        raise ClipError(f"cannot be read: {explain_unreadable(error, path)}") from error
    if not data:
        raise ClipError("is an empty file")
    return decode(data, path.suffix)


def decode(data: bytes, suffix: str) -> Recording:
    """The sound of a file's bytes, mixed down to mono."""
    channels, rate = read_audio(data, suffix)
    return Recording(to_mono(channels), rate, channels.shape[1], hashlib.sha256(data).hexdigest())


@lru_cache(maxsize=1)
def _read_cached(path: Path, stamp: str) -> Recording:
    """The last file read: its stretches follow one another in an index."""
    return read_recording(path)


def _cut(whole: Recording, begin: Seconds, end: Seconds) -> Recording:
    length = len(whole.audio) / whole.rate
    if end > length + END_TOLERANCE_S or begin >= length:
        raise ClipError(f"lies at {begin:.2f} s to {end:.2f} s of a file that lasts {length:.2f} s")
    audio = whole.audio[to_frames(begin, whole.rate) : to_frames(end, whole.rate)]
    identity = f"{whole.sha256}#t={begin:.3f},{end:.3f}".encode()
    return Recording(audio, whole.rate, whole.channels, hashlib.sha256(identity).hexdigest())


def to_mono(channels: np.ndarray) -> Audio:
    """The mean of the channels; shape (frames, channels) to (frames,)."""
    if channels.shape[1] == 1:
        return np.ascontiguousarray(channels[:, 0])
    if channels.shape[1] == 2:  # the same samples, in a fraction of the time
        mono: Audio = np.add(*channels.T) / np.float32(2)
    else:
        mono = channels.mean(axis=1, dtype=np.float32)
    apart = sum(map(_power, channels.T)) / channels.shape[1] ** 2
    if _power(mono) < apart * 10 ** (CANCELLED_DB / 10):
        raise ClipError("has channels that cancel: hardly anything is left of them in mono")
    return mono


def _power(audio: Audio) -> float:
    """Of what swings; an offset is not heard."""
    return float(np.var(audio, dtype=np.float64)) if len(audio) else 0.0


def require_folder(path: Path, what: str, fix: str) -> Path:
    """`path`, if it is a folder."""
    if not path.is_dir():
        is_there = "is a file, expected a folder" if path.exists() else "not found"
        raise SourceError(f"{path}: {what} {is_there}", fix=suggest_folder(path, fix))
    return path


def require_file(path: Path, what: str, fix: str) -> Path:
    """`path`, if it is a file."""
    if not path.is_file():
        is_there = "is not a file" if path.exists() else "not found"
        raise SourceError(f"{path}: {what} {is_there}", fix=fix)
    return path


def optional_file(path: Path, what: str) -> Path | None:
    """`path`, if it is a file; None where nothing has its name."""
    if not os.path.lexists(path):
        return None
    return require_file(path, what, "use the file as published, or remove it")


# Whole files of text, JSON and checksums, with errors that name the file.


def read_text(path: Path, fix: str = FIX_FILE) -> str:
    """The text of a file in UTF-8, with or without BOM."""
    try:
        return doors.read_text(path, refuse=SourceError, fix=fix)
    except OSError as error:
        raise SourceError(f"{path}: cannot be read: {error.strerror or error}", fix=fix) from error


def read_json(path: Path, fix: str = FIX_FILE) -> Any:
    """The value in a file of JSON."""
    return doors.parse_json(read_text(path, fix), str(path), refuse=SourceError, fix=fix)


def read_form(path: Path, form: type[Form], fix: str = FIX_FILE) -> Form:
    """The value in a file of JSON, of a form that pydantic knows."""
    try:
        return TypeAdapter(form).validate_python(read_json(path, fix))
    except ValidationError as error:
        raise wrong_value_error(path, error) from error


def wrong_value_error(path: Path, error: ValidationError) -> SourceError:
    """What is wrong first in a file's value, by its keys."""
    first = error.errors()[0]
    where = ".".join(map(str, first["loc"])) or "the file"
    return SourceError(f"{path}: {where}: {first['msg']}", fix=FIX_FILE)


def read_checksums(path: Path, algorithm: str) -> Iterator[tuple[str, str]]:
    """Path and `ALGORITHM:HEX` of each line of a list as `sha1sum` and `sha256sum` write it."""
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


# Paths that an index names: below the library, or a reason why not.


FOREIGN_NAME = "its name is not UTF-8; rename the file"
FOREIGN_TEXT = "what its library says of it is not UTF-8; correct the library's index"


Form = TypeVar("Form")
_FIELDS: Final = tuple(field.name for field in fields(ClipRef))
_get_values: Final = attrgetter(*_FIELDS)
_get_names: Final = attrgetter("id", "location", "recording", "labels")


def explain_escape(path: str, root: Path, *others: Path) -> str:
    """Why a path that an index names is not read; "" where it lies below a folder that may be read.

    Links below the library are followed: whoever has the library made them. A `..` after one would
    lead on from where it points, so no index may name any; the settings' own folders may.
    """
    if "\0" in path:
        return "its path holds a NUL"
    here = Path.cwd()
    place = here / root / path
    for folder in (root, *others):
        for base in (here / folder, Path(os.path.normpath(here / folder))):
            if place.is_relative_to(base) and ".." not in place.relative_to(base).parts:
                return ""
    return "its path leads out of the library; paths of an index are below `root`, without any `..`"


def list_refs(source: Any) -> Iterator[ClipRef]:
    """Every clip that a library lists; one whose path cannot be used bears the reason."""
    listed: Iterator[ClipRef] = source.refs()
    if not isinstance(source, FileSource):
        yield from map(_mend_text, listed)
        return
    audio = getattr(source, "audio", None)
    others = () if audio is None else (source.root / audio,)
    for ref in listed:
        reason = ref.refusal or explain_escape(path_of(ref.location), source.root, *others)
        listed_ref = replace(ref, refusal=reason) if reason else ref
        yield _mend_text(listed_ref)


def _mend_text(ref: ClipRef) -> ClipRef:
    """A clip of whose words sentences are made; one with text that no table holds is refused."""
    values = _get_values(ref)
    if not _holds_surrogates(values):
        tag_names = [tag.name for tag in ref.tags]
        labels, captions, tidied = (
            tuple(filter(None, map(tidy_text, texts)))
            for texts in (ref.labels, ref.captions, tag_names)
        )
        if (*labels, *captions, *tidied) == (*ref.labels, *ref.captions, *tag_names):
            return ref
        tags = (replace(tag, name=tidy_text(tag.name)) for tag in ref.tags)
        return replace(
            ref,
            labels=tuple(dict.fromkeys(labels)),
            captions=captions,
            tags=tuple(dict.fromkeys(tag for tag in tags if tag.name)),
        )
    escaped = _escape(values)
    names = _get_names(ref)
    reason = FOREIGN_TEXT if _escape(names) == names else FOREIGN_NAME
    return replace(ref, **dict(zip(_FIELDS, escaped, strict=True)) | {"refusal": reason})


def _holds_surrogates(value: Any) -> bool:
    """Whether a value of a clip has letters that UTF-8 has no form for."""
    if isinstance(value, str):
        return not value.isascii() and any("\ud800" <= letter <= "\udfff" for letter in value)
    if isinstance(value, tuple):
        return any(map(_holds_surrogates, value))
    if isinstance(value, Tag):
        return _holds_surrogates(value.category) or _holds_surrogates(value.name)
    return False


def _escape(value: Any) -> Any:
    """A value of a clip, with what UTF-8 has no form for as escapes."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, tuple):
        return tuple([_escape(part) for part in value])
    if isinstance(value, Tag):
        return Tag(_escape(value.category), _escape(value.name))
    return value


# The files below a folder: links followed, loops ended, and nothing passed over in silence.


def walk(folder: Path) -> Iterator[Path]:
    """Every file below a folder, a folder's own before those of its sub-folders, by name.

    Names that begin with a dot are left out. A link to a folder is followed, unless it leads back
    to one that it lies in. What is neither file nor folder, such as a link to nothing, counts as a
    file that cannot be read.
    """
    yield from _walk(folder, (os.path.realpath(folder),))


def _walk(folder: Path, above: tuple[str, ...]) -> Iterator[Path]:
    try:
        paths = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as error:
        raise SourceError(
            f"{folder}: cannot be read: {error.strerror or error}",
            fix="make it readable, or move it elsewhere",
        ) from error
    folders = []
    for path in paths:
        if path.is_dir():
            folders.append(path)
        else:
            yield path
    for path in folders:
        real = os.path.realpath(path)
        if real not in above:
            yield from _walk(path, (*above, real))
