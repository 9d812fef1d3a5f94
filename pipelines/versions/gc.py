"""Garbage collection: the shards of old versions go, their manifests stay.

What is to go is decided first and told, then it is done. A version's `removed.json` is written
before its first file goes, so that a run which is killed is finished by the next one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from fnmatch import fnmatch
from itertools import chain
from pathlib import Path
from typing import Any, Final

from pipelines.builder.documents import CROISSANT_FILE, INDEX_SUFFIX, META
from pipelines.builder.finalise import CARD_FILE, SIZES_FILE
from pipelines.store.places import RECEIPTS
from pipelines.store.store import (
    BANKS,
    SHARDS,
    Files,
    Store,
    locate_versions,
    stat_file,
    walk_files,
)
from pipelines.versions.history import (
    STAGING_SUFFIX,
    Version,
    VersionState,
    list_versions,
    open_corpus,
)
from synth.audio.bank import read_index
from synth.base.atomic import PARTIAL_SUFFIX, write_text
from synth.base.errors import CorpusError
from synth.base.locks import LOCK_FILE, wait_for_lock
from synth.base.progress import UNOBSERVED, Observer
from synth.corpus.corpus import ATTRIBUTION_FILE, REMOVED_FILE, SAMPLES_FILE
from synth.corpus.schema import canonical_json
from synth.storage import fetch

# Files that go, and the room that this frees.


@dataclass(frozen=True, slots=True)
class Removal:
    """Files that go.

    Args:
        freed: Bytes that this frees: those of files that keep no other name.
    """

    name: str
    files: tuple[Path, ...]
    freed: int

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {"name": self.name, "files": len(self.files), "freed": self.freed}


def count_freed_bytes(files: Files, links: Counter[tuple[int, int]]) -> int:
    """Bytes that are freed when these go after those that `links` counted already."""
    freed = 0
    for file in files.values():
        if file.node is None:
            freed += file.size
            continue
        links[file.node] += 1
        if links[file.node] == file.names:
            freed += file.size
    return freed


def remove_empty_folders(folder: Path) -> None:
    """Remove a folder and those below it, as far as nothing is left in them."""
    for path in sorted([folder, *folder.rglob("*")], reverse=True):
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()


PHASE: Final = "remove"
_SHARD_FILES: Final = (
    "*/*.tar",
    f"*/*.tar{INDEX_SUFFIX}",
    f"{META}/*",
    f"*/{SIZES_FILE}",
    f"*/.*{PARTIAL_SUFFIX}",
    f".*{PARTIAL_SUFFIX}",
    SAMPLES_FILE,
    CARD_FILE,
    ATTRIBUTION_FILE,
    CROISSANT_FILE,
)


@dataclass(frozen=True, slots=True)
class Sweep:
    """What garbage collection removes, or removed.

    Args:
        kept: Versions that keep their shards, the oldest first.
        foreign: Files in the folders of those versions that no build wrote; they stay.
    """

    corpus: str
    kept: tuple[str, ...]
    versions: tuple[Removal, ...]
    leftovers: tuple[Removal, ...]
    banks: tuple[Removal, ...]
    foreign: tuple[str, ...]

    @property
    def removals(self) -> tuple[Removal, ...]:
        """All that goes."""
        return (*self.versions, *self.leftovers, *self.banks)

    @property
    def freed(self) -> int:
        """Bytes, in all."""
        return sum(removal.freed for removal in self.removals)

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "corpus": self.corpus,
            "kept": list(self.kept),
            "versions": [removal.to_json() for removal in self.versions],
            "leftovers": [removal.to_json() for removal in self.leftovers],
            "banks": [removal.to_json() for removal in self.banks],
            "foreign": list(self.foreign),
            "freed": self.freed,
        }


def collect_garbage(
    path: Path,
    keep: int,
    banks: bool = False,
    dry_run: bool = False,
    observer: Observer = UNOBSERVED,
) -> Sweep:
    """Remove the shards of all but the newest versions of a corpus; their manifests stay.

    The `keep` newest finished versions that have shards keep them, and so does `latest`. Shards of
    a version that was never finished go too, if a finished one is newer. No build may run.

    Args:
        path: Manifest folder, data_manifests/CORPUS, or its URL.
        banks: Whether the banks' files go that no version with shards, of any corpus, needs.
        dry_run: Tell what would go, and remove nothing.
    """
    store, corpus = open_corpus(path)
    if dry_run:
        versions = list_versions(store, corpus)
        return _survey(
            store, corpus, versions, keep, store.list_folders(store.root / BANKS) if banks else ()
        )
    with ExitStack() as stack:
        held_banks = hold_every_bank(stack, store, observer) if banks else ()
        store = stack.enter_context(store.hold_corpus(corpus))
        if banks:  # whoever renders from a bank holds its corpus
            for name in store.list_corpora():
                if name != corpus:
                    stack.enter_context(store.hold_corpus(name))
        versions = list_versions(store, corpus)  # nobody changes them any more
        sweep = _survey(store, corpus, versions, keep, held_banks)
        going = {removal.name for removal in sweep.versions}
        for version in versions:
            if version.name in going:
                _mark(version)
        _carry_out(sweep, store, observer)
    return sweep


def _carry_out(sweep: Sweep, store: Store, observer: Observer) -> None:
    observer.start(PHASE, sum(len(removal.files) for removal in sweep.removals), "files")
    for removal in sweep.removals:
        # Killed reproductions leave files on this machine alone.
        keeper = Store(store.root) if removal in sweep.leftovers else store
        receipts = [path for path in removal.files if path.parent.name == RECEIPTS]
        keeper.remove(receipts)  # before what they certify
        keeper.remove(path for path in removal.files if path.parent.name != RECEIPTS)
        if removal not in sweep.banks:
            remove_empty_folders(store.root / SHARDS / sweep.corpus / removal.name)
        observer.advance(PHASE, len(removal.files))
    observer.finish(PHASE)


def _survey(
    store: Store, corpus: str, versions: Sequence[Version], keep: int, banks: Collection[Path]
) -> Sweep:
    """What is to go, of these banks alone."""
    going = _choose_versions(versions, keep)
    links: Counter[tuple[int, int]] = Counter()
    removals = []
    foreign: list[Path] = []
    for version in going:
        files, strangers = _list_shard_files(version)
        if not version.finished:  # what certifies them goes before them
            files = {**_list_receipts(version), **files}
        foreign += strangers
        removals.append(Removal(version.name, tuple(files), count_freed_bytes(files, links)))
    leftovers = []
    shards = store.root / SHARDS / corpus
    for staging in sorted(shards.glob(f".*{STAGING_SUFFIX}")):
        files = {path: stat_file(path) for path in walk_files(staging)}
        leftovers.append(Removal(staging.name, tuple(files), count_freed_bytes(files, links)))
    names = {version.name for version in going}
    stay = [version for version in versions if version.name not in names]
    return Sweep(
        corpus=corpus,
        kept=tuple(version.name for version in stay if version.present),
        versions=tuple(removal for removal in removals if removal.files),
        leftovers=tuple(leftovers),
        banks=tuple(find_unneeded(store, corpus, banks, stay, links)) if banks else (),
        foreign=tuple(map(store.format_path, foreign)),
    )


def _choose_versions(versions: Sequence[Version], keep: int) -> list[Version]:
    """The versions whose shards go, the oldest first."""
    finished = [version for version in versions if version.finished]
    whole = [version for version in finished if version.present and not version.is_removed]
    newest = {version.name for version in whole[-keep:]}
    last = max((version.time_ns for version in finished), default=0)

    def is_going(version: Version) -> bool:
        if version.latest or not version.shard_files:
            return False
        match version.state:
            case VersionState.STRAY:
                return False
            case VersionState.UNFINISHED:
                return version.time_ns < last
            case _ if version.is_removed:
                return True
            case _:
                return version.present > 0 and version.name not in newest

    return [version for version in versions if is_going(version)]


def _list_shard_files(version: Version) -> tuple[Files, list[Path]]:
    """The files that a build wrote in a version's shard folder, and the others."""
    folder = version.places.shards
    linked = next((path for path in (folder, *folder.glob("*/")) if path.is_symlink()), None)
    if linked is not None:
        raise CorpusError(
            f"{linked}: is a link to another folder; gc removes only files that are here",
            fix="remove the link and its target by hand",
        )
    files = version.shard_files
    built = {path: facts for path, facts in files.items() if _is_built(path.relative_to(folder))}
    return built, [path for path in files if path not in built]


