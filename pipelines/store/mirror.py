"""A corpus at a URL: it is built in a stage on this machine, which the store mirrors.

The store is the truth. When a build begins, the manifests, receipts and journal of the corpus come
down, and what the stage held instead is given up; shards do not come. A shard goes up when it is
rendered, then its measurements, then its receipt, and then its file is deleted here. What was going
up when a machine died bears no receipt, and is written over by the next run.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from pipelines.store.lease import Lease
from synth.base.atomic import PARTIAL_SUFFIX, translate_disk_errors, write_bytes, write_text
from synth.base.errors import CorpusError
from synth.storage import Copies, Stored
from synth.storage.copies import AT_ONCE

JOURNAL: Final = "journal.jsonl"
_TRIES: Final = 5
_BETWEEN_CHECKS: Final = 50
"""Deletions after which the lease is looked at again."""


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
        """
        found = self._list_objects(folder)
        self.copies.remember_all(self.copies.key(folder), found)
        return [self.copies.path(key) for key in found]

    def find_size(self, path: Path) -> int | None:
        """Size in bytes of what the store was last seen to hold for a path; None for nothing."""
        return self.copies.known_size(self.copies.key(path))

    def holds(self, path: Path) -> bool:
        """Whether the store holds a file now."""
        return self.copies.remote.exists(self.copies.key(path))

    def pull(self, folder: Path) -> None:
        """Let the files below a folder be those that the store holds.

        Journals are joined, since each machine has lines of its own.
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
        """Fetch files that are not here, all at once."""
        with ThreadPoolExecutor(AT_ONCE, "segue-fetch") as threads:
            list(threads.map(lambda path: self.copies.fetch(self.copies.key(path)), paths))

    def push(self, *paths: Path) -> None:
        """Put files, in this order; who sees the last one sees all.

        Who holds a lease replaces what he saw before he checked it, and nothing else: had he been
        paused in between and somebody else taken over, it would be another object by then.
        """
        keys = [self.copies.key(path) for path in paths]
        found = self._see(keys)
        for path, key in zip(paths, keys, strict=True):
            stored = self._put(path, key, found)
            self.copies.note(key, stored)
            self.copies.remember(key, stored)

    def _see(self, keys: Sequence[str]) -> dict[str, Stored | None]:
        """What objects are, as seen before the lease was found to be held."""
        if self.lease is None or not keys:
            return {}
        found = {key: self.copies.remote.find(key) for key in keys}
        self.lease.check()
        return found

    def _put(self, path: Path, key: str, found: Mapping[str, Stored | None]) -> Stored:
        remote = self.copies.remote
        if self.lease is None:
            return remote.put(path, key)
        for _ in range(_TRIES):
            if (stored := remote.put_over(path, key, found[key])) is not None:
                return stored
            found = self._see([key])  # a former holder's last words, or a request that was repeated
        raise CorpusError(
            f"{remote.address(key)}: others keep writing it",
            fix="build a corpus on one machine at a time",
        )

    def certify(self, file: Path, *certificates: Path) -> None:
        """Put a file, then what certifies it, and delete the file here."""
        *others, last = certificates
        self.bar(file, last)
        self.push(file, *others)
        self.push(last)
        file.unlink()

    def bar(self, file: Path, certificate: Path) -> None:
        """Keep who put a file before, and may sleep, from putting its certificate after all.

        What is put in its place certifies nothing, and is another one for every lease.
        """
        if self.lease is None or not self.holds(file) or self.holds(certificate):
            return
        key = self.copies.key(certificate)
        bar = certificate.with_name(f".{certificate.name}.bar{PARTIAL_SUFFIX}")
        write_text(bar, json.dumps({"barred_by": self.lease.token}) + "\n")
        self._put(bar, key, self._see([key]))
        bar.unlink()

    def withdraw(self, paths: Iterable[Path]) -> None:
        """Delete what a version, or a bank, consists of.

        The lease is looked at before, and now and then; who is paused in between may still delete
        the few files that he was at.
        """

        def remove_one(path: Path) -> None:
            key = self.copies.key(path)
            self.copies.remote.remove(key)
            self.copies.dismiss(key)

        with ThreadPoolExecutor(AT_ONCE, "segue-remove") as threads:
            rest = list(paths)
            while True:
                if self.lease is not None:
                    self.lease.check()
                list(threads.map(remove_one, rest[:_BETWEEN_CHECKS]))
                rest = rest[_BETWEEN_CHECKS:]
                if not rest:
                    break

    def copy(self, source: Path, target: Path) -> None:
        """Copy an object within the store; the lease is looked at before, and no condition set."""
        if self.lease is not None:
            self.lease.check()
        key = self.copies.key(target)
        self.copies.remote.copy(self.copies.key(source), key)
        if (stored := self.copies.remote.find(key)) is not None:
            self.copies.remember(key, stored)

    def push_changed(self, paths: Iterable[Path]) -> None:
        """Put those of some files that are not there as they are here, in this order."""
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


# The build journal: one JSON line for each thing done, over all runs of a version.


def record(path: Path, event: str, **details: Any) -> None:
    """Append a line; lines of several threads and processes do not mix."""
    line = {
        "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
        "process": os.getpid(),
        "event": event,
        **details,
    }
    data = (json.dumps(line, ensure_ascii=False) + "\n").encode()
    with translate_disk_errors(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            _append(descriptor, data)
        finally:
            os.close(descriptor)


def _append(descriptor: int, data: bytes) -> None:
    """Write a line; the part of one that a full disk left is ended first."""
    end = os.lseek(descriptor, 0, os.SEEK_END)
    if end and os.pread(descriptor, 1, end - 1) != b"\n":
        data = b"\n" + data
    written = os.write(descriptor, data)
    if written < len(data):  # the next write tells why
        os.write(descriptor, data[written:])
