"""Where files are written: room, and whether syncing, renaming and locking work there."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pipelines.checks.doctor.check import CheckState, DoctorCheck
from pipelines.store.locks import hold_lock
from synth.base.atomic import format_bytes, free_bytes, write_bytes
from synth.base.errors import CorpusError, SegueError
from synth.storage import url_of

LEAST_BYTES: Final = 1_000_000_000
LEAST_SHARED: Final = 256_000_000
SHARED_MEMORY: Final = Path("/dev/shm")


def check_disks(out: Path) -> Iterator[DoctorCheck]:
    """The disks of `--out`, the user's folder and temporary files, and shared memory."""
    if (url := url_of(out)) is not None:
        yield DoctorCheck(
            f"--out {url}", CheckState.OK, "an object store, not tested", "segue build writes it"
        )
    else:
        yield _check_disk(f"--out {out}", out, "segue build and plan write there", CheckState.WRONG)
    yield _check_disk("home", Path.home(), "caches: models, copies of stored files")
    temporary = Path(tempfile.gettempdir())
    yield _check_disk(f"temporary files {temporary}", temporary, "decoding by ffmpeg, Prefect")
    if SHARED_MEMORY.is_dir():
        yield _check_shared_memory(SHARED_MEMORY)


def _check_disk(
    name: str, path: Path, needed_for: str, state: CheckState = CheckState.MISSING
) -> DoctorCheck:
    folder = path.expanduser().resolve()
    while not folder.is_dir() and folder != folder.parent:
        folder = folder.parent
    try:
        free = free_bytes(folder)
        with tempfile.TemporaryDirectory(prefix=".segue-doctor-", dir=folder) as scratch:
            _try_writing(Path(scratch))
    except (OSError, SegueError) as error:
        fix = "use a folder on a disk that supports writing, sync and locks"
        return DoctorCheck(name, state, f"{folder}: {error}", needed_for, fix)
    found = f"{format_bytes(free)} free; sync, rename and lock work"
    few = f"only {format_bytes(free)} free" if free < LEAST_BYTES else ""
    fix = "free some space, or use another disk; `segue plan` shows what a corpus needs"
    return DoctorCheck.of(name, found, needed_for, few, fix)


def _try_writing(scratch: Path) -> None:
    """Do what a build does.

    Raises:
        OSError: If the file system cannot.
        SegueError: If it has no room, or locks nothing.
    """
    for data in (b"first", b"second"):
        write_bytes(scratch / "file", data)  # synced, and renamed onto what is there
    if (scratch / "file").read_bytes() != b"second":
        raise CorpusError("a rename over an existing file is not seen by readers")
    refusal = CorpusError("is locked")
    with hold_lock(scratch / ".lock", refusal):
        try:
            with hold_lock(scratch / ".lock", refusal):
                pass
        except CorpusError:
            return
    raise CorpusError("a lock can be taken twice")


def _check_shared_memory(folder: Path) -> DoctorCheck:
    size = shutil.disk_usage(folder).total
    few = f"{format_bytes(size)} in all" if size < LEAST_SHARED else ""
    needed_for = "segue train with loader workers"
    fix = "docker run --shm-size=2g, or train with `workers: 0`"
    return DoctorCheck.of("shared memory", f"{format_bytes(size)} in all", needed_for, few, fix)
