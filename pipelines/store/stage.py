"""A corpus at a URL: it is built in a stage on this machine, which the store mirrors.

The store is the truth. When a build begins, the manifests, receipts and journal of the corpus come
down, and what the stage held instead is given up; shards do not come. A shard goes up when it is
rendered, and its file is deleted here; then its measurements go up, then its receipt. What was
going up when a machine died bears no receipt, and is written over by the next run. A stage is told
by its marker, so that its path is handed on like any other.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from pipelines.store.lease import (
    BUILDING,
    LEASE_FOLDER,
    Lease,
    hold_lease,
    make_key,
    name_holder,
    refuse_living,
)
from pipelines.store.store import BANKS, JOURNAL, MANIFESTS, SHARDS, Files, Store, locate_versions
from synth.base.atomic import PARTIAL_SUFFIX, write_bytes, write_text
from synth.base.errors import CorpusError, SpecError
from synth.base.hashing import FileHash, sha256_of
from synth.base.rng import digest
from synth.corpus.corpus import CORPUS_FILE
from synth.storage import Copies, Remote, StorageError, Stored, url_of
from synth.storage.copies import AT_ONCE, cache_folder, copies_at
from synth.storage.faults import find_endpoint
from synth.storage.filesystems import is_private
from synth.storage.reading import copies_of_url
from synth.storage.url import join_keys

_TRIES: Final = 5
_BETWEEN_CHECKS: Final = 50
"""Deletions after which the lease is looked at again."""
_BANK_LEASES: Final = f"{BANKS}/{LEASE_FOLDER}"
_CLEARING: Final = "is removing files of these banks"
_FILLING: Final = "is filling this bank"


@dataclass(frozen=True)
class StagedStore(Store):
    """A store, and a folder of this machine that holds copies of what it keeps.

    Args:
        copies: The folder, and what it holds copies of.
        lease: The right to certify; None where no corpus is written.
        listed: Below these keys no other objects were seen than those of `sizes`.
        sizes: Of objects as they were last seen, in bytes, by key.
    """

    copies: Copies
    lease: Lease | None = None
    listed: set[str] = field(default_factory=set, compare=False)
    sizes: dict[str, int] = field(default_factory=dict, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"listed": set(), "sizes": {}}  # workers ask for what they need

    def format_path(self, path: Path) -> str:
        """The URL of what a path stands for."""
        return self._remote.address(self.copies.key(path))

    def list_folders(self, parent: Path) -> dict[Path, Files]:
        """The objects below each folder of a folder; hidden folders, such as leases', are none."""
        folders: dict[Path, dict[Path, Stored]] = {}
        for key, stored in self._remote.list(self.copies.key(parent)).items():
            path = self.copies.path(key)
            first, *names = path.relative_to(parent).parts
            if names and not first.startswith("."):
                folders.setdefault(parent / first, {})[path] = stored
        return dict(folders)

    def list_files(self, folder: Path) -> list[Path]:
        """What the store holds below a folder now."""
        listing, prefix = self._list_objects(folder), f"{self.copies.key(folder)}/"
        for key in list(self.sizes):
            if key.startswith(prefix):
                del self.sizes[key]
        self.sizes.update((key, stored.size) for key, stored in listing.items())
        self.listed.add(prefix)
        return [self.copies.path(key) for key in listing]

    def list_corpora(self) -> list[str]:
        """The names of the corpora, with those of which there are leases alone."""
        key = self.copies.key(self.root / MANIFESTS)
        below = (name[len(key) + 1 :].split("/") for name in self._remote.list(key))
        return sorted({names[0] for names in below if len(names) > 1})

    def find_size(self, path: Path) -> int | None:
        """Size in bytes of what the store holds, or held when it was listed; None for nothing."""
        key = self.copies.key(path)
        if any(key.startswith(prefix) for prefix in self.listed):
            return self.sizes.get(key)
        stored = self._remote.find(key)
        return stored.size if stored is not None else None

    def holds(self, path: Path) -> bool:
        """Whether the store holds a file now."""
        return self._remote.exists(self.copies.key(path))

    def find_fault(self, path: Path, certified: FileHash, certificate: Path | None = None) -> str:
        """What is other with the size, as `find_size` finds it."""
        size = self.find_size(path)
        if size is None:
            return "is missing"
        fits = size == certified.bytes
        return "" if fits else f"has {size} bytes: its receipt says {certified.bytes}"

    def read(self, path: Path) -> bytes | None:
        """What an object says now; None where it is not there."""
        return self._remote.read(self.copies.key(path))

    def hash_file(self, path: Path) -> str:
        """Hex SHA-256 of an object, which is not kept here."""
        with self._remote.open(self.copies.key(path)) as file:
            return sha256_of(file)

    def fetch(self, paths: Iterable[Path], facts: Files | None = None) -> None:
        """Fetch what is not here, or is another object, all at once."""
        self.copies.fetch_all(
            {self.copies.key(path): facts[path] if facts else None for path in paths}
        )

    def fetch_again(self, path: Path) -> bool:
        """Fetch a file that was damaged here."""
        path.unlink(missing_ok=True)
        self.fetch([path])
        return True

    def put(self, *paths: Path) -> None:
        """Keep files, in this order; who sees the last one sees all. Shards do not stay here.

        Who holds a lease replaces what he saw before he checked it, and nothing else: had he been
        paused in between and somebody else taken over, it would be another object by then.
        """
        keys = [self.copies.key(path) for path in paths]
        seen = self._see(keys)
        for path, key in zip(paths, keys, strict=True):
            stored = self._put(path, key, seen)
            self.copies.note(key, stored)
            self.sizes[key] = stored.size
            if path.suffix == ".tar":
                path.unlink()

    def put_changed(self, paths: Iterable[Path]) -> None:
        """Put those of some files that the store lacks as they are here, in this order."""
        self.put(*(path for path in paths if not self.copies.is_noted(self.copies.key(path))))

    def certify(self, file: Path, *certificates: Path) -> None:
        """Put a file, then what certifies it."""
        *others, last = certificates
        self._bar(file, last)
        self.put(file, *others)
        self.put(last)

    def adopt(self, source: Path, target: Path, certificate: Path) -> None:
        """Copy an object within the store; the lease is looked at before, and no condition set."""
        self._bar(target, certificate)
        self.check()
        key = self.copies.key(target)
        self._remote.copy(self.copies.key(source), key)
        if (stored := self._remote.find(key)) is not None:
            self.sizes[key] = stored.size

    def remove(self, paths: Iterable[Path]) -> None:
        """Delete files at the store, then here; of some there may be none already.

        The lease is looked at before, and now and then; who is paused in between may still delete
        the few files that he was at.
        """

        def remove_one(path: Path) -> None:
            key = self.copies.key(path)
            self._remote.remove(key)
            self.sizes.pop(key, None)
            path.unlink(missing_ok=True)

        rest = list(paths)
        with ThreadPoolExecutor(AT_ONCE, "segue-remove") as threads:
            while rest:
                self.check()
                list(threads.map(remove_one, rest[:_BETWEEN_CHECKS]))
                rest = rest[_BETWEEN_CHECKS:]

    def check(self) -> None:
        """Check that nobody else has taken the lease."""
        if self.lease is not None:
            self.lease.check()

    def refuse_private(self) -> None:
        """Check that the store is not one of this process alone."""
        if is_private(self._remote.url):
            raise SpecError(
                f"{self._remote.url}: exists only in this process, so workers cannot see it",
                fix="use 0 workers, a folder, file:///FOLDER or a store",
            )

    @contextmanager
    def hold_corpus(self, corpus: str) -> Iterator[Store]:
        """Hold the lease of a corpus, too."""
        versions = locate_versions(self.root, corpus)
        leases = join_keys(self.copies.key(versions), LEASE_FOLDER)
        with super().hold_corpus(corpus), self._hold(leases) as lease:
            for folder in (versions, self.root / SHARDS / corpus):
                self._remote.remove_partials(self.copies.key(folder))
            held = _HELD[self.copies.root, corpus] = replace(self, lease=lease)
            try:
                yield held
            finally:
                del _HELD[self.copies.root, corpus]

    @contextmanager
    def hold_for_writing(self, corpus: str) -> Iterator[Store]:
        """Bring the manifests here first, and put what was written beside them at the end."""
        versions = locate_versions(self.root, corpus)
        with self.hold_corpus(corpus) as held:
            self._pull(versions)
            held.list_files(self.root / SHARDS / corpus)  # others may have put or removed some
            try:
                yield held
            except StorageError:
                raise
            except BaseException:
                # They are kept here, and joined by the next run.
                with suppress(StorageError, CorpusError):
                    held.put_changed(_list_beside(versions))
                raise
            held.put_changed(_list_beside(versions))

    @contextmanager
    def hold_banks(self) -> Iterator[None]:
        """Hold a lease on the banks, which whoever begins to write a corpus looks for."""
        holder = name_holder(self.copies.root)
        with hold_lease(self._remote, _BANK_LEASES, holder, _CLEARING):
            for folder in self._list_fillers(BANKS):
                for number in refuse_living(self._remote, folder, holder, _FILLING):
                    self._remote.remove(make_key(folder, number))
            yield

    @contextmanager
    def hold_filling(self, bank: Path) -> Iterator[Callable[[], None]]:
        """Hold a lease of one's own, which whoever removes files of banks looks for."""
        holder = name_holder(self.copies.root)
        key = self.copies.key(bank)
        with self._hold(join_keys(key, f"{LEASE_FOLDER}-{holder}"), _FILLING) as lease:
            if self._remote.is_folder:
                with suppress(CorpusError):  # somebody else is writing it, too
                    for folder in self._list_fillers(key):
                        refuse_living(self._remote, folder, holder, _FILLING)
                    self._remote.remove_partials(key)
            yield lease.check

    @property
    def _remote(self) -> Remote:
        return self.copies.remote

    @contextmanager
    def _hold(self, leases: str, doing: str = BUILDING) -> Iterator[Lease]:
        """Hold a lease that whoever removes banks looks for, once he has taken theirs."""
        holder = name_holder(self.copies.root)
        with hold_lease(self._remote, leases, holder, doing) as lease:
            refuse_living(self._remote, _BANK_LEASES, holder, _CLEARING)
            yield lease

    def _list_objects(self, folder: Path) -> dict[str, Stored]:
        """The objects below a folder; hidden ones are none."""
        listing = self._remote.list(self.copies.key(folder))
        return {key: stored for key, stored in listing.items() if "/." not in f"/{key}"}

    def _list_fillers(self, below: str) -> list[str]:
        """The folders of the leases of those who fill banks, dead or alive."""
        folders = {key.rpartition("/")[0] for key in self._remote.list(below)}
        return sorted(folder for folder in folders if f"/{LEASE_FOLDER}-" in folder)

    def _pull(self, folder: Path) -> None:
        """Let the files below a folder be those that the store holds.

        Journals are joined, since each machine has lines of its own.
        """
        listing = self._list_objects(folder)
        journals = {path: path.read_bytes() for path in folder.glob(f"**/{JOURNAL}")}
        certified = {
            key: stored for key, stored in listing.items() if not key.endswith(f"/{JOURNAL}")
        }
        self.copies.forget(self.copies.key(folder), certified, deep=True)
        self.copies.fetch_all(listing)
        for path, lines in journals.items():
            content = path.read_bytes() if path.is_file() else b""
            present = set(content.splitlines())
            missing = b"".join(line + b"\n" for line in lines.splitlines() if line not in present)
            if missing:
                write_bytes(path, content + missing)

    def _see(self, keys: Sequence[str]) -> dict[str, Stored | None]:
        """What objects are, as seen before the lease was found to be held."""
        if self.lease is None or not keys:
            return {}
        seen = {key: self._remote.find(key) for key in keys}
        self.lease.check()
        return seen

    def _put(self, path: Path, key: str, seen: Mapping[str, Stored | None]) -> Stored:
        if self.lease is None:
            return self._remote.write(key, path)
        for _ in range(_TRIES):
            if (stored := self._remote.write_over(key, path, seen[key])) is not None:
                return stored
            seen = self._see([key])  # a former holder's last words, or a request that was repeated
        raise CorpusError(
            f"{self._remote.address(key)}: other machines keep writing it",
            fix="build a corpus on one machine at a time",
        )

    def _bar(self, file: Path, certificate: Path) -> None:
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


