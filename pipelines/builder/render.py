"""Render: planned shards become tar files, each certified by a receipt that is written last."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import pyarrow.parquet as pq

from pipelines.builder.claim import SHARDS_FILE
from pipelines.builder.drafting import forget_groups
from pipelines.builder.plan import ShardPlan
from pipelines.engines.cluster import library_versions
from pipelines.store.places import Places
from pipelines.store.row_file import read_columns
from pipelines.store.store import link
from synth.audio.bank import Bank
from synth.audio.render import Mixdown, render
from synth.base.atomic import file_state, remove_partials, replacing, write_text
from synth.base.doors import parse_json, read_regular
from synth.base.errors import CorpusError, shorten
from synth.base.hashing import FileHash, file_sha256
from synth.corpus.corpus import CLIPS_FILE, PLAN_FILE
from synth.corpus.schema import MEASUREMENTS, canonical_json, to_table
from synth.corpus.shards import AudioFormat, serialise_document, writing
from synth.corpus.validation import explain_damage
from synth.scene.scene import from_text

TOGETHER: Final = 1 << 22
_KINDS: Final[Mapping[str, type]] = {"samples": int, "bytes": int, "libraries": dict}
"""Of the fields of a receipt that are no text."""


@dataclass(frozen=True, slots=True)
class RenderJob:
    """What every shard of a build is rendered with."""

    places: Places
    index: Path
    mixdown: Mixdown
    audio_format: AudioFormat


@dataclass(frozen=True, slots=True)
class ShardReceipt:
    """What certifies a finished shard; written last.

    Args:
        digest: `ShardPlan.digest` of what was rendered.
    """

    shard: str
    split: str
    samples: int
    digest: str
    bytes: int
    sha256: str
    libraries: dict[str, str]
    measurements: str

    @property
    def hash(self) -> FileHash:
        """What the file must be."""
        return FileHash(self.bytes, self.sha256)


def is_done(places: Places, shard: ShardPlan) -> bool:
    """Whether a matching receipt certifies the shard and its measurements.

    The shard must have the size that it says; one that was written after its receipt is hashed.
    """
    receipt = read_receipt(places, shard.shard)
    if receipt is None or receipt.digest != shard.digest:
        return False
    measured = places.measurements_path(shard.shard)
    if not measured.is_file() or receipt.measurements != file_sha256(measured):
        return False
    path, certificate = (
        places.shard_path(shard.split, shard.shard),
        places.receipt_path(shard.shard),
    )
    return not places.store.find_fault(path, receipt.hash, certificate)


def parse_receipt(data: bytes) -> ShardReceipt:
    """What the file of a receipt says.

    Raises:
        ValueError: If it is no JSON object with the fields of a receipt, each of its type.
    """
    try:
        receipt = ShardReceipt(**parse_json(data, "it"))
    except CorpusError as error:
        raise ValueError(error.message) from error
    except TypeError as error:
        raise ValueError("expected an object with the fields of a receipt") from error
    for field in fields(receipt):
        value, kind = getattr(receipt, field.name), _KINDS.get(field.name, str)
        if type(value) is not kind:
            raise ValueError(f"{field.name} is {shorten(value)}: expected {kind.__name__}")
    if not all(isinstance(version, str) for version in receipt.libraries.values()):
        raise ValueError("libraries: expected text for each")
    return receipt


def read_receipt(places: Places, shard: str) -> ShardReceipt | None:
    """The receipt of a shard; None where there is none that can be read."""
    try:
        return parse_receipt(read_regular(places.receipt_path(shard)))
    except (FileNotFoundError, ValueError, CorpusError):
        return None


def render_shard(job: RenderJob, shard: ShardPlan) -> None:
    """Render one shard, then its measurements, then its receipt; at a store it is kept there."""
    places = job.places
    path = places.shard_path(shard.split, shard.shard)
    clips = places.manifests / CLIPS_FILE
    bank = _bank(job.index, file_state(job.index))
    rights = _rights(clips, file_state(clips))
    planned = shard.rows(places.manifests / PLAN_FILE)
    measured: list[dict[str, Any]] = []
    with writing(path, job.audio_format) as writer:
        for run in _runs(planned["frames"].to_pylist()):
            # Each kind of work in turn: the encoder leaves nothing in a processor's caches.
            rows = planned.slice(run.start, len(run)).to_pylist()
            texts = [serialise_document(row, rights) for row in rows]
            sounds = [
                render(from_text(row["scene"]), bank, job.mixdown, row["frames"], row["lead"])
                for row in rows
            ]
            measured += map(asdict, map(writer.append, rows, sounds, texts))
    with replacing(places.measurements_path(shard.shard)) as partial:
        pq.write_table(to_table(measured, MEASUREMENTS), partial)
    receipt = ShardReceipt(
        shard=shard.shard,
        split=shard.split,
        samples=shard.samples,
        digest=shard.digest,
        bytes=path.stat().st_size,
        sha256=writer.sha256,
        libraries=library_versions(),
        measurements=file_sha256(places.measurements_path(shard.shard)),
    )
    write_text(places.receipt_path(shard.shard), canonical_json(asdict(receipt)))
    places.store.certify(
        path, places.measurements_path(shard.shard), places.receipt_path(shard.shard)
    )


def render_missing(job: RenderJob, shard: ShardPlan) -> None:
    """Render a shard, unless a worker did that died before it could tell."""
    forget_groups()  # this worker may have planned before
    if not is_done(job.places, shard):
        render_shard(job, shard)


def _runs(frames: Sequence[int]) -> Iterator[range]:
    """Runs of samples that are held in memory together: `TOGETHER` frames, or one sample."""
    start = total = 0
    for k, length in enumerate(frames):
        if k > start and total + length > TOGETHER:
            yield range(start, k)
            start, total = k, 0
        total += length
    if start < len(frames):
        yield range(start, len(frames))


def find_alike(places: Places, shards: Sequence[ShardPlan]) -> dict[str, list[Places]]:
    """Other versions of the corpus that plan a shard with the same digest, by the shard's name."""
    digests = {(shard.shard, shard.digest) for shard in shards}
    alike: dict[str, list[Places]] = {}
    for folder in sorted(places.versions.glob("*/")) if digests else ():
        if folder.name != places.version:
            sibling = places.locate_sibling(folder.name)
            for name, _ in _list_digests(sibling) & digests:
                alike.setdefault(name, []).append(sibling)
    return alike


