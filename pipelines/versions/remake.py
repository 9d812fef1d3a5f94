"""Remake: the missing shards of an old version, made apart, proven, and only then moved in."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.builder.differences import Differences, unmark
from pipelines.builder.finalise import assemble
from pipelines.builder.plan import ShardPlan
from pipelines.builder.render import (
    RenderJob,
    ShardReceipt,
    is_done,
    link,
    read_receipt,
    render_shard,
)
from pipelines.builder.schedule import RenderSettings, schedule
from pipelines.config.spec import Spec
from pipelines.engines.engine import Call, Engine
from pipelines.ingest.ingest import IngestedLibrary
from pipelines.store.mirror import Mirror, record
from pipelines.store.places import SHARDS, Places
from pipelines.versions.history import STAGING_SUFFIX
from pipelines.versions.shelf import walk_files
from synth.base.hashing import file_sha256, sha256_of
from synth.base.progress import Observer
from synth.corpus.corpus import CLIPS_FILE, PLAN_FILE, SAMPLES_FILE
from synth.storage.reading import open_stream


@dataclass(frozen=True, slots=True)
class OldVersion:
    """A version to be reproduced.

    Args:
        facts: Its `corpus.json`.
        spec: Its own, files taken from where they lie now.
        shards: As they were planned.
    """

    places: Places
    facts: dict[str, Any]
    spec: Spec
    receipts: dict[str, ShardReceipt]
    shards: Sequence[ShardPlan] = ()

    @property
    def staging(self) -> Places:
        """Where it is made again."""
        folder = self.places.out / SHARDS / self.places.corpus
        name = f".{self.places.version}{STAGING_SUFFIX}"
        return Places(folder / name, self.places.corpus, self.places.version)


def remake(
    old: OldVersion,
    library: IngestedLibrary,
    where: Engine,
    settings: RenderSettings,
    observer: Observer,
) -> tuple[Differences, int, int]:
    """Verify what is there, make what is missing, and let it move in if all is as it was.

    At a store, what is there is read and not kept; what is made stays here until it moves in.

    Returns:
        What differs, shards rendered, shards linked.
    """
    there, differing = _verify_shards(old, where.width, observer)
    if differing:
        return Differences(others=tuple(differing)), 0, 0
    staging, mirror = old.staging, old.places.mirror
    for name in (PLAN_FILE, CLIPS_FILE):
        link(old.places.manifests / name, staging.manifests / name)
    twins = _find_twins(old, [shard for shard in old.shards if shard.shard not in there])
    for shard in old.shards:
        path = there.get(shard.shard) or twins.get(shard.shard)
        if path is not None and old.places.measurements_path(shard.shard).is_file():
            _stage(old, shard, path)
    proven = there.keys() | twins.keys() if mirror is not None else set()
    pending = [shard for shard in old.shards if not _is_staged(old, shard, proven)]
    audio = old.spec.audio
    job = RenderJob(staging, library.index, audio.mixdown, audio.format)
    staged = len(old.shards) - len(pending)
    observer.start("render", len(old.shards), "shards", done=staged)

    def begin(shard: ShardPlan) -> Future[None]:
        return where.submit(Call(render_shard, shard.shard, settings.timeout_s), job, shard)

    schedule(pending, begin, where, lambda shard: observer.advance("render"), settings.delays_s)
    observer.finish("render")
    differing = list(_compare_rendered(old, pending))
    if not differing:
        assemble(old.spec, library, staging, old.shards)
        differing = list(_compare_manifest(old))
    if not differing:
        _move_in(old, library.index, twins)
        rendered = sum(shard.shard not in there for shard in pending)
        if rendered or twins:
            record(old.places.journal, "reproduced", rendered=rendered, linked=len(twins))
    shutil.rmtree(staging.out)
    if differing:
        return Differences(others=tuple(differing)), 0, 0
    return Differences(), rendered, len(twins)


def _verify_shards(
    old: OldVersion, worker_count: int, observer: Observer
) -> tuple[dict[str, Path], list[str]]:
    """The shards that are there, and those that are not what they were."""
    differing = []
    paths = {}
    for shard in old.shards:
        receipt = old.receipts.get(shard.shard)
        if receipt is None:
            differing.append(f"shard {shard.shard}: no receipt, so its content is unknown")
        elif receipt.digest != shard.digest:
            differing.append(f"shard {shard.shard}: its receipt is for another plan")
        elif old.places.find_size(shard.split, shard.shard) is not None:
            paths[shard.shard] = old.places.shard_path(shard.split, shard.shard)
    observer.start("verify", len(paths), "shards")
    with ThreadPoolExecutor(max(1, worker_count)) as threads:
        values = threads.map(lambda path: _hash_shard(old.places, path), paths.values())
        hashes = {}
        for name, value in zip(paths, values, strict=True):
            hashes[name] = value
            observer.advance("verify")
    observer.finish("verify")
    differing += [
        f"shard {name}: the file differs from its receipt; delete "
        f"{old.places.format_path(paths[name])} to rebuild it"
        for name, value in hashes.items()
        if value != old.receipts[name].sha256
    ]
    return paths, differing


def _hash_shard(places: Places, path: Path) -> str:
    """Hex SHA-256 of a shard, here or at the store."""
    if places.mirror is None:
        return file_sha256(path)
    copies = places.mirror.copies
    with open_stream(copies.remote, copies.key(path)) as file:
        return sha256_of(file)


def _find_twins(old: OldVersion, missing: Iterable[ShardPlan]) -> dict[str, Path]:
    """Missing shards that another version of the corpus holds."""
    folders = sorted(old.places.versions.iterdir())
    others = [
        old.places.locate_sibling(folder.name)
        for folder in folders
        if folder.is_dir() and folder.name != old.places.version
    ]
    found = {}
    for shard in missing:
        receipt = old.receipts[shard.shard]
        for other in others:
            path = other.shard_path(shard.split, shard.shard)
            if (
                other.find_size(shard.split, shard.shard) == receipt.bytes
                and _hash_shard(other, path) == receipt.sha256
            ):
                found[shard.shard] = path
                break
    return found


def _stage(old: OldVersion, shard: ShardPlan, path: Path) -> None:
    """Put a shard that is there, and what is known of it, with those that are made."""
    staging, name = old.staging, shard.shard
    if old.places.mirror is None:
        link(path, staging.shard_path(shard.split, name))
    link(old.places.measurements_path(name), staging.measurements_path(name))
    link(old.places.receipt_path(name), staging.receipt_path(name))


def _is_staged(old: OldVersion, shard: ShardPlan, proven: Collection[str]) -> bool:
    """Whether a shard needs no rendering; a killed run's counts if it is the right one."""
    receipt = read_receipt(old.staging, shard.shard)
    if receipt is None or receipt.sha256 != old.receipts[shard.shard].sha256:
        return False
    measured = old.staging.measurements_path(shard.shard).is_file()
    return is_done(old.staging, shard) or (shard.shard in proven and measured)


