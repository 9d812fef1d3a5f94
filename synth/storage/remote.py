"""A folder at a store, read and written object by object.

Requests are repeated by the store's own client (AWS_MAX_ATTEMPTS and AWS_RETRY_MODE say how often),
and whole files by this module where a transfer broke off. Credentials come from the environment,
as the store's client finds them, and from nowhere else.
"""

from __future__ import annotations

import io
import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final, TypeVar

from synth.base.atomic import PARTIAL_SUFFIX
from synth.storage.faults import StorageError, is_missing, is_passing, is_taken, to_storage_error
from synth.storage.filesystems import LOCAL, S3, filesystem_of
from synth.storage.url import join_keys, split_url

T = TypeVar("T")

ATTEMPTS: Final = 3
FIRST_WAIT_S: Final = 1.0
PART_BYTES: Final = 8 * 2**20
PIECE_BYTES: Final = 8 * 2**20
PARTS_AT_ONCE: Final = 4


_STAMPS: Final = ("ETag", "etag", "md5Hash", "md5", "mtime", "created", "LastModified")
_TIMES: Final = ("LastModified", "mtime", "updated", "last_modified", "created")


@dataclass(frozen=True, slots=True)
class Stored:
    """What a store says of an object.

    Args:
        stamp: Another one whenever the content is another: the ETag, or what the store has like it.
        time_ns: When it was written, in ns since 1970; 0 where the store does not say.
        node: Of a file of this machine device and inode, which its names share.
    """

    size: int
    stamp: str
    time_ns: int = field(default=0, compare=False)
    node: tuple[int, int] | None = None
    names: int = 1


