"""Garbage collection: the shards of old versions go, their manifests stay.

What is to go is decided first and told, then it is done. A version's `removed.json` is written
before its first file goes, so that a run which is killed is finished by the next one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pipelines.documents.croissant import CROISSANT_FILE
from pipelines.finalise import CARD_FILE, SIZES_FILE
from pipelines.locks import in_turn, sole_writer
from pipelines.places import BANKS, SHARDS, Places, versions_of
from pipelines.render import read_receipt
from pipelines.versions.gc_banks import unneeded
from pipelines.versions.history import (
    STAGING_SUFFIX,
    State,
    Version,
    corpus_folder,
    files_below,
    is_corpus,
    list_versions,
)
from pipelines.versions.removal import (
    Node,
    Removal,
    folders_in,
    freed_bytes,
    remove_empty,
    remove_files,
)
from synth.atomic import PARTIAL_SUFFIX, write_text
from synth.corpus import ATTRIBUTION_FILE, CORPUS_FILE, REMOVED_FILE, SAMPLES_FILE
from synth.errors import CorpusError
from synth.schema import canonical_json

_SHARD_FILES: Final = (
    "*/*.tar",
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
        corpus: The corpus's name.
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
    foreign: tuple[Path, ...]

    @property
    def freed(self) -> int:
        """Bytes, in all."""
        return sum(each.freed for each in (*self.versions, *self.leftovers, *self.banks))

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "corpus": self.corpus,
            "kept": list(self.kept),
            "versions": [each.to_json() for each in self.versions],
            "leftovers": [each.to_json() for each in self.leftovers],
            "banks": [each.to_json() for each in self.banks],
            "foreign": [str(path) for path in self.foreign],
            "freed": self.freed,
        }


def gc(path: Path, keep: int, banks: bool = False, dry_run: bool = False) -> Sweep:
    """Remove the shards of all but the newest versions of a corpus; their manifests stay.

    The `keep` newest finished versions that have shards keep them, and so does `latest`. Shards of
    a version that was never finished go too, if a finished one is newer. No build may run.

    Args:
        path: Manifest folder, data_manifests/CORPUS.
        keep: Versions to keep, 1 at least.
        banks: Whether the banks' files go that no version with shards, of any corpus, needs.
        dry_run: Tell what would go, and remove nothing.

    Returns:
        What was removed, or would be.

    Raises:
        CorpusError: If there is no corpus, one is being built, or a manifest is damaged; nothing is
            removed then.
    """
    folder = corpus_folder(path)
    if dry_run:
        return _survey(folder, keep, banks)
    with ExitStack() as held:
        if banks:
            _hold_all(held, folder)
        else:
            held.enter_context(sole_writer(folder))
        sweep = _survey(folder, keep, banks)
        _carry_out(sweep, folder.parent.parent)
    return sweep


def _carry_out(sweep: Sweep, out: Path) -> None:
    for removal in sweep.versions:
        _mark(Places(out, sweep.corpus, removal.name))
    for removal in (*sweep.versions, *sweep.leftovers):
        remove_files(removal.files)
        remove_empty(out / SHARDS / sweep.corpus / removal.name)
    for removal in sweep.banks:
        remove_files(removal.files)


def _hold_all(held: ExitStack, folder: Path) -> None:
    """Hold every bank, then every corpus: whoever fills a bank holds its corpus already."""
    out = folder.parent.parent
    for bank in folders_in(out / BANKS):
        held.enter_context(in_turn(bank))
    for corpus in folders_in(folder.parent):
        if is_corpus(corpus) or any(corpus.glob(".lock")):
            held.enter_context(sole_writer(corpus))


def _survey(folder: Path, keep: int, banks: bool) -> Sweep:
    """What is to go."""
    versions = list_versions(folder)
    going = _going(versions, keep)
    links: Counter[Node] = Counter()
    removals = []
    foreign: list[Path] = []
    for version in going:
        files, others = _shard_files(version.places)
        foreign += others
        removals.append(Removal(version.name, files, freed_bytes(files, links)))
    leftovers = []
    shards = folder.parent.parent / SHARDS / folder.name
    for staging in sorted(shards.glob(f".*{STAGING_SUFFIX}")):
        files = tuple(files_below(staging))
        leftovers.append(Removal(staging.name, files, freed_bytes(files, links)))
    gone = {version.name for version in going}
    stay = [version for version in versions if version.name not in gone]
    return Sweep(
        corpus=folder.name,
        kept=tuple(version.name for version in stay if version.present),
        versions=tuple(removal for removal in removals if removal.files),
        leftovers=tuple(leftovers),
        banks=tuple(unneeded(folder, stay, links)) if banks else (),
        foreign=tuple(foreign),
    )


def _going(versions: Sequence[Version], keep: int) -> list[Version]:
    """The versions whose shards go, the oldest first."""
    finished = [version for version in versions if version.finished]
    whole = [each for each in finished if each.present and not each.is_removed]
    newest = {version.name for version in whole[-keep:]}
    last = max((version.time_ns for version in finished), default=0)

    def goes(version: Version) -> bool:
        if version.latest or not version.places.shards.is_dir():
            return False
        match version.state:
            case State.STRAY:
                return False
            case State.UNFINISHED:
                return version.time_ns < last
            case _ if version.is_removed:
                return True
            case _:
                return version.present > 0 and version.name not in newest

    return [version for version in versions if goes(version)]


def _shard_files(places: Places) -> tuple[tuple[Path, ...], list[Path]]:
    """The files that a build wrote in a version's shard folder, and the others.

    Raises:
        CorpusError: If the folder, or one below it, is a link.
    """
    folder = places.shards
    linked = next((each for each in (folder, *folders_in(folder)) if each.is_symlink()), None)
    if linked is not None:
        raise CorpusError(
            f"{linked}: a link to another folder, and gc removes only what lies here itself",
            mend="remove the link and what it leads to by hand",
        )
    built = {path for pattern in _SHARD_FILES for path in folder.glob(pattern)}
    found = list(files_below(folder))
    return (
        tuple(path for path in found if path in built),
        [path for path in found if path not in built],
    )


def _mark(places: Places) -> None:
    """Say beside the manifests of a finished version that its shards were removed."""
    path = places.manifests / REMOVED_FILE
    if path.is_file() or not (places.manifests / CORPUS_FILE).is_file():
        return
    receipts = [read_receipt(places, each.stem) for each in sorted(places.receipts.glob("*.json"))]
    certified = [receipt for receipt in receipts if receipt is not None]
    told = {
        "removed_by": "segue gc",
        "version": places.version,
        "shards": len(certified),
        "bytes": sum(receipt.bytes for receipt in certified),
        "made_again_by": f"segue build {versions_of(Path(), places.corpus) / places.version}",
    }
    write_text(path, canonical_json(told) + "\n")
