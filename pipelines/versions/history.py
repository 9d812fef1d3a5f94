"""The versions of a corpus: which there are, what is left of each, and the room they take."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from pipelines.builder.finalise import RECORD_FILE, promote
from pipelines.store.places import Places
from pipelines.store.stage import hold_corpus
from pipelines.versions.shelf import FileFacts, Node, VersionShelf, open_writable_shelf
from synth.base.errors import CorpusError
from synth.corpus import facts as corpus_facts
from synth.corpus.corpus import CORPUS_FILE, PLAN_FILE, REMOVED_FILE
from synth.corpus.receipt import VersionReceipt
from synth.corpus.validation import check_columns

STAGING_SUFFIX: Final = ".reproducing"
"""Of the folder beside the shards of a version in which they are made again."""


class VersionState(StrEnum):
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
    state: VersionState
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
        return self.state not in (VersionState.UNFINISHED, VersionState.STRAY)

    @property
    def is_removed(self) -> bool:
        """Whether `segue gc` removed the shards, or was killed while it did."""
        return self.removed and self.state is not VersionState.RENDERED

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


def list_versions(shelf: VersionShelf) -> list[Version]:
    """All versions on a shelf, the oldest first."""
    latest = shelf.read_latest()
    found = (_read_version(shelf, shelf.locate(name), latest) for name in shelf.names)
    return sorted(found, key=lambda version: (version.time_ns, version.name))


def read_facts(places: Places) -> dict[str, Any]:
    """What `corpus.json` of a finished version says."""
    path = places.manifests / CORPUS_FILE
    if not path.is_file():
        raise CorpusError(
            f"{places.manifests}: no finished version here", fix="`segue build SPEC` makes one"
        )
    return corpus_facts.read_facts(path)


def measure_size(files: Iterable[FileFacts]) -> int:
    """Bytes of some files, one with several names counted once."""
    sizes: dict[Node, int] = {}
    own = 0
    for file in files:
        if file.node is None:
            own += file.size
        else:
            sizes[file.node] = file.size
    return own + sum(sizes.values())


def measure_total_size(shelf: VersionShelf) -> int:
    """Bytes of all versions, a file with several names counted once."""
    return measure_size(
        file for name in shelf.names for file in shelf.list_version_files(shelf.locate(name))
    )


def _read_version(shelf: VersionShelf, places: Places, latest: str) -> Version:
    manifests = places.manifests
    files = list(shelf.list_version_files(places))
    shards_there = shelf.list_files(places.shards)
    present = sum(path.match("*.tar") and path.parents[1] == places.shards for path in shards_there)
    samples, shards, digest = 0, present, ""
    if shelf.holds(manifests / CORPUS_FILE):
        shelf.fetch(manifests / CORPUS_FILE)
        facts = read_facts(places)
        samples = sum(split["samples"] for split in facts["splits"].values())
        shards = sum(split["shards"] for split in facts["splits"].values())
        digest = facts["digest"]
        time_ns = shelf.list_files(manifests)[manifests / CORPUS_FILE].time_ns
        state = VersionState.RENDERED if present >= shards else VersionState.INCOMPLETE
        state = state if present else VersionState.MANIFESTS_ONLY
    else:
        state = VersionState.UNFINISHED if manifests in shelf.folders else VersionState.STRAY
        if shelf.holds(manifests / PLAN_FILE):
            plan = shelf.fetch(manifests / PLAN_FILE)
            samples = check_columns(plan, pa.schema([])).num_rows
        time_ns = max((file.time_ns for file in files), default=0)
    return Version(
        places=places,
        state=state,
        time_ns=time_ns,
        samples=samples,
        shards=shards,
        present=present,
        bytes=measure_size(files),
        digest=digest,
        latest=places.version == latest,
        removed=shelf.holds(manifests / REMOVED_FILE),
    )


# `segue promote`: point `latest` to a version by hand.


def promote_version(path: Path, name: str, override: bool) -> str:
    """Point `latest` of a corpus to one of its finished versions.

    Args:
        path: Manifest folder of the corpus, or its URL.
        name: The version's name, or letters that only its name begins with.
        override: Promote it although it failed a gate; its record says so.

    Returns:
        The version's name.
    """
    shelf = open_writable_shelf(path)
    with hold_corpus(shelf.out, shelf.corpus) as mirror:
        version = _find(shelf, name)
        places = replace(shelf.locate(version), mirror=mirror)
        if shelf.copies is not None and shelf.holds(places.manifests / RECORD_FILE):
            shelf.fetch(places.manifests / RECORD_FILE)
        if (receipt := VersionReceipt.read(places.manifests)) is not None:
            receipt.check()
        promote(places, override)
    return version


def _find(shelf: VersionShelf, name: str) -> str:
    found = [each for each in shelf.names if each.startswith(name)]
    if name in found:
        found = [name]
    if len(found) != 1:
        raise CorpusError(
            f"{shelf.format_path(shelf.folder)}: {len(found)} versions begin with {name!r}",
            fix=f"the versions are {', '.join(shelf.names)}",
        )
    if not shelf.holds(shelf.locate(found[0]).manifests / CORPUS_FILE):
        raise CorpusError(
            f"{shelf.format_path(shelf.locate(found[0]).manifests)}: not finished",
            fix="run its `segue build` again first",
        )
    return found[0]
