"""A shelf: the files of a corpus's versions, as they lie in a folder or at a store."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final, TypeAlias

from pipelines.store.lease import LOCK_FILE
from pipelines.store.places import BANKS, MANIFESTS, SHARDS, Places, locate_versions
from pipelines.store.stage import choose_stage, find_mirror
from synth.base.doors import plain_text, read_regular, require_regular
from synth.base.errors import CorpusError
from synth.corpus.corpus import CORPUS_FILE, LATEST_FILE, PLAN_FILE
from synth.storage import Copies, Stored, url_of
from synth.storage.reading import copies_of_url
from synth.storage.url import join_keys, parse_pointer

Node: TypeAlias = tuple[int, int]
"""Device and inode: the file behind its names."""
Files: TypeAlias = Mapping[Path, "FileFacts"]
_MARKS: Final = (CORPUS_FILE, PLAN_FILE)


@dataclass(frozen=True, slots=True)
class FileFacts:
    """What is known of a file without reading it.

    Args:
        time_ns: When it was written, in ns since 1970.
        node: The file behind the name; None where every name has its own, as at a store.
        names: Names of the file.
        stored: What the store says of it, where it is at one.
    """

    size: int
    time_ns: int
    node: Node | None = None
    names: int = 1
    stored: Stored | None = None

    @classmethod
    def of(cls, path: Path) -> FileFacts:
        """Of a file on this machine; links are not followed."""
        status = path.lstat()
        node = (status.st_dev, status.st_ino)
        return cls(status.st_size, status.st_mtime_ns, node, status.st_nlink)


@dataclass(frozen=True, slots=True)
class VersionShelf:
    """The versions of a corpus.

    Args:
        out: Root of banks/, shards/ and data_manifests/, or of copies of them.
        folders: The files of each version's manifest folder and shard folder, by folder.
        copies: What `out` is in, where it holds copies of a store's files.
    """

    out: Path
    corpus: str
    folders: Mapping[Path, Files]
    copies: Copies | None = None

    @property
    def folder(self) -> Path:
        """Of the versions' manifests."""
        return locate_versions(self.out, self.corpus)

    @property
    def names(self) -> list[str]:
        """Of all versions, in no order of time."""
        return sorted({folder.name for folder in self.folders})

    def locate(self, version: str) -> Places:
        """Where a version lies."""
        return Places(self.out, self.corpus, version)

    def list_files(self, folder: Path) -> Files:
        """The files of a version's manifest or shard folder, in a fixed order."""
        return self.folders.get(folder, {})

    def list_version_files(self, places: Places) -> Iterator[FileFacts]:
        """The files of a version."""
        yield from self.list_files(places.manifests).values()
        yield from self.list_files(places.shards).values()

    def holds(self, path: Path) -> bool:
        """Whether a file of a version's manifests is there."""
        return path in self.list_files(path.parent)

    def read_latest(self) -> str:
        """The version that `latest` names; "" for none."""
        path = self.folder / LATEST_FILE
        if self.copies is not None:
            key = self.copies.key(path)
            return parse_pointer(self.copies.remote.read(key) or b"") or ""
        return (parse_pointer(read_regular(path)) or "") if path.exists() else ""

    def fetch(self, path: Path) -> Path:
        """A file of a manifest folder that is there, to be read; a store's is fetched."""
        if self.copies is None:
            return path
        inside = next(each for each in path.parents if each in self.folders)
        return self.copies.fetch(self.copies.key(path), self.folders[inside][path].stored)

    def format_path(self, path: Path) -> str:
        """A path as the user knows it."""
        return (
            str(path) if self.copies is None else self.copies.remote.address(self.copies.key(path))
        )

    def list_others(self) -> Iterator[VersionShelf]:
        """The other corpora below `out`."""
        return (
            make_shelf(self.out, name, self.copies)
            for name in list_corpora(self.out, self.copies)
            if name != self.corpus
        )

    def list_banks(self) -> dict[Path, Files]:
        """The files of each bank below `out`."""
        return _list_folders(self.out / BANKS, self.copies)

    @property
    def is_corpus(self) -> bool:
        """Whether any version was ever planned or finished."""
        return any(path.name in _MARKS for files in self.folders.values() for path in files)


