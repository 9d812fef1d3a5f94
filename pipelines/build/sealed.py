"""A finished version never changes: what a plain build may still make of one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pipelines.build.claim import (
    SHARDS_FILE,
    read_finished,
    refuse_other_build,
    remove_files,
)
from pipelines.build.differences import library_differences
from pipelines.build.plan import ShardPlan
from pipelines.build.render import is_done, read_receipt
from pipelines.store.places import Places
from synth.base.errors import CorpusError
from synth.base.progress import Observer, tell_damage
from synth.corpus.corpus import CORPUS_FILE, REMOVED_FILE, SAMPLES_FILE
from synth.corpus.receipt import RECEIPT_FILE, VersionReceipt


def remove_damaged(places: Places, digest: str, observer: Observer) -> VersionReceipt | None:
    """Delete what of a version is not what its receipt says, so that it is made again.

    Where the receipt itself is damaged, all that it certified is made again.

    Returns:
        The receipt of a finished version, which what is made again must match.
    """
    try:
        receipt = VersionReceipt.read(places.manifests)
    except CorpusError as error:
        read_finished(places, digest)
        tell_damage(observer, [error.message], "made again")
        remove_files(places, [RECEIPT_FILE, SHARDS_FILE, SAMPLES_FILE])
        return None
    path = places.manifests / CORPUS_FILE
    if receipt is None or path.name not in receipt.files or not path.exists():
        return None
    refuse_other_build(places, receipt.digest, digest)
    if not (places.manifests / REMOVED_FILE).is_file():
        remove_faulty(places, receipt.find_faults(), observer)
    return receipt


def remove_faulty(places: Places, faults: Mapping[str, str], observer: Observer) -> None:
    """Delete files of a version, of which each has a fault, so that they are made again."""
    told = [f"{places.format_path(places.manifests / name)}: {faults[name]}" for name in faults]
    tell_damage(observer, told, "made again")
    remove_files(places, faults)


def refuse_other_bytes(places: Places, shards: Sequence[ShardPlan]) -> None:
    """Check that a plain build may make what is missing of a finished version.

    Shards that went by themselves are made again if the libraries are those of their receipts. A
    version whose shards `segue gc` removed is reproduced, and nothing else, so that every shard is
    proven against its receipt before any of them is there again.
    """
    missing = [shard for shard in shards if not is_done(places, shard)]
    if not missing:
        return
    folder = places.format_path(places.manifests)
    fix = (
        f"`segue build {folder}` rebuilds them byte for byte, or lists what differs; "
        "another `version` in the spec builds a new one"
    )
    if (places.manifests / REMOVED_FILE).is_file():
        raise CorpusError(
            f"{folder}: `segue gc` removed the shards of this finished version", fix=fix
        )
    receipts = [read_receipt(places, shard.shard) for shard in missing]
    others = library_differences([each for each in receipts if each is not None])
    if others:
        raise CorpusError(
            f"{folder}: {len(missing)} of {len(shards)} shards of this finished version "
            f"are missing, and would now differ: library {others[0]}",
            fix=fix,
        )


def unmark(places: Places) -> None:
    """Take back that the shards were removed; they are all there again."""
    path = places.manifests / REMOVED_FILE
    if path.is_file():
        if places.mirror is not None:
            places.mirror.withdraw([path])
        path.unlink()
