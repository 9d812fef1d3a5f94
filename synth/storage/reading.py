"""Corpora read wherever they lie: paths as they are, URLs through copies on this machine."""

from __future__ import annotations

import time
from collections.abc import Iterable
from io import BufferedReader
from pathlib import Path
from typing import Final

from synth.base.doors import open_regular, read_json, read_regular
from synth.base.errors import SegueError
from synth.base.rng import digest
from synth.storage.copies import CORPORA, Copies, cache_folder, copies_at
from synth.storage.faults import StorageError, find_endpoint
from synth.storage.filesystems import is_private
from synth.storage.remote import Remote, Stored
from synth.storage.room import LIMIT_VARIABLE, NoRoomError, limit_bytes, open_held
from synth.storage.url import join_keys, parse_pointer, split_url, url_of

_LATEST: Final = "latest"
_RECEIPTS: Final = "receipts"
_TRIES: Final = 3
_STARTED_NS: Final = time.time_ns()


def fetch(path: Path) -> Path:
    """The same path; where it is a copy that is not here yet, it is fetched first.

    For small files, which stay; `open_file`, `open_mapped` and `read_at` are for shards and banks.
    """
    copies = None if path.is_file() else _copies_of(path)
    if copies is None:
        return path
    key = copies.key(path)
    return copies.fetch(key) if copies.remote.exists(key) else path


def open_file(path: Path, receipt: Path | None = None) -> BufferedReader:
    """Open a file that is read from end to end; a copy of it comes first, if there is room for one.

    It must have the `sha256` that the receipt says.
    """
    copies = _copies_of(path)
    if copies is None:
        return open_regular(path)
    try:
        return _open_copy(copies, path, receipt)
    except NoRoomError:
        return copies.remote.open(copies.key(path))


def open_mapped(path: Path, receipt: Path | None = None) -> BufferedReader:
    """Open a file that is to be mapped into memory; its copy stays as long as the map."""
    copies = _copies_of(path)
    return open_regular(path) if copies is None else _open_copy(copies, path, receipt)


def read_at(path: Path, offset: int, size: int, receipt: Path | None = None) -> bytes:
    """`size` bytes of a file from `offset`, or fewer where it ends before.

    Whoever draws samples at random uses all shards alike, so that one which goes for another is
    soon wanted again. So no copy that was used since this process began goes here: where the rest
    is no room, these bytes alone come.
    """
    copies = _copies_of(path)
    try:
        with (
            open_regular(path)
            if copies is None
            else _open_copy(copies, path, receipt, _STARTED_NS) as file
        ):
            file.seek(offset)
            return file.read(size)
    except NoRoomError:
        assert copies is not None
        return copies.remote.read(copies.key(path), offset, offset + size) or b""


def display_path(path: Path) -> str:
    """A path as the user knows it: of a copy the URL."""
    copies = _copies_of(path)
    return str(path) if copies is None else copies.remote.address(copies.key(path))


def _copies_of(path: Path) -> Copies | None:
    """The copies that a path is among."""
    return next((copies for folder in path.parents if (copies := copies_at(folder))), None)


def _open_copy(
    copies: Copies, path: Path, receipt: Path | None = None, since_ns: int | None = None
) -> BufferedReader:
    """A copy, opened; it may go as soon as it came, and is fetched again then."""
    key = copies.key(path)
    for _ in range(_TRIES):
        file = open_held(path)
        if file is not None:
            return file
        stored = copies.remote.find(key)
        if stored is None:
            raise FileNotFoundError(path)
        copies.fetch(key, stored, _certified_hash(receipt), since_ns)
    raise NoRoomError(
        f"{display_path(path)}: its copy in the cache keeps disappearing",
        fix=f"raise {LIMIT_VARIABLE}",
    )


def _certified_hash(receipt: Path | None) -> str | None:
    """The hash that a receipt certifies; None where there is none."""
    try:
        return str(read_json(fetch(receipt))["sha256"]) if receipt else None
    except (FileNotFoundError, SegueError, KeyError, TypeError):
        return None


def local_place(place: Path | str) -> Path:
    """Where a corpus can be read on this machine; a path is given back as it is.

    The manifests of a corpus at a URL are fetched into the cache, those of the version that
    `latest` names where there are several; shards and bank come when they are read.

    Args:
        place: A path or a URL: a manifest folder, the folder above it, or a file in it.
    """
    url = url_of(place)
    if url is None:
        return Path(place)
    copies, key = copies_of_url(url)
    folder = key.rpartition("/")[0] if key.endswith(".parquet") else key
    _bring_manifests(copies, folder)
    return copies.path(key)


def copies_of_url(url: str) -> tuple[Copies, str]:
    """The copies in the cache of the store that a URL is at, and the key in them."""
    limit_bytes()
    store, key = split_url(url)
    if is_private(url) and not Remote(url).list():
        raise StorageError(
            f"{url}: exists only in the process that writes it, and this one wrote nothing there",
            fix="use a folder, file:///FOLDER, or a store that all processes reach",
        )
    scheme, _, bucket = store.partition("://")
    root = cache_folder() / CORPORA / f"{scheme}-{digest(find_endpoint())[:8]}" / bucket.strip("/")
    return Copies.open(root, Remote(store)), key


def _bring_manifests(copies: Copies, folder: str) -> None:
    listing = _bring(copies, folder)
    latest = join_keys(folder, _LATEST)
    if latest in listing:
        version = parse_pointer(read_regular(copies.path(latest)))
        if version is None:
            return  # whoever opens the corpus is told what is wrong with it
        listing = _bring(copies, join_keys(folder, version))
    elif not any(key.endswith(".parquet") for key in listing):
        below = copies.remote.list(folder)
        versions = {key.split("/")[folder.count("/") + bool(folder)] for key in below}
        for version in sorted(versions):
            _bring(copies, join_keys(folder, version))
    _forget_other_shards(copies, listing)


def _bring(copies: Copies, folder: str) -> dict[str, Stored]:
    """Let the copies right in a folder be what the store holds there."""
    objects = copies.remote.list(folder, deep=False)
    listing = {
        key: stored for key, stored in objects.items() if "/." not in f"/{key}" and "\0" not in key
    }
    copies.fetch_all(listing)
    copies.forget(folder, listing, deep=False)
    return listing


def _forget_other_shards(copies: Copies, listing: Iterable[str]) -> None:
    """Delete copies of shards, and of their receipts, that were built anew under the same name."""
    root = copies.root.resolve()
    for key in listing:
        if key.endswith("/corpus.json"):
            manifests = copies.path(key).parent.resolve()
            try:
                shards = str(read_json(copies.path(key))["shards"])
                places = (manifests / _RECEIPTS, (manifests / shards).resolve())
            except (SegueError, KeyError, TypeError):
                continue  # whoever opens the corpus is told what is wrong with it
            for path in places:
                if path.is_relative_to(root) and path.is_dir():
                    folder = path.relative_to(root).as_posix()
                    copies.forget(folder, copies.remote.list(folder), deep=True)
