"""Files that appear whole or not at all."""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path

from synth.base.errors import DiskFullError, SegueError

PARTIAL_SUFFIX = ".partial"
GOES_ON = "run the same command again; it resumes"


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`; on success it is synced and renamed onto `path`.

    On failure the temporary file is removed and `path` keeps what it held. Two writers of one path
    do not meet: the temporary name holds their machine, process and thread.
    """
    with translate_disk_errors(path):
        if path.exists() and not path.is_file() and not path.is_dir():
            raise SegueError(f"{path}: is not a regular file", fix="give another name")
        path.parent.mkdir(parents=True, exist_ok=True)
        writer = f"{_host()}-{os.getpid()}-{threading.get_ident()}"
        partial = path.with_name(f".{path.name}.{writer}{PARTIAL_SUFFIX}")
        try:
            yield partial
            with partial.open("rb") as file:
                os.fsync(file.fileno())
            partial.replace(path)
            _sync_directory(path.parent)
        finally:
            partial.unlink(missing_ok=True)


def write_bytes(path: Path, data: bytes) -> None:
    """Write `data` to `path` atomically."""
    with replacing(path) as partial:
        partial.write_bytes(data)


def write_text(path: Path, text: str) -> None:
    """Write `text` to `path` atomically, as UTF-8."""
    write_bytes(path, text.encode())


@contextmanager
def translate_disk_errors(path: Path) -> Iterator[None]:
    """What the system says when `path` cannot be written names it; want of room is told clearly."""
    try:
        yield
    except OSError as error:
        if error.filename is None or str(error.filename).endswith(PARTIAL_SUFFIX):
            error.filename = str(path)  # the name that the user knows
        clear_error = disk_error(error, path)
        if clear_error is None:
            raise
        raise clear_error from error


def disk_error(error: OSError, path: Path) -> DiskFullError | None:
    """The clear error of a file that did not fit at `path`; None of an error of another kind."""
    if error.errno == errno.ENOSPC:
        message = f"{path}: the disk is full, {format_bytes(free_bytes(path))} are free"
        fix = f"free some space there, then {GOES_ON}"
    elif error.errno == errno.EDQUOT:
        message = f"{path}: the disk quota is used up"
        fix = f"free some space there or have the quota raised, then {GOES_ON}"
    elif error.errno == errno.EFBIG:
        message = f"{path}: exceeds the file size limit"
        fix = f"raise the limit (see ulimit -f), or use another file system, then {GOES_ON}"
    else:
        return None
    return DiskFullError(message, fix=fix)


def free_bytes(path: Path) -> int:
    """Free space where a path lies, or will lie."""
    path = path.resolve()
    while not path.exists():
        path = path.parent
    return shutil.disk_usage(path).free


def format_count(count: int, noun: str) -> str:
    """`1 sample`, `1,200 samples`."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def format_bytes(count: int) -> str:
    """Bytes as a person reads them."""
    for unit, size in (("GB", 1e9), ("MB", 1e6)):
        if count >= size:
            return f"{count / size:.2f} {unit}"
    return f"{count // 1000} kB"


def file_state(path: Path) -> tuple[int, int, int, int]:
    """What changes when a file is replaced, or written anew in place: inode, bytes, times in ns.

    The second time cannot be set: it tells what was written under the time of before.
    """
    status = path.stat()
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def remove_partials(folder: Path) -> None:
    """Delete what killed writers left in `folder`, which nobody else may be writing."""
    for partial in folder.glob(f".*{PARTIAL_SUFFIX}"):
        partial.unlink(missing_ok=True)


@lru_cache(maxsize=1)
def _host() -> str:
    """This machine's name in letters that any file system takes, in 32 at most."""
    name = socket.gethostname()
    plain = re.sub(r"[^A-Za-z0-9-]", "-", name) or "host"
    tail = hashlib.sha256(name.encode()).hexdigest()[:8]
    return plain if len(plain) <= 32 else f"{plain[:23]}-{tail}"


def _sync_directory(folder: Path) -> None:
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
