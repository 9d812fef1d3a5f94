"""The versions of a corpus: which there are, what is left of each, and the room they take."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq

from pipelines.places import MANIFESTS, SHARDS, Places, versions_of
from pipelines.versions.removal import Node
from synth.corpus import CORPUS_FILE, LATEST_FILE, PLAN_FILE, REMOVED_FILE
from synth.errors import CorpusError

STAGING_SUFFIX: Final = ".reproducing"
"""Of the folder beside the shards of a version in which they are made again."""


class State(StrEnum):
    """What is left of a version."""

    RENDERED = "rendered"
    INCOMPLETE = "shards missing"
    MANIFESTS_ONLY = "manifests only"
    UNFINISHED = "unfinished"
    STRAY = "shards only"


@dataclass(frozen=True, slots=True)
class Version:
    """A version of a corpus.

    Args:
        places: Where it lies.
        state: What is left of it.
        time_ns: When it was finished, or last worked on, by file time; in ns since 1970.
        samples: In its manifest, or in its plan.
        shards: In its manifest; of an unfinished or stray version those that are there.
        present: Those of them that are there.
        bytes: Of its shards and manifests, a file with several names counted once.
        digest: Of all that determines it, "" where it is not finished.
        latest: Whether `latest` points to it.
        removed: Whether `segue gc` removed its shards, or began to.
    """

    places: Places
    state: State
    time_ns: int
    samples: int
    shards: int
    present: int
    bytes: int
    digest: str
    latest: bool
    removed: bool

    @property
    def name(self) -> str:
        """The version's name."""
        return self.places.version

    @property
    def finished(self) -> bool:
        """Whether its build ended."""
        return self.state not in (State.UNFINISHED, State.STRAY)

    @property
    def is_removed(self) -> bool:
        """Whether `segue gc` removed the shards, or was killed while it did."""
        return self.removed and self.state is not State.RENDERED

    @property
    def time(self) -> str:
        """`time_ns` in UTC, to the second."""
        moment = datetime.fromtimestamp(self.time_ns // 10**9, UTC)
        return moment.isoformat().replace("+00:00", "Z")

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "version": self.name,
            "state": self.state.value,
            "latest": self.latest,
            "finished": self.time if self.finished else None,
            "samples": self.samples,
            "shards": self.shards,
            "shards_present": self.present,
            "bytes": self.bytes,
            "digest": self.digest,
        }


def corpus_folder(path: Path) -> Path:
    """The folder of a corpus's versions, made absolute.

    Raises:
        CorpusError: If `path` is not data_manifests/CORPUS of a build.
    """
    folder = path.resolve()
    if folder.parent.name == MANIFESTS and is_corpus(folder):
        return folder
    mend = "give data_manifests/CORPUS of a build"
    if folder.parent.parent.name == MANIFESTS and is_corpus(folder.parent):
        mend = f"this is one version: give {path.parent}"
    elif is_corpus(versions_of(Path(), path.name)):
        mend = f"give {versions_of(Path(), path.name)}"
    raise CorpusError(f"{path}: no versions of a corpus here", mend=mend)


def is_corpus(folder: Path) -> bool:
    """Whether a folder holds versions of a corpus."""
    return any(folder.glob(f"*/{CORPUS_FILE}")) or any(folder.glob(f"*/{PLAN_FILE}"))


def list_versions(folder: Path) -> list[Version]:
    """All versions of a corpus, the oldest first.

    Args:
        folder: As `corpus_folder` gives it.

    Raises:
        CorpusError: If a `corpus.json` is damaged.
    """
    out, corpus = folder.parent.parent, folder.name
    pointer = folder / LATEST_FILE
    latest = pointer.read_text(encoding="utf-8").strip() if pointer.is_file() else ""
    names = {
        entry.name
        for parent in (folder, out / SHARDS / corpus)
        if parent.is_dir()
        for entry in parent.iterdir()
        if entry.is_dir() and not entry.name.startswith(".")
    }
    found = (_version(Places(out, corpus, name), latest) for name in sorted(names))
    return sorted(found, key=lambda version: (version.time_ns, version.name))


def read_facts(places: Places) -> dict[str, Any]:
    """What `corpus.json` of a finished version says.

    Raises:
        CorpusError: If it is missing or damaged.
    """
    path = places.manifests / CORPUS_FILE
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
        sum(split["samples"] + split["shards"] for split in facts["splits"].values())
        str(facts["digest"]), str(facts["bank"])
    except FileNotFoundError as error:
        raise CorpusError(
            f"{places.manifests}: no finished version here", mend="`segue build SPEC` makes one"
        ) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"lacks {error}" if isinstance(error, KeyError) else error
        raise CorpusError(f"{path}: damaged: {reason}", mend="delete it and build again") from error
    return dict(facts)


def files_below(folder: Path) -> Iterator[Path]:
    """Every file below a folder, in a fixed order; links are not followed."""
    for parent, folders, names in os.walk(folder):
        folders.sort()
        yield from (Path(parent, name) for name in sorted(names))


def size_of(paths: Iterable[Path]) -> int:
    """Bytes of some files, one with several names counted once."""
    sizes: dict[Node, int] = {}
    for path in paths:
        status = path.lstat()
        sizes[status.st_dev, status.st_ino] = status.st_size
    return sum(sizes.values())


def size_of_all(versions: Iterable[Version]) -> int:
    """Bytes of some versions, a shard that several of them hold counted once."""
    return size_of(path for version in versions for path in _files(version.places))


def _files(places: Places) -> Iterator[Path]:
    yield from files_below(places.manifests)
    yield from files_below(places.shards)


def _version(places: Places, latest: str) -> Version:
    manifests = places.manifests
    present = sum(1 for _ in places.shards.glob("*/*.tar"))
    samples, shards, digest = 0, present, ""
    if (manifests / CORPUS_FILE).is_file():
        facts = read_facts(places)
        samples = sum(split["samples"] for split in facts["splits"].values())
        shards = sum(split["shards"] for split in facts["splits"].values())
        digest = facts["digest"]
        time_ns = (manifests / CORPUS_FILE).stat().st_mtime_ns
        state = State.RENDERED if present >= shards else State.INCOMPLETE
        state = state if present else State.MANIFESTS_ONLY
    else:
        state = State.UNFINISHED if manifests.is_dir() else State.STRAY
        if (manifests / PLAN_FILE).is_file():
            samples = pq.read_metadata(manifests / PLAN_FILE).num_rows
        times = (path.lstat().st_mtime_ns for path in _files(places))
        time_ns = max(
            times, default=(manifests if manifests.is_dir() else places.shards).stat().st_mtime_ns
        )
    return Version(
        places=places,
        state=state,
        time_ns=time_ns,
        samples=samples,
        shards=shards,
        present=present,
        bytes=size_of(_files(places)),
        digest=digest,
        latest=places.version == latest,
        removed=(manifests / REMOVED_FILE).is_file(),
    )