def _compare_rendered(old: OldVersion, rendered: Iterable[ShardPlan]) -> Iterator[str]:
    for shard in rendered:
        wanted = old.receipts[shard.shard].sha256
        found = read_receipt(old.staging, shard.shard)
        if found is None or found.sha256 != wanted:
            seen = found.sha256[:12] if found else "nothing"
            yield (
                f"shard {shard.shard}: rendered to SHA-256 {seen}, its receipt says {wanted[:12]}: "
                "something unrecorded differs, such as the processor"
            )


def _compare_manifest(old: OldVersion) -> Iterator[str]:
    path = old.places.manifests / SAMPLES_FILE
    if path.is_file() and file_sha256(path) != file_sha256(old.staging.manifests / SAMPLES_FILE):
        yield f"{SAMPLES_FILE}: does not match the plan and the shards"


def _move_in(old: OldVersion, index: Path, twins: Mapping[str, Path]) -> None:
    """Add what is missing from the version, bank index included; nothing is written over."""
    places, staging = old.places, old.staging
    for name in (SAMPLES_FILE, *(f"receipts/{shard.shard}.parquet" for shard in old.shards)):
        _add(staging.manifests / name, places.manifests / name, places.mirror)
    if places.mirror is not None:
        for shard in old.shards:
            if shard.shard in twins:
                places.mirror.copy(twins[shard.shard], places.shard_path(shard.split, shard.shard))
    for path in walk_files(staging.shards):
        below = path.relative_to(staging.shards)
        origin = places.manifests / SAMPLES_FILE if below == Path(SAMPLES_FILE) else path
        _add(origin, places.shards / below, places.mirror)
    # The index is named by where clips lie in the parts, which files of other times change.
    _add(index, (places.manifests / str(old.facts["bank"])).resolve(), places.mirror)
    unmark(places)


def _add(source: Path, target: Path, mirror: Mirror | None) -> None:
    """Let a file that is missing be there; a shard at a store is not kept here."""
    if mirror is None:
        if not target.is_file():
            link(source, target)
        return
    if mirror.holds(target):
        return
    if mirror.lease is not None:
        mirror.lease.check()
    if source != target:
        link(source, target)
    mirror.push(target)
    if target.suffix == ".tar":
        target.unlink()
