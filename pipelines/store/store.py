"""Where the files of builds are kept: a `Store`.

Whoever writes below a root tells its store what is to be kept, and in which order, and asks it what
is there. A folder keeps files where they are written, which is what this class does; at a URL
`stage.StagedStore` puts them to a store. Nothing else asks which of the two it is.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, TypeAlias

from pipelines.store.lease import sole_writer
from synth.base.atomic import remove_partials, replacing, translate_disk_errors
from synth.base.doors import read_regular
from synth.base.hashing import FileHash, file_sha256
from synth.base.locks import LOCK_FILE
from synth.corpus.corpus import CORPUS_FILE, PLAN_FILE
from synth.storage import Stored

BANKS: Final = "banks"
SHARDS: Final = "shards"
MANIFESTS: Final = "data_manifests"
JOURNAL: Final = "journal.jsonl"
MARKS: Final = (CORPUS_FILE, PLAN_FILE)
"""What a version that was planned or finished has, one of them at least."""

Files: TypeAlias = Mapping[Path, Stored]
"""Files, and what is known of each without reading it."""


@dataclass(frozen=True)
class Store:
    """A folder that keeps what is written in it.

    Args:
        root: Of banks/, shards/ and data_manifests/.
    """

    root: Path

    def format_path(self, path: Path) -> str:
        """A path below the root as the user knows it."""
        return str(path)

    def list_folders(self, parent: Path) -> dict[Path, Files]:
        """The files below each folder of a folder; hidden folders are none."""
        if not parent.is_dir():
            return {}
        folders = sorted(path for path in parent.iterdir() if path.is_dir())
        return {
            folder: {path: stat_file(path) for path in walk_files(folder)}
            for folder in folders
            if not folder.name.startswith(".")
        }

    def list_files(self, folder: Path) -> list[Path]:
        """The files below a folder; `find_size` knows what is there now from then on."""
        return list(walk_files(folder))

    def list_corpora(self) -> list[str]:
        """The names of the corpora, with those that were only begun."""
        folders = (path for path in (self.root / MANIFESTS).iterdir() if path.is_dir())
        traces = (LOCK_FILE, *(f"*/{mark}" for mark in MARKS))
        return sorted(
            folder.name for folder in folders if any(any(folder.glob(trace)) for trace in traces)
        )

    def find_size(self, path: Path) -> int | None:
        """Size in bytes of a file that is kept; None for nothing."""
        try:
            return path.stat().st_size
        except OSError:
            return None

    def holds(self, path: Path) -> bool:
        """Whether a file is kept now."""
        return path.is_file()

    def find_fault(self, path: Path, certified: FileHash, certificate: Path | None = None) -> str:
        """What is other with a file that is kept than was certified; "" where nothing is.

        Args:
            certificate: What was written after the file: then its size is enough. At a store, where
                files appear whole and are put before their certificates, it always is.
        """
        by_size = (
            certificate is not None
            and path.exists()
            and path.stat().st_mtime_ns <= certificate.stat().st_mtime_ns
        )
        return certified.find_fault(path, by_size=by_size)

    def read(self, path: Path) -> bytes | None:
        """What a file says now; None where it is not there."""
        return read_regular(path) if path.exists() else None

    def hash_file(self, path: Path) -> str:
        """Hex SHA-256 of a file, which does not come here for it."""
        return file_sha256(path)

    def fetch(self, paths: Iterable[Path], facts: Files | None = None) -> None:
        """Let files that are kept be here to be read.

        Args:
            facts: What is known of them now; without it a file that is here is good.
        """

    def fetch_again(self, path: Path) -> bool:
        """Let go of a damaged file and fetch it; False where there is no other one."""
        return False

    def put(self, *paths: Path) -> None:
        """Keep files, in this order; who sees the last one sees all. Shards do not stay here."""

    def put_changed(self, paths: Iterable[Path]) -> None:
        """Keep those of some files that are not kept as they are here, in this order."""

    def certify(self, file: Path, *certificates: Path) -> None:
        """Keep a file, then what certifies it."""

    def adopt(self, source: Path, target: Path, certificate: Path) -> None:
        """Let a file be the same as another one; its certificate comes after."""
        link(source, target)

    def add(self, source: Path, target: Path) -> None:
        """Let a file be the same as one that is here, if it is not there."""
        if self.holds(target):
            return
        self.check()
        if source != target:
            link(source, target)
        self.put(target)

    def remove(self, paths: Iterable[Path]) -> None:
        """Delete files, of which some may be gone already."""
        for path in paths:
            path.unlink(missing_ok=True)

    def check(self) -> None:
        """Check that nobody else has become the writer."""

    def refuse_private(self) -> None:
        """Check that other processes see what is kept here."""

    @contextmanager
    def hold_corpus(self, corpus: str) -> Iterator[Store]:
        """Hold a corpus as its sole writer, and bring nothing here; yields its store."""
        versions = locate_versions(self.root.resolve(), corpus)
        with sole_writer(versions):
            for folder in (versions, *versions.glob("*/")):
                remove_partials(folder)
            yield self

    @contextmanager
    def hold_for_writing(self, corpus: str) -> Iterator[Store]:
        """Hold a corpus as its sole writer, its manifests here; yields its store.

        What was written beside them, such as the journals, is kept at the end.
        """
        with self.hold_corpus(corpus) as held:
            yield held

    @contextmanager
    def hold_banks(self) -> Iterator[None]:
        """Let nobody on another machine begin to write a corpus."""
        yield

    @contextmanager
    def hold_filling(self, bank: Path) -> Iterator[Callable[[], None]]:
        """Let nobody on another machine remove files of a bank while it is filled.

        Others may fill it as well: equal parts have equal names. Yields a check that this holds.
        """
        yield lambda: None


def locate_versions(out: Path, corpus: str) -> Path:
    """Where the manifests of all versions of a corpus lie."""
    return out / MANIFESTS / corpus


# Files of this machine.


def walk_files(folder: Path) -> Iterator[Path]:
    """Every file below a folder, in a fixed order; links are not followed."""
    for parent, folders, names in os.walk(folder):
        folders.sort()
        yield from (Path(parent, name) for name in sorted(names))


def stat_file(path: Path) -> Stored:
    """What is known of a file without reading it; links are not followed."""
    status = path.lstat()
    node = status.st_dev, status.st_ino
    return Stored(status.st_size, "", status.st_mtime_ns, node, status.st_nlink)


def link(source: Path, target: Path) -> None:
    """Let `target` be the same file, or a copy where the file system has no links."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target) as partial:
        try:
            os.link(source, partial)
        except OSError:
            shutil.copyfile(source, partial)


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
