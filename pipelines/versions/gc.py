"""Garbage collection: the shards of old versions go, their manifests stay.

What is to go is decided first and told, then it is done. A version's `removed.json` is written
before its first file goes, so that a run which is killed is finished by the next one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any, Final

from pipelines.builder.documents import CROISSANT_FILE, INDEX_SUFFIX, META
from pipelines.builder.finalise import CARD_FILE, SIZES_FILE
from pipelines.builder.render import read_receipt
from pipelines.store.lease import wait_for_turn
from pipelines.store.mirror import Mirror
from pipelines.store.places import BANKS, RECEIPTS, SHARDS, Places, locate_versions
from pipelines.store.stage import hold_banks, hold_corpus
from pipelines.versions.history import (
    STAGING_SUFFIX,
    Version,
    VersionState,
    list_versions,
    read_facts,
)
from pipelines.versions.shelf import (
    FileFacts,
    Files,
    Node,
    VersionShelf,
    list_corpora,
    make_shelf,
    open_writable_shelf,
    walk_files,
)
from synth.audio.bank import read_index
from synth.base.atomic import PARTIAL_SUFFIX, write_text
from synth.base.errors import CorpusError
from synth.base.progress import Observer, Silent
from synth.corpus.corpus import ATTRIBUTION_FILE, CORPUS_FILE, REMOVED_FILE, SAMPLES_FILE
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


def count_freed_bytes(files: Mapping[Path, FileFacts], links: Counter[Node]) -> int:
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


def remove_files(files: Iterable[Path]) -> None:
    """Remove files, of which some may be gone already."""
    for path in files:
        path.unlink(missing_ok=True)


def remove_empty_folders(folder: Path) -> None:
    """Remove a folder and those below it, as far as nothing is left in them."""
    for each in sorted(folder.rglob("*"), reverse=True):
        if each.is_dir() and not any(each.iterdir()):
            each.rmdir()
    if folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()


def list_folders(parent: Path) -> list[Path]:
    """The folders in a folder, by name; none where it is missing."""
    if not parent.is_dir():
        return []
    return sorted(each for each in parent.iterdir() if each.is_dir())


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
        versions: What goes of the others.
        leftovers: What killed reproductions left.
        banks: What goes of the banks.
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
        return sum(each.freed for each in self.removals)

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "corpus": self.corpus,
            "kept": list(self.kept),
            "versions": [each.to_json() for each in self.versions],
            "leftovers": [each.to_json() for each in self.leftovers],
            "banks": [each.to_json() for each in self.banks],
            "foreign": list(self.foreign),
            "freed": self.freed,
        }


def collect_garbage(
    path: Path,
    keep: int,
    banks: bool = False,
    dry_run: bool = False,
    observer: Observer | None = None,
) -> Sweep:
    """Remove the shards of all but the newest versions of a corpus; their manifests stay.

    The `keep` newest finished versions that have shards keep them, and so does `latest`. Shards of
    a version that was never finished go too, if a finished one is newer. No build may run.

    Args:
        path: Manifest folder, data_manifests/CORPUS, or its URL.
        keep: Versions to keep, 1 at least.
        banks: Whether the banks' files go that no version with shards, of any corpus, needs.
        dry_run: Tell what would go, and remove nothing.

    Returns:
        What was removed, or would be.
    """
    shelf = open_writable_shelf(path)
    if dry_run:
        return _survey(shelf, keep, shelf.list_banks() if banks else ())
    with ExitStack() as held:
        ours = hold_every_bank(held, shelf) if banks else ()
        mirror = _hold_corpora(held, shelf) if banks else held.enter_context(_hold_shelf(shelf))
        shelf = make_shelf(shelf.out, shelf.corpus, shelf.copies)  # nobody changes it any more
        sweep = _survey(shelf, keep, ours)
        _carry_out(sweep, shelf, mirror, observer or Silent())
    return sweep


def _hold_shelf(shelf: VersionShelf) -> AbstractContextManager[Mirror | None]:
    return hold_corpus(shelf.out, shelf.corpus)


def _carry_out(
    sweep: Sweep, shelf: VersionShelf, mirror: Mirror | None, observer: Observer
) -> None:
    for removal in sweep.versions:
        _mark(shelf, shelf.locate(removal.name), mirror)
    observer.start(PHASE, sum(len(each.files) for each in sweep.removals), "files")
    for removal in sweep.versions:
        if mirror is not None:
            for files in _order(removal.files):
                mirror.withdraw(files)
        _remove(removal, shelf)
        observer.advance(PHASE, len(removal.files))
    for removal in sweep.leftovers:
        _remove(removal, shelf)
        observer.advance(PHASE, len(removal.files))
    for removal in sweep.banks:
        if mirror is not None:
            mirror.withdraw(removal.files)
        remove_files(removal.files)
        observer.advance(PHASE, len(removal.files))
    observer.finish(PHASE)


def _remove(removal: Removal, shelf: VersionShelf) -> None:
    """Remove files here, with the folder of shards that they leave empty."""
    remove_files(removal.files)
    remove_empty_folders(shelf.out / SHARDS / shelf.corpus / removal.name)


def _hold_corpora(held: ExitStack, shelf: VersionShelf) -> Mirror | None:
    """Hold every corpus: whoever renders from a bank holds its corpus."""
    ours = held.enter_context(_hold_shelf(shelf))
    for name in list_corpora(shelf.out, shelf.copies):
        if name != shelf.corpus:
            held.enter_context(hold_corpus(shelf.out, name))
    return ours


def _survey(shelf: VersionShelf, keep: int, banks: Collection[Path]) -> Sweep:
    """What is to go, of these banks alone."""
    versions = list_versions(shelf)
    going = _choose_versions(versions, keep, shelf)
    links: Counter[Node] = Counter()
    removals = []
    foreign: list[Path] = []
    for version in going:
        files, others = _list_shard_files(version.places, shelf)
        if not version.finished:  # what certifies them goes before them
            files = {**_list_receipts(version.places, shelf), **files}
        foreign += others
        removals.append(Removal(version.name, tuple(files), count_freed_bytes(files, links)))
    leftovers = []
    shards = shelf.out / SHARDS / shelf.corpus
    for staging in sorted(shards.glob(f".*{STAGING_SUFFIX}")):
        files = {path: FileFacts.of(path) for path in walk_files(staging)}
        leftovers.append(Removal(staging.name, tuple(files), count_freed_bytes(files, links)))
    gone = {version.name for version in going}
    stay = [version for version in versions if version.name not in gone]
    return Sweep(
        corpus=shelf.corpus,
        kept=tuple(version.name for version in stay if version.present),
        versions=tuple(removal for removal in removals if removal.files),
        leftovers=tuple(leftovers),
        banks=tuple(find_unneeded(shelf, banks, stay, links)) if banks else (),
        foreign=tuple(map(shelf.format_path, foreign)),
    )


def _choose_versions(versions: Sequence[Version], keep: int, shelf: VersionShelf) -> list[Version]:
    """The versions whose shards go, the oldest first."""
    finished = [version for version in versions if version.finished]
    whole = [each for each in finished if each.present and not each.is_removed]
    newest = {version.name for version in whole[-keep:]}
    last = max((version.time_ns for version in finished), default=0)

    def is_going(version: Version) -> bool:
        if version.latest or version.places.shards not in shelf.folders:
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


def _list_shard_files(places: Places, shelf: VersionShelf) -> tuple[Files, list[Path]]:
    """The files that a build wrote in a version's shard folder, and the others."""
    folder = places.shards
    linked = next((each for each in (folder, *list_folders(folder)) if each.is_symlink()), None)
    if linked is not None:
        raise CorpusError(
            f"{linked}: is a link to another folder; gc removes only files that are here",
            fix="remove the link and its target by hand",
        )
    found = shelf.list_files(folder)
    built = {path: held for path, held in found.items() if _is_built(path.relative_to(folder))}
    return built, [path for path in found if path not in built]


