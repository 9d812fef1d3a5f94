"""Copies of a store's files on this machine: below one folder, under the store's own keys.

So everything inside works on paths. A file that a copied folder lacks is fetched when it is first
asked for (`fetched`); a file that was copied is known by its stamp, and fetched again once the
store's is another.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from typing import Final

from filelock import FileLock

from synth.atomic import write_text
from synth.errors import SpecError
from synth.rng import digest
from synth.storage.remote import Remote, Stored
from synth.storage.url import joined, split_url, url_of

CACHE_VARIABLE: Final = "SEGUE_CACHE"
MARKER: Final = ".segue-remote.json"
STAMPS: Final = ".stamps"
SIZES: Final = ".sizes"
AT_ONCE: Final = 16
_LATEST: Final = "latest"


def cache_folder() -> Path:
    """Where copies are kept: $SEGUE_CACHE, or `segue` in the user's cache folder."""
    named = os.environ.get(CACHE_VARIABLE)
    if named:
        return Path(named).expanduser().resolve()
    from platformdirs import user_cache_path

    return user_cache_path("segue", appauthor=False)


@dataclass(frozen=True, slots=True)
class Copies:
    """A folder of copies.

    Args:
        root: The folder.
        remote: What it holds copies of.
    """

    root: Path
    remote: Remote

    @classmethod
    def open(cls, root: Path, remote: Remote) -> Copies:
        """Make the folder, or take up one that was made before.

        Raises:
            SpecError: If it holds something else.
        """
        marker = root / MARKER
        if marker.is_file():
            found = str(json.loads(marker.read_text(encoding="utf-8")).get("url"))
            if found != remote.url:
                raise SpecError(f"{root}: holds copies of {found}", mend="choose another folder")
        else:
            if root.is_dir() and any(root.iterdir()):
                raise SpecError(
                    f"{root}: holds files that are no copies of {remote.url}",
                    mend="choose a new or empty folder",
                )
            write_text(marker, json.dumps({"url": remote.url}) + "\n")
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
            found = self.path(key).stat()
        except OSError:
            return False
        noted = f"{found.st_mtime_ns} {stored.stamp}"
        return found.st_size == stored.size and bool(stored.stamp) and self._stamp(key) == noted

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

    def fetch(self, key: str, stored: Stored | None = None) -> Path:
        """The copy of an object, fetched unless it is there; by one process at a time.

        Args:
            key: The object.
            stored: What the store now says of it; without it a copy that is there is good.

        Raises:
            StorageError: If it is not there, or cannot be read.
        """
        path = self.path(key)
        if self._is_good(key, stored):
            return path
        lock = self._stamp_path(key).with_suffix(".lock")
        lock.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(lock, thread_local=False):
            if not self._is_good(key, stored):
                self._stamp_path(key).unlink(missing_ok=True)
                self.note(key, self.remote.get(key, path))
        return path

    def fetch_all(self, listing: Mapping[str, Stored]) -> None:
        """Fetch what a listing holds and is not there."""
        missing = [(key, stored) for key, stored in listing.items() if not self.has(key, stored)]
        with ThreadPoolExecutor(AT_ONCE, "segue-fetch") as threads:
            list(threads.map(lambda each: self.fetch(*each), missing))

    def forget(self, folder: str, listing: Mapping[str, Stored], *, deep: bool) -> None:
        """Delete the copies below a folder whose objects are gone or are others."""
        for path in self.files(folder, deep=deep):
            key = self.key(path)
            stored = listing.get(key)
            if stored is None or not self.has(key, stored):
                path.unlink(missing_ok=True)
                self._stamp_path(key).unlink(missing_ok=True)

    def remember(self, key: str, stored: Stored) -> None:
        """Keep in mind that the store holds an object of which no copy is kept here."""
        path = self._size_path(key)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(str(stored.size), encoding="utf-8")

    def dismiss(self, key: str) -> None:
        """Keep in mind that the store holds no such object."""
        self._size_path(key).unlink(missing_ok=True)

    def remember_all(self, folder: str, listing: Mapping[str, Stored]) -> None:
        """Keep in mind that below a folder the store holds these objects and no others."""
        rmtree(self.root / SIZES / folder, ignore_errors=True)
        for key, stored in listing.items():
            self.remember(key, stored)

    def remembered(self, key: str) -> int | None:
        """The size in bytes of an object that the store was last seen to hold."""
        try:
            return int(self._size_path(key).read_text(encoding="utf-8"))
        except (OSError, ValueError):
            return None

    def files(self, folder: str, *, deep: bool) -> list[Path]:
        """The copies below a folder; hidden files are none."""
        found = self.path(folder).glob("**/*" if deep else "*")
        return sorted(
            path
            for path in found
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

    def _size_path(self, key: str) -> Path:
        return self.root / SIZES / f"{key}.size"

    def _stamp_path(self, key: str) -> Path:
        return self.root / STAMPS / f"{key}.stamp"


def copies_at(root: Path) -> Copies | None:
    """The copies that a folder is of; None where it is a folder like any other."""
    marker = root / MARKER
    if not marker.is_file():
        return None
    return Copies(root, Remote(str(json.loads(marker.read_text(encoding="utf-8"))["url"])))


def fetched(path: Path) -> Path:
    """The same path; where it is a copy that is not here yet, it is fetched first.

    Raises:
        StorageError: If it cannot be read.
    """
    if path.is_file():
        return path
    for folder in path.parents:
        copies = copies_at(folder)
        if copies is not None:
            key = copies.key(path)
            return copies.fetch(key) if copies.remote.exists(key) else path
    return path


def local_place(place: Path | str) -> Path:
    """Where a corpus can be read on this machine; a path is given back as it is.

    The manifests of a corpus at a URL are fetched into the cache, those of the version that
    `latest` names where there are several; shards and bank come when `fetched` asks for them.

    Args:
        place: A path or a URL: a manifest folder, the folder above it, or a file in it.

    Raises:
        StorageError: If the URL cannot be read.
    """
    url = url_of(place)
    if url is None:
        return Path(place)
    store, key = split_url(url)
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""
    scheme, _, bucket = store.partition("://")
    root = cache_folder() / "corpora" / f"{scheme}-{digest(endpoint)[:8]}" / bucket.strip("/")
    copies = Copies.open(root, Remote(store))
    folder = key.rpartition("/")[0] if key.endswith(".parquet") else key
    _bring_manifests(copies, folder)
    return copies.path(key)


def _bring_manifests(copies: Copies, folder: str) -> None:
    listing = _bring(copies, folder)
    latest = joined(folder, _LATEST)
    if latest in listing:
        version = copies.path(latest).read_text(encoding="utf-8").strip()
        listing = _bring(copies, joined(folder, version))
    elif not any(key.endswith(".parquet") for key in listing):
        below = copies.remote.list(folder)
        versions = {key.split("/")[folder.count("/") + bool(folder)] for key in below}
        for version in sorted(versions):
            _bring(copies, joined(folder, version))
    _forget_other_shards(copies, listing)


def _bring(copies: Copies, folder: str) -> dict[str, Stored]:
    """Let the copies right in a folder be what the store holds there."""
    found = copies.remote.list(folder, deep=False)
    listing = {key: stored for key, stored in found.items() if "/." not in f"/{key}"}
    copies.forget(folder, listing, deep=False)
    copies.fetch_all(listing)
    return listing


def _forget_other_shards(copies: Copies, listing: Iterable[str]) -> None:
    """Delete copies of shards that were built anew under the same name."""
    for key in listing:
        if key.endswith("/corpus.json"):
            facts = json.loads(copies.path(key).read_text(encoding="utf-8"))
            shards = (copies.path(key).parent / str(facts["shards"])).resolve()
            if shards.is_relative_to(copies.root.resolve()) and shards.is_dir():
                folder = shards.relative_to(copies.root.resolve()).as_posix()
                copies.forget(folder, copies.remote.list(folder), deep=True)
