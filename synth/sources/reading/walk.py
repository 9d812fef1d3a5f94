"""The files below a folder: links followed, loops ended, and nothing passed over in silence."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from synth.base.errors import SourceError


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