# Which store is meant.


_HELD: Final[dict[tuple[Path, str], StagedStore]] = {}
"""Those of the corpora that this process holds, by stage and corpus."""


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
            raise SpecError(
                f"--stage needs a URL as --out, got the path {out}", fix="leave out --stage"
            )
        return Path(out)
    # The same URL at another endpoint is another place.
    name = digest(url, find_endpoint())[:16]
    folder = (stage or cache_folder() / "stages" / name).resolve()
    Copies.open(folder, Remote(url))
    return folder


def store_at(root: Path, corpus: str | None = None) -> Store:
    """The store of what is written below a folder, as `choose_stage` gives it.

    Args:
        corpus: If this process holds it, its lease is asked before anything of it is certified.
    """
    copies = copies_at(root.resolve())
    if copies is None:
        return Store(root)
    held = _HELD.get((copies.root, corpus or ""))
    return held or StagedStore(copies.root, copies)


def open_store(out: Path | str, stage: Path | None = None) -> Store:
    """The store to write to; the arguments are those of `choose_stage`."""
    return store_at(choose_stage(out, stage))


def open_readable(place: Path | str) -> Store:
    """The store to read from: a folder, or a URL of which copies are kept in the cache."""
    url = url_of(place)
    if url is None:
        return Store(Path(place))
    copies, key = copies_of_url(url)
    return StagedStore(copies.path(key), copies)


def _list_beside(versions: Path) -> list[Path]:
    """What certifies nothing and is no shard's: journals, and the reports of nights."""
    files = sorted(path for path in versions.glob("*/*") if path.is_file())
    return [path for path in files if not path.name.startswith(".") and path.name != CORPUS_FILE]
