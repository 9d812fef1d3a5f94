"""Render: planned shards become tar files, each certified by a receipt that is written last."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq
import soundfile

from pipelines.places import Places
from pipelines.plan import ShardPlan
from synth.atomic import remove_partials, replacing, write_text
from synth.bank import Bank
from synth.corpus import CLIPS_FILE, PLAN_FILE
from synth.render import Mixdown, render
from synth.scene import from_json
from synth.schema import MEASUREMENTS, canonical_json, table
from synth.shards import AudioFormat, writing

LIBRARIES: Final = ("numpy", "soundfile", "soxr", "librosa", "pyarrow")


@dataclass(frozen=True, slots=True)
class RenderJob:
    """What every shard of a build is rendered with.

    Args:
        places: Where the plan is and the shards go.
        index: The bank's index file.
        mixdown: How scenes become PCM.
        audio_format: How PCM is stored.
    """

    places: Places
    index: Path
    mixdown: Mixdown
    audio_format: AudioFormat


@dataclass(frozen=True, slots=True)
class Receipt:
    """What certifies a finished shard; written last.

    Args:
        shard: File name.
        split: Split.
        samples: Rows.
        digest: `ShardPlan.digest` of what was rendered.
        bytes: Size of the file.
        sha256: Of the file.
        libraries: Versions of the libraries that made it.
    """

    shard: str
    split: str
    samples: int
    digest: str
    bytes: int
    sha256: str
    libraries: dict[str, str]


def is_done(places: Places, shard: ShardPlan) -> bool:
    """Whether a matching receipt certifies the shard, and the shard has the size it says."""
    receipt = read_receipt(places, shard.shard)
    if receipt is None or receipt.digest != shard.digest:
        return False
    try:
        size = places.shard(shard.split, shard.shard).stat().st_size
    except OSError:
        return False
    return size == receipt.bytes and places.measurements(shard.shard).is_file()


def read_receipt(places: Places, shard: str) -> Receipt | None:
    """The receipt of a shard; None where there is none that can be read."""
    try:
        return Receipt(**json.loads(places.receipt(shard).read_bytes()))
    except (FileNotFoundError, ValueError, TypeError):
        return None


def render_shard(job: RenderJob, shard: ShardPlan) -> None:
    """Render one shard, then its measurements, then its receipt."""
    places = job.places
    path = places.shard(shard.split, shard.shard)
    bank = _bank(job.index)
    rights = _rights(places.manifests / CLIPS_FILE)
    measured = []
    with writing(path, job.audio_format) as writer:
        for row in _rows(places.manifests / PLAN_FILE, shard.row_group):
            rendering = render(
                from_json(json.loads(row["scene"])), bank, job.mixdown, row["frames"]
            )
            measured.append(asdict(writer.add(row, rendering, rights)))
    with replacing(places.measurements(shard.shard)) as partial:
        pq.write_table(table(measured, MEASUREMENTS), partial)
    receipt = Receipt(
        shard=shard.shard,
        split=shard.split,
        samples=shard.samples,
        digest=shard.digest,
        bytes=path.stat().st_size,
        sha256=sha256(path),
        libraries=library_versions(),
    )
    write_text(places.receipt(shard.shard), canonical_json(asdict(receipt)))


def reuse(places: Places, shards: list[ShardPlan]) -> list[ShardPlan]:
    """Link shards that another version of the corpus holds with the same digest.

    Returns:
        The shards that are still to be rendered.
    """
    pending = [shard for shard in shards if not is_done(places, shard)]
    if not pending or not places.versions.is_dir():
        return pending
    others = [
        places.sibling(folder.name)
        for folder in sorted(places.versions.iterdir())
        if folder.is_dir() and folder.name != places.version
    ]
    missing = []
    for shard in pending:
        twin = next((other for other in others if _is_sound(other, shard)), None)
        if twin is None:
            missing.append(shard)
            continue
        link(twin.shard(shard.split, shard.shard), places.shard(shard.split, shard.shard))
        link(twin.measurements(shard.shard), places.measurements(shard.shard))
        link(twin.receipt(shard.shard), places.receipt(shard.shard))
    return missing


def _is_sound(places: Places, shard: ShardPlan) -> bool:
    """Whether a shard is done and still the file that its receipt certifies."""
    receipt = read_receipt(places, shard.shard)
    return (
        receipt is not None
        and is_done(places, shard)
        and sha256(places.shard(shard.split, shard.shard)) == receipt.sha256
    )


def sha256(path: Path) -> str:
    """Hex SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def prune(places: Places, shards: Iterable[ShardPlan]) -> None:
    """Remove from an unfinished version what an earlier plan of the same name left."""
    planned = {shard.shard for shard in shards}
    splits = {shard.split for shard in shards}
    stale = [path for path in places.shards.glob("*/*.tar") if path.name not in planned]
    stale += [path for path in places.receipts.glob("*.tar.*") if path.stem not in planned]
    stale += [path for path in places.shards.glob("*/*.json") if path.parent.name not in splits]
    for path in stale:
        path.unlink(missing_ok=True)


def clean(places: Places) -> None:
    """Remove what killed writers of this version left; for the version's sole writer."""
    for folder in (places.manifests, places.receipts, *places.shards.glob("*")):
        remove_partials(folder)


def library_versions() -> dict[str, str]:
    """Versions of the libraries that make the bytes."""
    return {name: version(name) for name in LIBRARIES} | {
        "libsndfile": soundfile.__libsndfile_version__
    }


@lru_cache(maxsize=2)
def _bank(index: Path) -> Bank:
    return Bank.open(index)


@lru_cache(maxsize=2)
def _rights(clips: Path) -> Mapping[str, Mapping[str, str]]:
    columns = ["id", "licence", "attribution"]
    return {row["id"]: row for row in pq.read_table(clips, columns=columns).to_pylist()}


def _rows(plan: Path, row_group: int) -> Iterator[dict[str, Any]]:
    with pq.ParquetFile(plan) as file:
        yield from file.read_row_group(row_group).to_pylist()


def link(source: Path, target: Path) -> None:
    """Let `target` be the same file, or a copy where the file system has no links."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with replacing(target) as partial:
        try:
            os.link(source, partial)
        except OSError:
            shutil.copyfile(source, partial)
