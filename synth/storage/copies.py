"""Copies of a store's files on this machine: below one folder, under the store's own keys.

So everything inside works on paths. A file that a copied folder lacks is fetched when it is first
asked for (`fetch`); a file that was copied is known by its stamp, and fetched again once the
store's is another.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from glob import escape
from io import BufferedReader
from pathlib import Path
from typing import Any, Final

from synth.base.atomic import PARTIAL_SUFFIX, replacing, translate_disk_errors, write_text
from synth.base.doors import read_json
from synth.base.errors import SpecError
from synth.base.hashing import file_sha256
from synth.base.locks import wait_for_lock
from synth.base.progress import UNOBSERVED
from synth.storage.faults import StorageError
from synth.storage.filesystems import is_private
from synth.storage.remote import Remote, Stored
from synth.storage.room import CopySpace, Slot, limit_bytes, open_held

CACHE_VARIABLE: Final = "SEGUE_CACHE"
CORPORA: Final = "corpora"
MARKER: Final = ".segue-remote.json"
AT_ONCE: Final = 16
BLOCK_BYTES: Final = 16 * 2**20
_TRIES: Final = 2


def cache_folder() -> Path:
    """Where copies are kept: $SEGUE_CACHE, or `segue` in the user's cache folder."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named).expanduser().resolve()
    from platformdirs import user_cache_path

    return user_cache_path("segue", appauthor=False)


@dataclass(frozen=True, slots=True)
class Copies:
    """A folder of copies."""

    root: Path
    remote: Remote

    @classmethod
    def open(cls, root: Path, remote: Remote) -> Copies:
        """Make the folder, or take up one that was made before."""
        wanted = _read_own_marker(remote.url)
        marker = _read_marker(root)
        own = MARKER, f".{MARKER}"  # another process may be writing it
        if (
            marker is None
            and root.is_dir()
            and not all(path.name.startswith(own) for path in root.iterdir())
        ):
            marker = _read_marker(root)  # another process may have made it meanwhile
            if marker is None:
                raise SpecError(
                    f"{root}: contains files that are not copies of {remote.url}",
                    fix="choose a new or empty folder",
                )
        if marker is not None and marker.get("url") != remote.url:
            raise SpecError(
                f"{root}: holds copies of {marker.get('url')}", fix="choose another folder"
            )
        if marker != wanted:
            write_text(root / MARKER, json.dumps(wanted) + "\n")
        return cls(root, remote)

    def path(self, key: str) -> Path:
        """Where the copy of an object lies."""
        return self.root / key

    def key(self, path: Path) -> str:
        """The key that a path below the folder stands for."""
        return path.relative_to(self.root).as_posix()

    def has(self, key: str, stored: Stored) -> bool:
        """Whether the copy is there, of this very object, and nobody wrote over it."""
        try:
            status = self.path(key).stat()
        except OSError:
            return False
        noted = f"{status.st_mtime_ns} {stored.stamp}"
        return status.st_size == stored.size and bool(stored.stamp) and self._stamp(key) == noted

    def note(self, key: str, stored: Stored) -> None:
        """Keep in mind that the file under `key` is, as it is now, a copy of this object."""
        written = self.path(key).stat().st_mtime_ns
        write_text(self._stamp_path(key), f"{written} {stored.stamp}")

    def is_noted(self, key: str) -> bool:
        """Whether the file is as it was when it was copied from the store, or to it."""
        try:
            written = self.path(key).stat().st_mtime_ns
        except OSError:
            return False
        return self._stamp(key).startswith(f"{written} ")

    def fetch(
        self,
        key: str,
        stored: Stored | None = None,
        sha256: str | None = None,
        since_ns: int | None = None,
    ) -> Path:
        """The copy of an object, fetched unless it is there; by one process at a time.

        Args:
            stored: What the store now says of it; without it a copy that is there is good.
            sha256: What its bytes must be, as hex; None where nobody certified them.
            since_ns: Copies used since then do not go for it, in ns since 1970.
        """
        path = self.path(key)
        if self._is_good(key, stored):
            return path
        slot = self._slot(key)
        with wait_for_lock(slot.lock, UNOBSERVED):
            if not self._is_good(key, stored):
                slot.beside("stamp").unlink(missing_ok=True)
                self.note(key, self._download(slot, stored, sha256, since_ns))
        return path

    def _download(
        self, slot: Slot, stored: Stored | None, sha256: str | None, since_ns: int | None
    ) -> Stored:
        """Bring an object to its slot, which the caller holds; go on where an earlier one ended.

        What has come lies beside the stamps until it is whole. Then it is compared with the hash
        that was certified for it, and gets its name.
        """
        address = self.remote.address(slot.key)
        for _ in range(_TRIES):
            stored = stored or self.remote.find(slot.key)
            if stored is None:
                raise StorageError(
                    f"{address}: no such file",
                    fix="fix the URL; a file that was there before has been deleted",
                )
            part = slot.part(stored)
            if not (stored.stamp and part.exists()):
                slot.remove_parts()
            with self.room.admit(slot, stored.size, since_ns), translate_disk_errors(part):
                part.parent.mkdir(exist_ok=True)
                part.touch()
            _append(self.remote, slot.key, stored.size, part)
            if _is_whole(self.remote, slot.key, stored, sha256, part):
                with translate_disk_errors(slot.path), self.room.lock(slot):
                    slot.path.parent.mkdir(parents=True, exist_ok=True)
                    part.replace(slot.path)
                    slot.remove_parts()
                return stored
            slot.remove_parts()
            stored = None  # perhaps another object is there now
        raise StorageError(
            f"{address}: differs from its receipt" if sha256 else f"{address}: is being written",
            fix="wait for its build to end; if there is none, delete it there and build it again",
        )

    @property
    def room(self) -> CopySpace:
        """The room that its large files share with those of other stores; a stage has no limit."""
        shared = cache_folder() / CORPORA
        if self.root.is_relative_to(shared):
            return CopySpace(shared, limit_bytes())
        return CopySpace(self.root, None)

    def fetch_all(self, listing: Mapping[str, Stored | None]) -> None:
        """Fetch what is not there, all at once; `stored` of each as for `fetch`."""
        missing = [item for item in listing.items() if not self._is_good(*item)]
        with ThreadPoolExecutor(AT_ONCE, "segue-fetch") as threads:
            list(threads.map(lambda item: self.fetch(*item), missing))

    def forget(self, folder: str, listing: Mapping[str, Stored], *, deep: bool) -> None:
        """Delete the copies below a folder whose objects are gone or are others."""
        for path in self.files(folder, deep=deep):
            key = self.key(path)
            if self._is_listed(key, listing):
                continue
            # What another process is fetching is looked at after.
            with wait_for_lock(self._slot(key).lock, UNOBSERVED):
                if not self._is_listed(key, listing):
                    path.unlink(missing_ok=True)
                    self._stamp_path(key).unlink(missing_ok=True)

    def _is_listed(self, key: str, listing: Mapping[str, Stored]) -> bool:
        stored = listing.get(key)
        return stored is not None and self.has(key, stored)

    def files(self, folder: str, *, deep: bool) -> list[Path]:
        """The copies below a folder; hidden files are none."""
        paths = self.path(folder).glob("**/*" if deep else "*")
        return sorted(
            path
            for path in paths
            if path.is_file()
            and not any(part.startswith(".") for part in path.relative_to(self.root).parts)
        )

    def _is_good(self, key: str, stored: Stored | None) -> bool:
        return self.path(key).is_file() if stored is None else self.has(key, stored)

    def _stamp(self, key: str) -> str:
        try:
            return self._stamp_path(key).read_text(encoding="utf-8")
        except OSError:
            return ""

    def _stamp_path(self, key: str) -> Path:
        return self._slot(key).beside("stamp")

    def _slot(self, key: str) -> Slot:
        return Slot(self.root, key)


