"""Who works on a store: processes known by a lock that the system takes back from the dead."""

from __future__ import annotations

import uuid
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

_SUFFIX: Final = ".lock"


class Owners:
    """The processes that work on one store, each with a locked file in a folder beside it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock: FileLock | None = None
        self._me = ""

    @property
    def me(self) -> str:
        """This owner's name; its lock is taken at first use."""
        if self._lock is None:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._me = uuid.uuid4().hex
            self._lock = FileLock(self._lock_path(self._me), thread_local=False)
            self._lock.acquire(blocking=False)
        return self._me

    def is_alive(self, name: str) -> bool:
        """Whether the owner of that name still runs; what the dead left is removed."""
        if name == self._me:
            return True
        path = self._lock_path(name)
        if not path.is_file():
            return False
        lock = FileLock(path, thread_local=False)
        try:
            lock.acquire(blocking=False)
        except Timeout:
            return True
        lock.release()
        path.unlink(missing_ok=True)
        return False

    def close(self) -> None:
        """Let go of this owner's lock."""
        if self._lock is not None:
            self._lock.release()
            self._lock_path(self._me).unlink(missing_ok=True)
            self._lock = None
            self._me = ""

    def _lock_path(self, name: str) -> Path:
        return self._folder / f"{name}{_SUFFIX}"
