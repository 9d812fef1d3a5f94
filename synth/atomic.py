"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PARTIAL_SUFFIX = ".partial"


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary path beside `path`; on success it is synced and renamed onto `path`.

    On failure the temporary file is removed and `path` keeps what it held. Two writers of one path
    do not meet: the temporary name holds their process and thread.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    writer = f"{os.getpid()}-{threading.get_ident()}"
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


def remove_partials(folder: Path) -> None:
    """Delete what killed writers left in `folder`, which nobody else may be writing."""
    for partial in folder.glob(f".*{PARTIAL_SUFFIX}"):
        partial.unlink(missing_ok=True)


def _sync_directory(folder: Path) -> None:
    if os.name == "posix":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
