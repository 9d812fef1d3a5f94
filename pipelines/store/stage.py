"""Where a command writes: a folder, or a stage that a store mirrors.

A stage is a folder like any other to what works in it, and it is told by its marker. So paths are
handed on, and who needs the store's side of one asks `find_mirror`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Final

from pipelines.store.lease import (
    LEASE_FOLDER,
    Lease,
    hold_lease,
    make_key,
    name_holder,
    refuse_living,
    sole_writer,
)
from pipelines.store.mirror import Mirror
from pipelines.store.places import BANKS, SHARDS, locate_versions
from synth.base.atomic import remove_partials, write_text
from synth.base.errors import CorpusError, SpecError
from synth.base.rng import digest
from synth.corpus.corpus import CORPUS_FILE
from synth.storage import Copies, Remote, StorageError, url_of
from synth.storage.copies import cache_folder, copies_at
from synth.storage.filesystems import is_private
from synth.storage.url import join_keys

_LEASES: Final = ".leases"
_BANK_LEASES: Final = f"{BANKS}/{LEASE_FOLDER}"
_CLEARING: Final = "is removing files of these banks"
_FILLING: Final = "is filling this bank"


def choose_stage(out: Path | str, stage: Path | None = None) -> Path:
    """The folder to work in for what is to be written to `out`.

    Args:
        out: A path, which is given back as it is, or a URL.
        stage: For a URL, the folder to work in; by default one in the cache folder, told by the
            URL.
    """
    url = url_of(out)
    if url is None:
        if stage is not None:
            raise SpecError(f"--stage needs a URL, but {out} is a path", fix="drop it")
        return Path(out)
    folder = (stage or cache_folder() / "stages" / _make_stage_name(url)).resolve()
    Copies.open(folder, Remote(url))
    return folder


def find_mirror(root: Path, corpus: str | None = None) -> Mirror | None:
    """What mirrors a folder; None where nothing does.

    Args:
        root: Root of banks/, shards/ and data_manifests/.
        corpus: Whose lease is asked before anything of it is certified.
    """
    copies = copies_at(root.resolve())
    if copies is None:
        return None
    if corpus is None:
        return Mirror(copies)
    path = _lease_path(copies.root, corpus)
    lease = Lease(copies.remote, **json.loads(path.read_bytes())) if path.is_file() else None
    return Mirror(copies, lease)


def refuse_private_store(out: Path) -> None:
    """Check that other processes see what is written below `out`, as `choose_stage` gives it."""
    mirror = find_mirror(out)
    if mirror is not None and is_private(mirror.copies.remote.url):
        raise SpecError(
            f"{mirror.copies.remote.url}: exists in this process only, so no worker sees it",
            fix="use 0 workers, a folder, file:///FOLDER or a store",
        )


@contextmanager
def hold_corpus(out: Path, corpus: str) -> Iterator[Mirror | None]:
    """Hold a corpus below `out`, as `choose_stage` gives it, and bring nothing here."""
    versions = locate_versions(out.resolve(), corpus)
    mirror = find_mirror(out)
    with sole_writer(versions):
        for folder in (versions, *versions.glob("*/")):
            remove_partials(folder)
        if mirror is None:
            yield None
            return
        copies = mirror.copies
        holder = name_holder(copies.root)
        leases = join_keys(copies.key(versions), LEASE_FOLDER)
        with hold_lease(copies.remote, leases, holder) as lease:
            # Who removes banks takes theirs first, then looks who holds a corpus.
            refuse_living(copies.remote, _BANK_LEASES, holder, _CLEARING)
            for folder in (versions, out.resolve() / SHARDS / corpus):
                copies.remote.remove_partials(copies.key(folder))
            facts = {name: value for name, value in asdict(lease).items() if name != "remote"}
            write_text(_lease_path(copies.root, corpus), json.dumps(facts))
            yield Mirror(copies, lease)


@contextmanager
def hold_for_writing(out: Path, corpus: str) -> Iterator[Mirror | None]:
    """Hold a corpus below `out`, as `choose_stage` gives it, as its sole writer.

    In a stage, its manifests are brought here first, and what was written beside them, such as
    the journals, is put at the end.
    """
    versions = locate_versions(out.resolve(), corpus)
    with hold_corpus(out, corpus) as mirror:
        if mirror is None:
            yield None
            return
        mirror.pull(versions)
        mirror.list_files(out.resolve() / SHARDS / corpus)  # others may have put or removed some
        try:
            yield mirror
        except StorageError:
            raise
        except BaseException:
            # They are kept here, and joined by the next run.
            with suppress(StorageError, CorpusError):
                mirror.push_changed(_list_beside(versions))
            raise
        mirror.push_changed(_list_beside(versions))


@contextmanager
def hold_banks(out: Path) -> Iterator[None]:
    """Let nobody begin to write a corpus below `out` at a store, by a lease on its banks."""
    mirror = find_mirror(out)
    if mirror is None:
        yield
        return
    copies = mirror.copies
    holder = name_holder(copies.root)
    with hold_lease(copies.remote, _BANK_LEASES, holder, _CLEARING):
        for folder in _list_fillers(copies.remote):
            for number in refuse_living(copies.remote, folder, holder, _FILLING):
                copies.remote.remove(make_key(folder, number))
        yield


@contextmanager
def hold_filling(bank: Path) -> Iterator[Lease | None]:
    """Let nobody remove files of a bank at a store while it is filled, by a lease of one's own.

    Others may fill it as well: equal parts have equal names.
    """
    mirror = find_mirror(bank.parent.parent)
    if mirror is None:
        yield None
        return
    copies = mirror.copies
    holder = name_holder(copies.root)
    folder = join_keys(copies.key(bank), f"{LEASE_FOLDER}-{holder}")
    with hold_lease(copies.remote, folder, holder, _FILLING) as lease:
        # Who removes takes the lease of the banks first, then looks who fills one.
        refuse_living(copies.remote, _BANK_LEASES, holder, _CLEARING)
        if copies.remote.is_folder:
            _sweep(copies.remote, copies.key(bank), holder)
        yield lease


def _sweep(remote: Remote, bank: str, holder: str) -> None:
    """Delete what killed writers left in a bank, unless somebody else is writing it, too."""
    with suppress(CorpusError):
        for folder in _list_fillers(remote, bank):
            refuse_living(remote, folder, holder, _FILLING)
        remote.remove_partials(bank)


def _list_fillers(remote: Remote, below: str = BANKS) -> list[str]:
    """The folders of the leases of those who fill banks, dead or alive."""
    folders = {key.rpartition("/")[0] for key in remote.list(below)}
    return sorted(each for each in folders if f"/{LEASE_FOLDER}-" in each)


def _list_beside(versions: Path) -> list[Path]:
    """What certifies nothing and is no shard's: journals, and the reports of nights."""
    files = sorted(path for path in versions.glob("*/*") if path.is_file())
    return [path for path in files if not path.name.startswith(".") and path.name != CORPUS_FILE]


def _lease_path(root: Path, corpus: str) -> Path:
    return root / _LEASES / f"{corpus}.json"


def _make_stage_name(url: str) -> str:
    """A stage's name; the same URL at another endpoint is another place."""
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""
    return digest(url, endpoint)[:16]
