"""The versions of a corpus: which there are, what is left of each, and the room they take."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from pipelines.builder.finalise import RECORD_FILE, promote
from pipelines.store.places import Places
from pipelines.store.stage import open_readable, open_store
from pipelines.store.store import BANKS, MANIFESTS, MARKS, SHARDS, Files, Store, locate_versions
from synth.base.doors import plain_text, require_regular
from synth.base.errors import CorpusError
from synth.corpus import facts as corpus_facts
from synth.corpus.corpus import CORPUS_FILE, LATEST_FILE, PLAN_FILE, REMOVED_FILE
from synth.corpus.receipt import VersionReceipt
from synth.corpus.validation import check_columns
from synth.storage import Stored, resolve_place, url_of
from synth.storage.url import parse_pointer

STAGING_SUFFIX: Final = ".reproducing"
"""Of the folder beside the shards of a version in which they are made again."""


class VersionState(StrEnum):
    """What is left of a version."""

    RENDERED = "rendered"
    INCOMPLETE = "shards missing"
    MANIFESTS_ONLY = "manifests only"
    UNFINISHED = "unfinished"
    STRAY = "shards only"


@dataclass(frozen=True)
class Version:
    """A version of a corpus: the files that were left of it when it was listed.

    Args:
        manifest_files: Those of its manifest folder, in a fixed order.
    """

    places: Places
    manifest_files: Files
    shard_files: Files
    latest: bool

    @property
    def name(self) -> str:
        """The version's name."""
        return self.places.version

    def holds(self, name: str) -> bool:
        """Whether one of its manifests is there."""
        return self.places.manifests / name in self.manifest_files

    def fetch(self, *paths: Path) -> None:
        """Let manifests that are there be here to be read."""
        self.places.store.fetch(paths, self.manifest_files)

    @property
    def finished(self) -> bool:
        """Whether its build ended."""
        return self.holds(CORPUS_FILE)

    @cached_property
    def facts(self) -> dict[str, Any]:
        """What its `corpus.json` says; empty where it is not finished."""
        if not self.finished:
            return {}
        self.fetch(self.places.manifests / CORPUS_FILE)
        return read_facts(self.places)

    @cached_property
    def samples(self) -> int:
        """Samples in its manifest, or in its plan."""
        if not self.finished and self.holds(PLAN_FILE):
            plan = self.places.manifests / PLAN_FILE
            self.fetch(plan)
            return int(check_columns(plan, pa.schema([])).num_rows)
        return sum(split["samples"] for split in self.facts.get("splits", {}).values())

    @cached_property
    def present(self) -> int:
        """Shards that are there."""
        folder = self.places.shards
        return sum(path.match("*.tar") and path.parents[1] == folder for path in self.shard_files)

    @property
    def shards(self) -> int:
        """Shards in its manifest; of an unfinished or stray version those that are there."""
        if not self.finished:
            return self.present
        return sum(split["shards"] for split in self.facts["splits"].values())

    @property
    def state(self) -> VersionState:
        """What is left of it."""
        if not self.finished:
            return VersionState.UNFINISHED if self.manifest_files else VersionState.STRAY
        if not self.present:
            return VersionState.MANIFESTS_ONLY
        is_whole = self.present >= self.shards
        return VersionState.RENDERED if is_whole else VersionState.INCOMPLETE

    @property
    def is_removed(self) -> bool:
        """Whether `segue gc` removed the shards, or was killed while it did."""
        return self.holds(REMOVED_FILE) and self.state is not VersionState.RENDERED

    @property
    def time_ns(self) -> int:
        """When it was finished, or last worked on, by file time; in ns since 1970."""
        if self.finished:
            return self.manifest_files[self.places.manifests / CORPUS_FILE].time_ns
        return max((file.time_ns for file in self.files), default=0)

    @property
    def time(self) -> str:
        """`time_ns` in UTC, to the second."""
        moment = datetime.fromtimestamp(self.time_ns // 10**9, UTC)
        return moment.isoformat().replace("+00:00", "Z")

    @property
    def files(self) -> list[Stored]:
        """All of them."""
        return [*self.manifest_files.values(), *self.shard_files.values()]

    @property
    def bytes(self) -> int:
        """Of its shards and manifests, a file with several names counted once."""
        return measure_size(self.files)

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
            "digest": self.facts.get("digest", ""),
        }


def measure_size(files: Iterable[Stored]) -> int:
    """Bytes of some files, one with several names counted once."""
    return sum({file.node or object(): file.size for file in files}.values())


