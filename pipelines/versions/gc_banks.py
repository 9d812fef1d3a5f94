"""Which files of the banks no version needs, and that nobody fills a bank meanwhile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack
from fnmatch import fnmatch
from pathlib import Path
from typing import Final

from pipelines.store.locks import wait_for_turn
from pipelines.store.places import BANKS
from pipelines.store.stage import hold_banks
from pipelines.versions.history import Version, list_versions, read_facts
from pipelines.versions.removal import Removal, count_freed_bytes
from pipelines.versions.shelf import Node, VersionShelf
from synth.audio.bank import read_index
from synth.storage import fetch

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