@dataclass(frozen=True, slots=True)
class Remote:
    """A folder at a store; objects are told by their keys below it."""

    url: str

    def address(self, key: str = "") -> str:
        """The URL of an object or a folder."""
        return f"{self.url.removesuffix('/')}/{key}" if key else self.url

    def list(self, folder: str = "", *, deep: bool = True) -> dict[str, Stored]:
        """The objects below a folder, by key, sorted; none where no such folder."""
        filesystem, path = self._locate(folder)
        root = self._locate()[1]
        depth = None if deep else 1
        entries = self._ask(lambda: filesystem.find(path, maxdepth=depth, detail=True), folder)
        skipped = len(root) + 1 if root else 0
        return {
            name.lstrip("/") if not root else name[skipped:]: _parse_entry(entry)
            for name, entry in sorted((entries or {}).items())
            if entry["type"] == "file" and not name.endswith("/") and name != path
        }

    def find(self, key: str) -> Stored | None:
        """What the store says of one object; None where it is not there."""
        filesystem, path = self._locate(key)
        entry = self._ask(lambda: filesystem.info(path), key)
        return _parse_entry(entry) if entry is not None and entry["type"] == "file" else None

    def exists(self, key: str) -> bool:
        """Whether there is such an object."""
        return self.find(key) is not None

    def open(self, key: str) -> io.BufferedReader:
        """An object, opened for reading; what is read of it comes in large pieces, and is not kept.

        Raises:
            FileNotFoundError: If there is no such object.
        """
        stored = self.find(key)
        if stored is None:
            raise FileNotFoundError(self.address(key))
        return io.BufferedReader(_Ranges(self, key, stored.size), PIECE_BYTES)

    def read(self, key: str, start: int | None = None, stop: int | None = None) -> bytes | None:
        """An object's bytes, or those from `start` to `stop`; None where it is not there."""
        filesystem, path = self._locate(key)
        return self._ask(lambda: bytes(filesystem.cat_file(path, start=start, end=stop)), key)

    def write(self, key: str, content: bytes | Path) -> Stored:
        """Put bytes, or a file, under a key; what was there is replaced."""
        return self._retry(lambda: self._send(key, content, {}), key, "written")

    def write_over(self, key: str, content: bytes | Path, expected: Stored | None) -> Stored | None:
        """Put bytes, or a file, under a key that holds what it held before.

        S3 is asked to by a conditional request. Others are asked what they hold, and lose what
        another writes in between; those that know no condition may let two writers through that
        create an object in the same moment: read it afterwards to see whose it is.

        Args:
            expected: What `find` said of it.

        Returns:
            What the store then holds; None where the key holds something else, and keeps it.
        """
        if isinstance(content, Path):
            content.stat()  # else that it is gone would be taken for what the store says of the key
        condition: dict[str, Any] = {}
        if self._scheme in S3 and expected is not None:
            condition["IfMatch"] = f'"{expected.stamp}"'
        elif expected is None and (self._scheme in S3 or isinstance(content, bytes)):
            condition["mode"] = "create"

        def attempt() -> Stored | None:
            if self._scheme not in S3 and self.find(key) != expected:
                return None
            try:
                return self._send(key, content, condition)
            except Exception as error:
                if is_taken(error) or (expected is not None and is_missing(error)):
                    return None
                raise

        return self._retry(attempt, key, "written")

    def _send(self, key: str, content: bytes | Path, options: dict[str, Any]) -> Stored:
        """Put bytes, or a file, in parts where it is large."""
        filesystem, path = self._locate(key)
        if isinstance(content, bytes):
            filesystem.pipe_file(path, content, **options)
            size = len(content)
        else:
            if self._scheme in S3:
                options = options | {"chunksize": PART_BYTES, "max_concurrency": PARTS_AT_ONCE}
            filesystem.put_file(str(content), path, **options)
            size = content.stat().st_size
        stored = self.find(key)
        if stored is None or stored.size != size:
            raise EOFError(f"{stored.size if stored else 0} of {size} bytes")
        return stored

    def copy(self, source: str, target: str) -> None:
        """Copy an object within the store."""
        filesystem, path = self._locate(target)
        old = self._locate(source)[1]
        self._retry(lambda: filesystem.cp_file(old, path), target, "written")

    def remove(self, key: str) -> None:
        """Delete an object, if it is there."""
        filesystem, path = self._locate(key)
        self._ask(lambda: filesystem.rm_file(path), key, "written")

    def remove_partials(self, folder: str) -> None:
        """Delete what killed writers left below a folder, which nobody else may be writing.

        Stores proper hold nothing of the kind: there an object is whole, or is not there.
        """
        if self.is_folder:
            for partial in Path(self._locate(folder)[1]).rglob(f".*{PARTIAL_SUFFIX}"):
                partial.unlink(missing_ok=True)

    def make_short_error(self, key: str, end: int, size: int) -> StorageError:
        """The error of an object that ends before the size that the store told."""
        return StorageError(
            f"{self.address(key)}: ends after {end} of {size} bytes",
            fix="wait for its writer to end, then run the same command again",
        )

    @property
    def _scheme(self) -> str:
        return self.url.partition("://")[0]

    @property
    def is_folder(self) -> bool:
        """Whether the store is a folder, in which files are to appear whole or not at all."""
        return self._scheme in LOCAL

    def _locate(self, key: str = "") -> tuple[Any, str]:
        """The file system, and the path of an object or a folder in it."""
        filesystem = filesystem_of(split_url(self.url)[0])
        root = str(filesystem._strip_protocol(self.url)).rstrip("/")
        below = join_keys(key)
        return filesystem, f"{root}/{below}" if below else root

    def _ask(self, action: Callable[[], T], key: str, done: str = "read") -> T | None:
        """The action's result; None where there is no such object."""

        def attempt() -> T | None:
            try:
                return action()
            except FileNotFoundError as error:
                if is_missing(error):
                    return None
                raise

        return self._retry(attempt, key, done)

    def _retry(self, action: Callable[[], T], key: str, done: str) -> T:
        """The action's result, tried again while what fails may pass."""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return action()
            except StorageError:
                raise
            except Exception as error:
                if attempt == ATTEMPTS or not is_passing(error):
                    raise to_storage_error(error, self.address(key), done) from error
            time.sleep(FIRST_WAIT_S * 2 ** (attempt - 1))
        raise AssertionError("no attempt was made")


class _Ranges(io.RawIOBase):
    """Reads an object range by range, each of them tried again like any other request."""

    def __init__(self, remote: Remote, key: str, size: int) -> None:
        self._remote = remote
        self._key = key
        self._size = size
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer: Any) -> int:
        stop = min(self._at + len(buffer), self._size)
        if stop <= self._at:
            return 0
        data = self._remote.read(self._key, self._at, stop)
        if not data:
            raise self._remote.make_short_error(self._key, self._at, self._size)
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)


def _parse_entry(entry: dict[str, Any]) -> Stored:
    """What an entry of an fsspec listing says."""
    size = int(entry.get("size") or 0)
    stamp = next((_plain(entry[name]) for name in _STAMPS if entry.get(name)), "")
    time = next((_plain(entry[name]) for name in _TIMES if entry.get(name)), 0)
    return Stored(size, str(stamp).strip('"'), round(_seconds(time) * 10**9))


def _plain(value: Any) -> Any:
    return value.timestamp() if isinstance(value, datetime) else value


def _seconds(value: Any) -> float:
    """A time of a store in seconds since 1970: a number, or as ISO 8601."""
    try:
        return float(value)
    except ValueError:
        return datetime.fromisoformat(str(value)).timestamp()
