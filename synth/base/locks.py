"""One writer at a time: locks that the operating system takes back from a holder that dies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from synth.base.errors import SegueError
from synth.base.progress import Observer

LOCK_FILE: Final = ".lock"
WAITING: Final = "wait for another run"


@contextmanager
def try_lock(lock: Path) -> Iterator[bool]:
    """Hold a lock; tells whether it is held, or another process holds it."""
    try:
        held = _open(lock).acquire(blocking=False)
    except Timeout:
        yield False
        return
    with held:
        yield True


@contextmanager
def hold_lock(lock: Path, refusal: SegueError) -> Iterator[None]:
    """Hold a lock, or refuse where another process holds it."""
    with try_lock(lock) as is_held:
        if not is_held:
            raise refusal
        yield


@contextmanager
def wait_for_lock(lock: Path, observer: Observer) -> Iterator[None]:
    """Wait until no other process holds a lock, and tell of it; then hold it."""
    file = _open(lock)
    try:
        held = file.acquire(blocking=False)
    except Timeout:
        observer.start(WAITING, 1, "runs")
        held = file.acquire()
        observer.advance(WAITING)
        observer.finish(WAITING)
    with held:
        yield


def _open(lock: Path) -> FileLock:
    """A lock of all threads, whose folder is made if it is not there."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    return FileLock(lock, thread_local=False)
