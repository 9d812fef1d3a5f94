"""Files that go, and the room that this frees."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.versions.shelf import FileFacts, Node


@dataclass(frozen=True, slots=True)
class Removal:
    """Files that go.

    Args:
        freed: Bytes that this frees: those of files that keep no other name.
    """

    name: str
    files: tuple[Path, ...]
    freed: int

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {"name": self.name, "files": len(self.files), "freed": self.freed}


def count_freed_bytes(files: Mapping[Path, FileFacts], links: Counter[Node]) -> int:
    """Bytes that are freed when these go after those that `links` counted already."""
    freed = 0
    for file in files.values():
        if file.node is None:
            freed += file.size
            continue
        links[file.node] += 1
        if links[file.node] == file.names:
            freed += file.size
    return freed


def remove_files(files: Iterable[Path]) -> None:
    """Remove files, of which some may be gone already."""
    for path in files:
        path.unlink(missing_ok=True)


def remove_empty_folders(folder: Path) -> None:
    """Remove a folder and those below it, as far as nothing is left in them."""
    for each in sorted(folder.rglob("*"), reverse=True):
        if each.is_dir() and not any(each.iterdir()):
            each.rmdir()
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def list_folders(parent: Path) -> list[Path]:
    """The folders in a folder, by name; none where it is missing."""
    if not parent.is_dir():
        return []
    return sorted(each for each in parent.iterdir() if each.is_dir())
