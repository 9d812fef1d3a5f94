"""The place of one copy: where it lies, who holds it for changing it, and what is coming to it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from synth.base.doors import read_json
from synth.base.errors import SegueError

BOUNDED: Final = (".tar", ".pcm", ".arrow")
"""Kinds of files that the limit is on; manifests are small, and stay."""
STAMPS: Final = ".stamps"


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of one copy.

    Args:
        root: The folder of copies that it lies in.
        key: The object's key.
    """

    root: Path
    key: str

    @property
    def path(self) -> Path:
        """The copy itself."""
        return self.root / self.key

    def beside(self, suffix: str) -> Path:
        """A file that is kept about the copy: its stamp, lock, part or promise."""
        return self.root / STAMPS / f"{self.key}.{suffix}"

    @property
    def is_bounded(self) -> bool:
        """Whether it is of a kind that the limit is on."""
        return self.path.suffix in BOUNDED

    @contextmanager
    def hold(self, *, wait: bool = True) -> Iterator[bool]:
        """Hold the copy for changing it; tells whether it is held, where nobody is waited for."""
        lock = self.beside("lock")
        lock.parent.mkdir(parents=True, exist_ok=True)
        own = FileLock(lock, thread_local=False)
        try:
            own.acquire(blocking=wait)
        except Timeout:
            yield False
            return
        try:
            yield True
        finally:
            own.release()

    def read_promise(self) -> tuple[int, str]:
        """Size and stamp of the object that is coming, or was when its reader died; 0 for none."""
        try:
            told = read_json(self.beside("coming"))
            return int(told["size"]), str(told["stamp"])
        except (OSError, SegueError, ValueError, KeyError, TypeError):
            return 0, ""

    def promise(self, size: int, stamp: str) -> None:
        """Say what is coming; for who holds the slot."""
        path = self.beside("coming")
        path.write_text(json.dumps({"size": size, "stamp": stamp}), encoding="utf-8")

    def give_up(self) -> None:
        """Remove what came of an object, and the promise; for who holds the slot."""
        self.beside("part").unlink(missing_ok=True)
        self.beside("coming").unlink(missing_ok=True)