def open_shelf(place: Path) -> VersionShelf:
    """The shelf of a corpus: a folder, or a URL of which copies are kept in the cache."""
    url = url_of(place)
    if url is None:
        return make_shelf(*_split_path(place), None, place)
    base, corpus = split_url(url)
    copies, key = copies_of_url(base)
    return make_shelf(copies.path(key) if key else copies.root, corpus, copies, place)


def open_writable_shelf(path: Path) -> VersionShelf:
    """The shelf to be changed, in a stage where it is at a URL."""
    url = url_of(path)
    shelf = open_shelf(path)  # no stage is made of what is no corpus
    if url is None:
        refuse_foreign(shelf.out, shelf.corpus)
        return shelf
    base, corpus = split_url(url)
    mirror = find_mirror(choose_stage(base))
    assert mirror is not None
    return make_shelf(mirror.copies.root, corpus, mirror.copies)


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


def make_shelf(
    out: Path, corpus: str, copies: Copies | None, place: Path | None = None
) -> VersionShelf:
    """The shelf of a corpus below a root."""
    folder = locate_versions(out, corpus)
    found = VersionShelf(
        out,
        corpus,
        _list_folders(folder, copies) | _list_folders(out / SHARDS / corpus, copies),
        copies,
    )
    if place is not None and not found.is_corpus:
        raise _make_missing_error(place)
    return found


def list_corpora(out: Path, copies: Copies | None) -> list[str]:
    """The names of the corpora below a root, with those that were only begun."""
    if copies is None:
        parent = out / MANIFESTS
        return sorted(each.name for each in parent.iterdir() if each.is_dir() and _is_begun(each))
    key = copies.key(out / MANIFESTS)
    below = (each[len(key) + 1 :].split("/") for each in copies.remote.list(key))
    return sorted({names[0] for names in below if len(names) > 1})


def _is_begun(folder: Path) -> bool:
    return (folder / LOCK_FILE).is_file() or any(any(folder.glob(f"*/{mark}")) for mark in _MARKS)


def split_url(url: str) -> tuple[str, str]:
    """The root's URL and the corpus's name, of the URL BASE/data_manifests/CORPUS."""
    base, _, corpus = url.rpartition(f"/{MANIFESTS}/")
    if "://" not in base or not corpus or "/" in corpus:
        raise _make_missing_error(Path(url))
    return base if base.rpartition("://")[2] else f"{base}/", corpus


def _split_path(path: Path) -> tuple[Path, str]:
    folder = path.resolve()
    if folder.parent.name != MANIFESTS:
        raise _make_missing_error(path)
    return folder.parent.parent, folder.name


def _make_missing_error(path: Path) -> CorpusError:
    named = url_of(path) or str(path)
    fix = "give data_manifests/CORPUS of a build, or a spec, which `segue new` writes"
    if f"/{MANIFESTS}/" in f"/{named}" and path.parent.parent.name == MANIFESTS:
        fix = f"this is one version: give {url_of(path.parent) or path.parent}"
    elif url_of(path) is None and any(
        any(locate_versions(Path(), path.name).glob(f"*/{mark}")) for mark in _MARKS
    ):
        fix = f"give {locate_versions(Path(), path.name)}"
    return CorpusError(f"{named}: no versions of a corpus here", fix=fix)


def _list_folders(parent: Path, copies: Copies | None) -> dict[Path, Files]:
    """The files below each folder of a folder; hidden folders are none."""
    if copies is None:
        if not parent.is_dir():
            return {}
        folders = sorted(each for each in parent.iterdir() if each.is_dir())
        return {
            each: {path: FileFacts.of(path) for path in walk_files(each)}
            for each in folders
            if not each.name.startswith(".")
        }
    found: dict[Path, dict[Path, FileFacts]] = {}
    top = copies.key(parent)
    for key, stored in copies.remote.list(top).items():
        names = key[len(top) + 1 :].split("/")
        if len(names) > 1 and not names[0].startswith("."):
            path = copies.path(join_keys(top, *names))
            held = FileFacts(stored.size, stored.time_ns, stored=stored)
            found.setdefault(parent / names[0], {})[path] = held
    return dict(found)


def walk_files(folder: Path) -> Iterator[Path]:
    """Every file below a folder, in a fixed order; links are not followed."""
    for parent, folders, names in os.walk(folder):
        folders.sort()
        yield from (Path(parent, name) for name in sorted(names))
