"""A corpus at a URL: it is built in a stage on this machine, which the store mirrors.

The store is the truth. When a build begins, the manifests, receipts and journal of the corpus come
down, and what the stage held instead is given up; shards do not come. A shard goes up when it is
rendered, then its measurements, then its receipt, and then its file is deleted here. What was going
up when a machine died bears no receipt, and is written over by the next run.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pipelines.store.lease import Lease
from synth.base.atomic import write_bytes
from synth.storage import Copies, Stored
from synth.storage.copies import AT_ONCE

JOURNAL: Final = "journal.jsonl"


@dataclass(frozen=True, slots=True)
class Mirror:
    """The store's side of a stage.

    Args:
        copies: The stage, and what it holds copies of.
        lease: The right to certify; None where nothing but banks is written.
    """

    copies: Copies
    lease: Lease | None = None

    def to_url(self, path: Path) -> str:
        """The URL of what a path of the stage stands for."""
        return self.copies.remote.address(self.copies.key(path))

    def list_files(self, folder: Path) -> list[Path]:
        """List what the store holds below a folder, as paths of the stage.

        `find_size` knows their sizes from then on.

        Raises:
            StorageError: If the store cannot be read.
        """
        found = self._list_objects(folder)
        self.copies.remember_all(self.copies.key(folder), found)
        return [self.copies.path(key) for key in found]

    def find_size(self, path: Path) -> int | None:
        """Size in bytes of what the store was last seen to hold for a path; None for nothing."""
        return self.copies.known_size(self.copies.key(path))

    def holds(self, path: Path) -> bool:
        """Whether the store holds a file now.

        Raises:
            StorageError: If the store cannot be read.
        """
        return self.copies.remote.exists(self.copies.key(path))

    def pull(self, folder: Path) -> None:
        """Let the files below a folder be those that the store holds.

        Journals are joined, since each machine has lines of its own.

        Raises:
            StorageError: If the store cannot be read.
        """
        found = self._list_objects(folder)
        listing = {key: stored for key, stored in found.items() if not _is_journal(key)}
        journals = {key: stored for key, stored in found.items() if _is_journal(key)}
        kept = {path: path.read_bytes() for path in folder.glob(f"**/{JOURNAL}")}
        self.copies.forget(self.copies.key(folder), listing, deep=True)
        self.copies.fetch_all(listing | journals)
        for path, lines in kept.items():
            there = path.read_bytes() if path.is_file() else b""
            if (joint := _join_journals(there, lines)) != there:
                write_bytes(path, joint)

    def fetch(self, paths: Iterable[Path]) -> None:
        """Fetch files that are not here, all at once.

        Raises:
            StorageError: If one cannot be read.
        """
        with ThreadPoolExecutor(AT_ONCE, "segue-fetch") as threads:
            list(threads.map(lambda path: self.copies.fetch(self.copies.key(path)), paths))

    def push(self, *paths: Path) -> None:
        """Put files, in this order; who sees the last one sees all.

        Raises:
            StorageError: If one cannot be written.
        """
        for path in paths:
            key = self.copies.key(path)
            stored = self.copies.remote.put(path, key)
            self.copies.note(key, stored)
            self.copies.remember(key, stored)

    def certify(self, file: Path, *certificates: Path) -> None:
        """Put a file, then what certifies it, and delete the file here.

        Raises:
            CorpusError: If the lease is lost: nothing is put, or all but the last certificate.
            StorageError: If one cannot be written.
        """
        *others, last = certificates
        for paths in ((file, *others), (last,)):
            if self.lease is not None:
                self.lease.check()
            self.push(*paths)
        file.unlink()

    def withdraw(self, paths: Iterable[Path]) -> None:
        """Delete what a version, or a bank, consists of.

        Raises:
            CorpusError: If the lease is lost: nothing is deleted.
            StorageError: If something cannot be deleted.
        """
        if self.lease is not None:
            self.lease.check()
        self.remove(paths)

    def copy(self, source: Path, target: Path) -> None:
        """Copy an object within the store.

        Raises:
            StorageError: If that cannot be done.
        """
        key = self.copies.key(target)
        self.copies.remote.copy(self.copies.key(source), key)
        if (stored := self.copies.remote.find(key)) is not None:
            self.copies.remember(key, stored)

    def remove(self, paths: Iterable[Path]) -> None:
        """Delete objects.

        Raises:
            StorageError: If one cannot be deleted.
        """

        def remove_one(path: Path) -> None:
            key = self.copies.key(path)
            self.copies.remote.remove(key)
            self.copies.dismiss(key)

        with ThreadPoolExecutor(AT_ONCE, "segue-remove") as threads:
            list(threads.map(remove_one, paths))

    def push_changed(self, paths: Iterable[Path]) -> None:
        """Put those of some files that are not there as they are here, in this order.

        Raises:
            StorageError: If one cannot be written.
        """
        self.push(*(path for path in paths if not self.copies.is_noted(self.copies.key(path))))

    def _list_objects(self, folder: Path) -> dict[str, Stored]:
        """The objects below a folder; hidden ones, such as leases, are none."""
        found = self.copies.remote.list(self.copies.key(folder))
        return {key: stored for key, stored in found.items() if "/." not in f"/{key}"}


def _is_journal(key: str) -> bool:
    return key.rpartition("/")[2] == JOURNAL


def _join_journals(there: bytes, here: bytes) -> bytes:
    """The lines of both, those of the store first."""
    known = set(there.splitlines())
    return there + b"".join(line + b"\n" for line in here.splitlines() if line not in known)