def read_facts(places: Places) -> dict[str, Any]:
    """What `corpus.json` of a finished version says."""
    path = places.manifests / CORPUS_FILE
    if not path.is_file():
        raise CorpusError(
            f"{places.manifests}: no finished version here", fix="run `segue build SPEC` first"
        )
    return corpus_facts.read_facts(path)


# Which versions there are.


def list_versions(store: Store, corpus: str) -> list[Version]:
    """All versions of a corpus, the oldest first."""
    folder = locate_versions(store.root, corpus)
    latest = parse_pointer(store.read(folder / LATEST_FILE) or b"")
    manifests = store.list_folders(folder)
    shards = store.list_folders(store.root / SHARDS / corpus)
    versions = []
    for name in {path.name for path in (*manifests, *shards)}:
        places = Places(store, corpus, name)
        files = manifests.get(places.manifests, {}), shards.get(places.shards, {})
        versions.append(Version(places, *files, latest=name == latest))
    return sorted(versions, key=lambda version: (version.time_ns, version.name))


def open_versions(place: Path) -> list[Version]:
    """The versions of a corpus, to be read, one at least.

    Args:
        place: Manifest folder, data_manifests/CORPUS, or its URL.
    """
    base, corpus = split_place(place)
    versions = list_versions(open_readable(base), corpus)
    if not any(version.holds(mark) for version in versions for mark in MARKS):
        raise _make_missing_error(place)
    return versions


def open_corpus(place: Path) -> tuple[Store, str]:
    """The store and the name of a corpus that is to be changed; `place` as for `open_versions`."""
    base, corpus = split_place(place)
    open_versions(place)  # no stage is made of what is no corpus
    store = open_store(base)
    refuse_foreign(store.root, corpus)
    return store, corpus


def split_place(place: Path) -> tuple[str, str]:
    """The root and the name of the corpus of ROOT/data_manifests/CORPUS, a path or a URL."""
    base, _, corpus = resolve_place(place).rpartition(f"/{MANIFESTS}/")
    if base.endswith(":/") or not corpus or "/" in corpus:
        raise _make_missing_error(place)
    return base if base.rpartition("://")[2] else f"{base}/", corpus


def refuse_foreign(out: Path, corpus: str) -> None:
    """Check that what is written, or removed, of a corpus lies below its root, as regular files."""
    root = out.resolve()
    for top in (out / BANKS, out / SHARDS / corpus, locate_versions(out, corpus)):
        below = (Path(parent, name) for parent, *names in os.walk(top) for name in chain(*names))
        for path in chain([top], below):
            if not path.is_dir():
                require_regular(path)
            if (path == top or path.is_symlink()) and not path.resolve().is_relative_to(root):
                raise CorpusError(
                    f"{plain_text(path)}: is a link that leads out of {plain_text(root)}: nothing "
                    "outside is written or removed",
                    fix="replace the link with what it leads to, if that is yours",
                )


def _make_missing_error(path: Path) -> CorpusError:
    named = url_of(path) or str(path)
    fix = "give data_manifests/CORPUS of a build, or a spec, which `segue new` writes"
    if f"/{MANIFESTS}/" in f"/{named}" and path.parent.parent.name == MANIFESTS:
        fix = f"this is one version: give {url_of(path.parent) or path.parent}"
    elif url_of(path) is None and any(
        any(locate_versions(Path(), path.name).glob(f"*/{mark}")) for mark in MARKS
    ):
        fix = f"give {locate_versions(Path(), path.name)}"
    return CorpusError(f"{named}: no versions of a corpus here", fix=fix)


# `segue promote`: point `latest` to a version by hand.


def promote_version(path: Path, name: str, override: bool) -> str:
    """Point `latest` of a corpus to one of its finished versions, whose name is returned.

    Args:
        name: The version's name, or letters that only its name begins with.
        override: Promote it although it failed a gate; its record says so.
    """
    store, corpus = open_corpus(path)
    with store.hold_corpus(corpus) as held:
        versions = list_versions(held, corpus)
        names = sorted(version.name for version in versions)
        matches = [name] if name in names else [other for other in names if other.startswith(name)]
        if len(matches) != 1:
            place = store.format_path(locate_versions(store.root, corpus))
            raise CorpusError(
                f"{place}: {len(matches) or 'no'} versions begin with {name!r}",
                fix=f"choose one of {', '.join(names)}",
            )
        version = next(version for version in versions if version.name == matches[0])
        if not version.finished:
            raise CorpusError(
                f"{version.places.format_path(version.places.manifests)}: not finished",
                fix="run its `segue build` again first",
            )
        if version.holds(RECORD_FILE):
            version.fetch(version.places.manifests / RECORD_FILE)
        if (receipt := VersionReceipt.read(version.places.manifests)) is not None:
            receipt.check()
        promote(version.places, override)
    return version.name