def _list_receipts(version: Version) -> Files:
    """The receipts of a version, which prove nothing but what is there where it is unfinished."""
    return {
        path: facts
        for path, facts in version.manifest_files.items()
        if path.parent == version.places.receipts and path.suffix == ".json"
    }


def _is_built(path: Path) -> bool:
    """Whether a path, from the version's shard folder, is one that builds write."""
    return any(
        pattern.count("/") == len(path.parts) - 1 and fnmatch(path.as_posix(), pattern)
        for pattern in _SHARD_FILES
    )


def _mark(version: Version) -> None:
    """Say beside the manifests of a finished version that its shards were removed."""
    if version.holds(REMOVED_FILE) or not version.finished:
        return
    places = version.places
    marker = {
        "removed_by": "segue gc",
        "version": places.version,
        "made_again_by": f"segue rebuild {locate_versions(Path(), places.corpus) / places.version}",
    }
    write_text(places.manifests / REMOVED_FILE, canonical_json(marker) + "\n")
    places.store.put(places.manifests / REMOVED_FILE)


# Which files of the banks no version needs, and that nobody fills a bank meanwhile.


_BANK_FILES: Final = ("index-*.parquet", "part-*.pcm", "part-*.parquet", "part-*.json")


def hold_every_bank(stack: ExitStack, store: Store, observer: Observer) -> frozenset[Path]:
    """Hold the banks of a store; others may be begun meanwhile, and are not held."""
    stack.enter_context(store.hold_banks())
    held: set[Path] = set()
    while (
        begun := store.list_folders(store.root / BANKS).keys() - held
    ):  # while it waited for its turn, too
        for bank in sorted(begun):
            stack.enter_context(wait_for_lock(bank / LOCK_FILE, observer))
        held |= begun
    return frozenset(held)


