"""Paths that an index names: below the library, or a reason why not."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from synth.base.errors import SourceError
from synth.labels.lexicon import Tag
from synth.sources.reading.base import ClipRef
from synth.sources.reading.files import FileSource, path_of

FOREIGN_NAME = "its name is not UTF-8; rename the file"
FOREIGN_TEXT = "what its library says of it is not UTF-8; correct the library's index"


def explain_escape(path: str, root: Path, *others: Path) -> str:
    """Why a path that an index names is not read; "" where it lies below a folder that may be read.

    Links below the library are followed: whoever has the library made them. A `..` after one would
    lead on from where it points, so no index may name any; the settings' own folders may.

    Args:
        path: As the index names it, from `root`.
    """
    if "\0" in path:
        return "its path holds a NUL"
    here = Path.cwd()
    place = here / root / path
    for each in (root, *others):
        for base in (here / each, Path(os.path.normpath(here / each))):
            if place.is_relative_to(base) and ".." not in place.relative_to(base).parts:
                return ""
    return "its path leads out of the library; paths of an index are below `root`, without any `..`"


def list_refs(source: Any) -> Iterator[ClipRef]:
    """Every clip that a library lists; one whose path cannot be used bears the reason."""
    listed: Iterator[ClipRef] = source.refs()
    if not isinstance(source, FileSource):
        yield from map(_refuse_foreign_name, listed)
        return
    audio = getattr(source, "audio", None)
    others = () if audio is None else (source.root / audio,)
    for ref in listed:
        reason = ref.refusal or explain_escape(path_of(ref.location), source.root, *others)
        listed_ref = replace(ref, refusal=reason) if reason else ref
        yield _refuse_foreign_name(listed_ref)


def _refuse_foreign_name(ref: ClipRef) -> ClipRef:
    """A clip with text that no table holds is listed by what can be said of it."""
    names = (ref.id, ref.location, ref.recording, *ref.labels)
    tags = (part for tag in ref.tags for part in (tag.category, tag.name))
    texts = (*ref.captions, ref.licence, ref.attribution, ref.split, *tags)
    if all(map(_is_utf8, (*names, *texts))):
        return ref
    return replace(
        ref,
        id=_escape(ref.id),
        location=_escape(ref.location),
        labels=tuple(map(_escape, ref.labels)),
        captions=tuple(map(_escape, ref.captions)),
        recording=_escape(ref.recording),
        licence=_escape(ref.licence),
        attribution=_escape(ref.attribution),
        split=_escape(ref.split),
        tags=tuple(Tag(_escape(tag.category), _escape(tag.name)) for tag in ref.tags),
        refusal=FOREIGN_TEXT if all(map(_is_utf8, names)) else FOREIGN_NAME,
    )


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _escape(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


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