def _list_receipts(places: Places, shelf: VersionShelf) -> dict[Path, FileFacts]:
    """The receipts of a version, which prove nothing but what is there where it is unfinished."""
    found = shelf.list_files(places.manifests)
    return {
        path: held
        for path, held in found.items()
        if path.parent == places.receipts and path.suffix == ".json"
    }


def _order(files: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Files that go: receipts, and then the others."""
    receipts = [path for path in files if path.parent.name == RECEIPTS]
    return receipts, [path for path in files if path.parent.name != RECEIPTS]


def _is_built(path: Path) -> bool:
    """Whether a path, from the version's shard folder, is one that builds write."""
    return any(
        pattern.count("/") == len(path.parts) - 1 and fnmatch(path.as_posix(), pattern)
        for pattern in _SHARD_FILES
    )


def _mark(shelf: VersionShelf, places: Places, mirror: Mirror | None) -> None:
    """Say beside the manifests of a finished version that its shards were removed."""
    path = places.manifests / REMOVED_FILE
    if shelf.holds(path) or not shelf.holds(places.manifests / CORPUS_FILE):
        return
    found = _list_receipts(places, shelf)
    receipts = [read_receipt(places, each.stem) for each in map(shelf.fetch, found)]
    certified = [receipt for receipt in receipts if receipt is not None]
    told = {
        "removed_by": "segue gc",
        "version": places.version,
        "shards": len(certified),
        "bytes": sum(receipt.bytes for receipt in certified),
        "made_again_by": f"segue rebuild {locate_versions(Path(), places.corpus) / places.version}",
    }
    write_text(path, canonical_json(told) + "\n")
    if mirror is not None:
        mirror.push(path)


# Which files of the banks no version needs, and that nobody fills a bank meanwhile.


_BANK_FILES: Final = ("index-*.parquet", "part-*.pcm", "part-*.parquet", "part-*.json")


def hold_every_bank(held: ExitStack, shelf: VersionShelf) -> frozenset[Path]:
    """Hold the banks below a shelf's root; others may be begun meanwhile, and are not ours."""
    held.enter_context(hold_banks(shelf.out))
    ours: set[Path] = set()
    while begun := shelf.list_banks().keys() - ours:  # while it waited for its turn, too
        for bank in sorted(begun):
            held.enter_context(wait_for_turn(bank))
        ours |= begun
    return frozenset(ours)


def find_unneeded(
    shelf: VersionShelf, banks: Collection[Path], stay: Iterable[Version], links: Counter[Node]
) -> Iterator[Removal]:
    """What goes of banks: the files that no index of a version that stays leads to."""
    needed: set[Path] = set()
    for index in _list_indexes(shelf, stay):
        needed |= {index, *_list_part_files(index)}
    for bank, files in shelf.list_banks().items():
        if bank not in banks:
            continue
        going = {
            path: held
            for path, held in files.items()
            if path.parent == bank and _is_bank_file(path) and path.resolve() not in needed
        }
        if going:
            yield Removal(f"{BANKS}/{bank.name}", tuple(going), count_freed_bytes(going, links))


def _is_bank_file(path: Path) -> bool:
    return any(fnmatch(path.name, pattern) for pattern in _BANK_FILES)


def _list_indexes(shelf: VersionShelf, stay: Iterable[Version]) -> set[Path]:
    """The bank index of every finished version, of any corpus, that gc did not remove."""
    others = (version for other in shelf.list_others() for version in list_versions(other))
    return {
        (version.places.manifests / str(read_facts(version.places)["bank"])).resolve()
        for version in (*stay, *others)
        if version.finished and not version.is_removed
    }


def _list_part_files(index: Path) -> Iterator[Path]:
    """The files of the parts that an index leads to."""
    if not fetch(index).is_file():
        return
    for name in read_index(index)[0]["part"].unique().to_pylist():
        yield from ((index.parent / name).with_suffix(end) for end in (".pcm", ".parquet", ".json"))