def reuse(places: Places, pending: Sequence[ShardPlan]) -> list[ShardPlan]:
    """Link pending shards that another version of the corpus holds with the same digest.

    Returns:
        The shards that are still to be rendered.
    """
    alike = find_alike(places, pending)
    missing = []
    for shard in pending:
        versions = alike.get(shard.shard, ())
        twin = next((version for version in versions if _is_sound(version, shard)), None)
        if twin is None:
            missing.append(shard)
        else:
            _adopt(twin, places, shard)
    return missing


def _list_digests(places: Places) -> set[tuple[str, str]]:
    """Name and digest of every shard that a version plans; none where that cannot be read."""
    path = places.manifests / SHARDS_FILE
    try:
        with explain_damage(path):
            table = read_columns(path, ["shard", "digest"])
    except CorpusError:
        return set()
    return set(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _adopt(twin: Places, places: Places, shard: ShardPlan) -> None:
    """Take a shard over from another version."""
    certificates = places.measurements_path(shard.shard), places.receipt_path(shard.shard)
    source, target = (version.shard_path(shard.split, shard.shard) for version in (twin, places))
    places.store.adopt(source, target, certificates[1])
    link(twin.measurements_path(shard.shard), certificates[0])
    link(twin.receipt_path(shard.shard), certificates[1])
    places.store.put(*certificates)


def withdraw(places: Places, pending: Iterable[ShardPlan]) -> None:
    """Delete the receipts of shards that are about to be written over."""
    paths = [places.receipt_path(shard.shard) for shard in pending]
    places.store.remove(path for path in paths if path.exists())


def _is_sound(places: Places, shard: ShardPlan) -> bool:
    """Whether a shard is done and, where it can be told here, still what its receipt certifies."""
    receipt = read_receipt(places, shard.shard)
    if receipt is None or not is_done(places, shard):
        return False
    path = places.shard_path(shard.split, shard.shard)
    return not places.store.find_fault(path, receipt.hash)


def clean(places: Places) -> None:
    """Remove what killed writers of this version left; for the version's sole writer."""
    folders = places.manifests, places.receipts, places.shards, *places.shards.glob("*/")
    for folder in folders:
        remove_partials(folder)


# Kept by the state of the file: workers of a cluster outlive builds.
@lru_cache(maxsize=2)
def _bank(index: Path, state: tuple[int, ...]) -> Bank:
    return Bank.open(index)


@lru_cache(maxsize=2)
def _rights(clips: Path, state: tuple[int, ...]) -> Mapping[str, Mapping[str, str]]:
    return read_rights(clips)


def read_rights(clips: Path) -> dict[str, dict[str, str]]:
    """Licence and attribution of each clip of `clips.parquet`, by clip id."""
    columns = ["id", "licence", "attribution"]
    return {row["id"]: row for row in read_columns(clips, columns).to_pylist()}