def find_unneeded(
    store: Store,
    corpus: str,
    banks: Collection[Path],
    stay: Iterable[Version],
    links: Counter[tuple[int, int]],
) -> Iterator[Removal]:
    """What goes of banks: the files that no index of a version that stays leads to."""
    needed: set[Path] = set()
    # The bank index of every finished version, of any corpus, that gc did not remove.
    lists = (list_versions(store, name) for name in store.list_corpora() if name != corpus)
    for index in {
        (version.places.manifests / str(version.facts["bank"])).resolve()
        for version in chain(stay, *lists)
        if version.finished and not version.is_removed
    }:
        needed.add(index)
        if fetch(index).is_file():
            for name in read_index(index)[0]["part"].unique().to_pylist():
                part = index.parent / name
                needed.update(part.with_suffix(end) for end in (".pcm", ".parquet", ".json"))
    for bank, files in store.list_folders(store.root / BANKS).items():
        if bank not in banks:
            continue
        going = {
            path: stat
            for path, stat in files.items()
            if path.parent == bank
            and any(fnmatch(path.name, pattern) for pattern in _BANK_FILES)
            and path.resolve() not in needed
        }
        if going:
            yield Removal(f"{BANKS}/{bank.name}", tuple(going), count_freed_bytes(going, links))