def _append(remote: Remote, key: str, size: int, part: Path) -> None:
    """Read what a part lacks; the last block is what is left, should it be more or less by now."""
    with translate_disk_errors(part), part.open("ab") as file:
        for start in range(file.tell(), size, BLOCK_BYTES):
            stop = start + BLOCK_BYTES
            data = remote.read(key, start, stop if stop < size else None)
            if not data:
                raise remote.make_short_error(key, start, size)
            file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _is_whole(remote: Remote, key: str, stored: Stored, sha256: str | None, part: Path) -> bool:
    """Whether what came is one object: the certified one, or one that is still there."""
    if sha256 is not None:
        return file_sha256(part) == sha256
    if part.stat().st_size != stored.size:
        return False
    return stored.size <= BLOCK_BYTES or remote.find(key) == stored


def copies_at(root: Path) -> Copies | None:
    """The copies that a folder is of; None where it is a folder like any other."""
    marker = _read_marker(root)
    if marker is None:
        return None
    url = str(marker["url"])
    if marker != _read_own_marker(url):
        raise StorageError(
            f"{url}: lives in process {marker.get('process')} only, and this is another one",
            fix="use one process, with 0 workers; or a folder, file:///FOLDER, or a store "
            "that all processes reach",
        )
    return Copies(root, Remote(url))


def _read_own_marker(url: str) -> dict[str, Any]:
    """What the marker of this process's copies says."""
    return {"url": url, "process": os.getpid()} if is_private(url) else {"url": url}


def _read_marker(root: Path) -> dict[str, Any] | None:
    try:
        marker = read_json(root / MARKER)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return marker if isinstance(marker, dict) else {}


# Files made on this machine from others, once: they share the room of copies, and go like them.


_MADE: Final = "made"
_REFUSED: Final = (errno.EACCES, errno.EPERM, errno.EROFS)


def open_made(name: str, make: Callable[[Path], None]) -> BufferedReader:
    """Open a file of the cache; where it is not there, one process makes it and others wait.

    Args:
        name: Of the file; tells all that it is made of, and is of a kind that the limit is on.
        make: Writes it to a path; tells by an error of its own what it cannot read.

    Returns:
        The file; it stays as long as it is open.
    """
    root = cache_folder() / CORPORA
    slot = Slot(root / _MADE, name)
    file = open_held(slot.path)
    if file is not None:
        return file
    try:
        with wait_for_lock(slot.lock, UNOBSERVED), ExitStack() as stack:
            file = open_held(slot.path)
            if file is not None:
                return file
            # Of killed makers: who holds the slot is the only one.
            for left in slot.path.parent.glob(f".{escape(name)}.*{PARTIAL_SUFFIX}"):
                left.unlink()
            with replacing(slot.path) as partial:
                make(partial)
                size = partial.stat().st_size
                # The lock is let go when the file has its name, and counts.
                stack.enter_context(CopySpace(root, limit_bytes()).admit(slot, size, written=size))
                # Held before it has its name, so that it cannot go at once.
                file = open_held(partial)
    except OSError as error:
        if error.errno not in _REFUSED:
            raise
        raise SpecError(
            f"{root}: is not writable",
            fix=f"name a folder of your own in ${CACHE_VARIABLE}",
        ) from error
    assert file is not None
    return file
