"""One writer at a time: locks that the operating system takes back from a holder that dies."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from synth.base.errors import CorpusError, SpecError
from synth.storage import url_of

LOCK_FILE: Final = ".lock"
POLL_S: Final = 0.1


@contextmanager
def sole_writer(corpus: Path) -> Iterator[None]:
    """Hold the corpus for writing, on this machine.

    Args:
        corpus: The folder that holds its versions' manifests.
    """
    if (url := url_of(corpus)) is not None:
        raise SpecError(
            f"{url}: this command works only on folders",
            fix="give a folder; segue build, plan and ingest write to URLs",
        )
    refusal = CorpusError(
        f"{corpus}: another process is building this corpus",
        fix="wait for it, then run the same command again; its work is kept",
    )
    with hold_lock(corpus / LOCK_FILE, refusal):
        yield


@contextmanager
def hold_lock(lock: Path, refusal: CorpusError) -> Iterator[None]:
    """Hold a lock, whose folder is made if it is not there."""
    lock.parent.mkdir(parents=True, exist_ok=True)
    file = FileLock(lock, thread_local=False)
    try:
        file.acquire(blocking=False)
    except Timeout as error:
        raise refusal from error
    try:
        yield
    finally:
        file.release()


@contextmanager
def wait_for_turn(folder: Path) -> Iterator[None]:
    """Wait until no other process writes the folder, then hold it."""
    folder.mkdir(parents=True, exist_ok=True)
    with FileLock(folder / LOCK_FILE, thread_local=False).acquire(poll_interval=POLL_S):
        yield
