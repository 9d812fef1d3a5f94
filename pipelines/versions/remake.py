"""Remake: the missing shards of an old version, made apart, proven, and only then moved in."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipelines.executor import Runner
from pipelines.finalise import finalise
from pipelines.ingestion.ingest import Library
from pipelines.journal import record
from pipelines.observe import Observer
from pipelines.places import SHARDS, Places
from pipelines.plan import ShardPlan
from pipelines.render import Receipt, RenderJob, is_done, link, read_receipt, render_shard, sha256
from pipelines.spec import Spec
from pipelines.versions.differences import Differences
from pipelines.versions.history import STAGING_SUFFIX, files_below
from synth.corpus import CLIPS_FILE, PLAN_FILE, REMOVED_FILE, SAMPLES_FILE


@dataclass(frozen=True, slots=True)
class Old:
    """A version to be reproduced.

    Args:
        places: Where it lies.
        facts: Its `corpus.json`.
        spec: Its own, files taken from where they lie now.
        receipts: By shard.
        shards: As they were planned.
    """

    places: Places
    facts: dict[str, Any]
    spec: Spec
    receipts: dict[str, Receipt]
    shards: Sequence[ShardPlan] = ()

    @property
    def staging(self) -> Places:
        """Where it is made again."""
        folder = self.places.out / SHARDS / self.places.corpus
        name = f".{self.places.version}{STAGING_SUFFIX}"
        return Places(folder / name, self.places.corpus, self.places.version)


def remake(
    old: Old, library: Library, run: Runner, worker_count: int, observer: Observer
) -> tuple[Differences, int, int]:
    """Verify what is there, make what is missing, and let it move in if all is as it was.

    Returns:
        What differs, shards rendered, shards linked.
    """
    there, differing = _verified(old, worker_count, observer)
    if differing:
        return Differences(others=tuple(differing)), 0, 0
    staging = old.staging
    for name in (PLAN_FILE, CLIPS_FILE):
        link(old.places.manifests / name, staging.manifests / name)
    twins = _twins(old, [shard for shard in old.shards if shard.shard not in there])
    for shard in old.shards:
        path = there.get(shard.shard) or twins.get(shard.shard)
        if path is not None and old.places.measurements(shard.shard).is_file():
            _stage(old, shard, path)
    pending = [shard for shard in old.shards if not _is_staged(old, shard)]
    audio = old.spec.audio
    job = RenderJob(staging, library.index, audio.mixdown, audio.format)
    observer.start("render", len(pending), "shards")

    def render(shard: ShardPlan) -> None:
        run(render_shard, job, shard)
        observer.advance("render")

    with ThreadPoolExecutor(max(1, worker_count)) as threads:
        list(threads.map(render, pending))
    observer.finish("render", f"{len(pending)} shards")
    differing = list(_rendered_otherwise(old, pending))
    if not differing:
        finalise(old.spec, library, staging, old.shards)
        differing = list(_manifest_otherwise(old))
    if not differing:
        _move_in(old, library.index)
        rendered = sum(shard.shard not in there for shard in pending)
        if rendered or twins:
            record(old.places.journal, "reproduced", rendered=rendered, linked=len(twins))
    shutil.rmtree(staging.out)
    if differing:
        return Differences(others=tuple(differing)), 0, 0
    return Differences(), rendered, len(twins)


def _verified(old: Old, worker_count: int, observer: Observer) -> tuple[dict[str, Path], list[str]]:
    """The shards that are there, and those that are not what they were."""
    differing = []
    paths = {}
    for shard in old.shards:
        receipt = old.receipts.get(shard.shard)
        if receipt is None:
            differing.append(f"shard {shard.shard}: no receipt, so nothing says what it was")
        elif receipt.digest != shard.digest:
            differing.append(f"shard {shard.shard}: its receipt is of another plan")
        elif (path := old.places.shard(shard.split, shard.shard)).is_file():
            paths[shard.shard] = path
    observer.start("verify", len(paths), "shards")
    with ThreadPoolExecutor(max(1, worker_count)) as threads:
        hashes = dict(zip(paths, threads.map(sha256, paths.values()), strict=True))
    observer.finish("verify", f"{len(paths)} shards")
    differing += [
        f"shard {name}: the file differs from its receipt; delete {paths[name]} to have it made "
        "again"
        for name, value in hashes.items()
        if value != old.receipts[name].sha256
    ]
    return paths, differing


def _twins(old: Old, missing: Iterable[ShardPlan]) -> dict[str, Path]:
    """Missing shards that another version of the corpus holds."""
    folders = sorted(old.places.versions.iterdir())
    others = [
        old.places.sibling(folder.name)
        for folder in folders
        if folder.is_dir() and folder.name != old.places.version
    ]
    found = {}
    for shard in missing:
        receipt = old.receipts[shard.shard]
        for other in others:
            path = other.shard(shard.split, shard.shard)
            if (
                path.is_file()
                and path.stat().st_size == receipt.bytes
                and sha256(path) == receipt.sha256
            ):
                found[shard.shard] = path
                break
    return found


def _stage(old: Old, shard: ShardPlan, path: Path) -> None:
    """Put a shard that is there, and what is known of it, with those that are made."""
    staging, name = old.staging, shard.shard
    link(path, staging.shard(shard.split, name))
    link(old.places.measurements(name), staging.measurements(name))
    link(old.places.receipt(name), staging.receipt(name))


def _is_staged(old: Old, shard: ShardPlan) -> bool:
    """Whether a shard needs no rendering; a killed run's counts if it is the right one."""
    receipt = read_receipt(old.staging, shard.shard)
    return (
        receipt is not None
        and receipt.sha256 == old.receipts[shard.shard].sha256
        and is_done(old.staging, shard)
    )


def _rendered_otherwise(old: Old, rendered: Iterable[ShardPlan]) -> Iterator[str]:
    for shard in rendered:
        wanted = old.receipts[shard.shard].sha256
        found = read_receipt(old.staging, shard.shard)
        if found is None or found.sha256 != wanted:
            seen = found.sha256[:12] if found else "nothing"
            yield (
                f"shard {shard.shard}: rendered to SHA-256 {seen}, its receipt says {wanted[:12]}: "
                "something that is not recorded differs, such as the processor"
            )


def _manifest_otherwise(old: Old) -> Iterator[str]:
    path = old.places.manifests / SAMPLES_FILE
    if path.is_file() and sha256(path) != sha256(old.staging.manifests / SAMPLES_FILE):
        yield f"{SAMPLES_FILE}: not what the plan and the shards say"


def _move_in(old: Old, index: Path) -> None:
    """Add what is missing from the version, bank index included; nothing is written over."""
    places, staging = old.places, old.staging
    for name in (SAMPLES_FILE, *(f"receipts/{shard.shard}.parquet" for shard in old.shards)):
        _add(staging.manifests / name, places.manifests / name)
    for path in files_below(staging.shards):
        below = path.relative_to(staging.shards)
        origin = places.manifests / SAMPLES_FILE if below == Path(SAMPLES_FILE) else path
        _add(origin, places.shards / below)
    # The index is named by where clips lie in the parts, which files of other times change.
    _add(index, (places.manifests / str(old.facts["bank"])).resolve())
    (places.manifests / REMOVED_FILE).unlink(missing_ok=True)


def _add(source: Path, target: Path) -> None:
    if not target.is_file():
        link(source, target)
