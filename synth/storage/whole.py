"""The file system of this machine as a store: files appear whole or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from pathlib import Path
from typing import Any, Final

from fsspec.implementations.local import LocalFileSystem  # type: ignore[import-untyped]

from synth.base.atomic import PARTIAL_SUFFIX, replacing, write_bytes

_NO_LINKS: Final = (errno.EPERM, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP)
"""What file systems without links answer; there alone a file may appear before it is whole."""


class WholeFileSystem(LocalFileSystem):  # type: ignore[misc]
    """fsspec's file system of this machine; what a killed writer leaves is whole, or nothing."""

    def cp_file(self, path1: str, path2: str, **kwargs: Any) -> None:
        """Copy a file; `put_file` of fsspec does so by this, too."""
        with replacing(Path(path2)) as partial:
            shutil.copyfile(path1, partial)

    def get_file(self, path1: str, path2: str, callback: Any = None, **kwargs: Any) -> None:
        """Copy a file as fsspec does: whoever gets one gives a temporary name."""
        shutil.copyfile(path1, path2)

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **kwargs: Any) -> None:
        """Write a file; with the mode "create" one that is not there.

        Raises:
            FileExistsError: If it is there, and is to be created.
        """
        if mode == "create":
            _create(Path(path), value)
        else:
            write_bytes(Path(path), value)


def _create(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.{secrets.token_hex(8)}{PARTIAL_SUFFIX}")
    try:
        partial.write_bytes(data)
        try:
            os.link(partial, path)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            with path.open("xb") as file:
                file.write(data)
    finally:
        partial.unlink(missing_ok=True)
