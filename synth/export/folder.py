"""The folder of an export: its files, and what is kept to go on after an interruption."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final

from synth.base.atomic import replacing
from synth.base.errors import CorpusError
from synth.corpus.facts import GET_AGAIN

KEPT: Final = ".segue"
"""Holds receipts and pieces of manifests; not needed to read the export."""


@dataclass(frozen=True, slots=True)
class Folder:
    """Where the files of an export lie."""

    root: Path

    @property
    def kept(self) -> Path:
        """What is kept beside the export itself."""
        return self.root / KEPT

    @property
    def identity(self) -> Path:
        """Says which export this is; written first."""
        return self.kept / "export.json"

    @property
    def finished(self) -> Path:
        """Certifies the joined manifests; written last."""
        return self.kept / "finished.json"

    def receipt(self, shard: str) -> Path:
        """Certifies the part of a shard."""
        return self.kept / "receipts" / f"{shard}.json"

    def piece(self, shard: str, name: str) -> Path:
        """A shard's piece of a manifest."""
        return self.kept / "pieces" / shard / name


class Writer:
    """Writes files of an export, each whole or not at all, and notes their sizes.

    Args:
        shard: Name of the shard whose part is written, "" for what belongs to the whole.
    """

    def __init__(self, folder: Folder, shard: str = "") -> None:
        self.files: dict[str, int] = {}
        self._checked: set[Path] = set()
        self._folder = folder
        self._shard = shard

    def write(self, name: str, data: bytes) -> None:
        """Write a file; `name` is its path below the export's folder, with `/`."""
        with self.open(name) as file:
            file.write(data)

    @contextmanager
    def path(self, name: str) -> Iterator[Path]:
        """Where a library that opens its own files writes one; it then appears under `name`."""
        path = self._locate(name)
        with replacing(path) as partial:
            yield partial
            size = partial.stat().st_size
        self.files[name] = size

    @contextmanager
    def open(self, name: str) -> Iterator[BinaryIO]:
        """A file that appears under `name` when the block ends without error."""
        with self.path(name) as partial, partial.open("wb") as file:
            yield file

    def note(self, name: str) -> None:
        """Note a file that a library has written under `name` by itself."""
        self.files[name] = self._locate(name).stat().st_size

    def _locate(self, name: str) -> Path:
        root = self._folder.root
        path = Path(os.path.normpath(root / name))
        if path.parent not in self._checked:  # a link may lead out, too
            if not path.parent.resolve().is_relative_to(root.resolve()):
                raise CorpusError(f"{name!r}: expected a name below {root}", fix=GET_AGAIN)
            self._checked.add(path.parent)
        return path

    @contextmanager
    def piece(self, name: str) -> Iterator[BinaryIO]:
        """The same for this shard's piece of a manifest."""
        path = self._folder.piece(self._shard, name)
        with self.open(path.relative_to(self._folder.root).as_posix()) as file:
            yield file
