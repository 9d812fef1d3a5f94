"""What rendering a corpus will take: time, and room on the disk beside what is free."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pipelines.builder.plan import ShardPlan
from pipelines.builder.render import RenderJob, find_alike, is_done, read_rights
from pipelines.config.spec import AudioSpec
from pipelines.store.places import Places
from pipelines.store.row_file import read_batches, read_columns, take_rows
from synth.audio.bank import INDEX_SCHEMA, Bank
from synth.audio.render import render
from synth.base.atomic import free_bytes
from synth.base.errors import PlanError
from synth.corpus.corpus import CLIPS_FILE, CORPUS_FILE, PLAN_FILE
from synth.corpus.shards import AudioFormat, ShardWriter, document, serialise_document
from synth.scene.scene import from_text

_ASSUMED: Final = {AudioFormat.FLAC: 0.6, AudioFormat.WAV: 1.0}
PCM_BYTES: Final = 2
_BLOCK: Final = 512
_MANIFEST_BYTES_A_SAMPLE: Final = 250  # measurements, once beside the shards' receipts, once joined
_MANIFEST_BYTES_A_SHARD: Final = 8_192


# A few samples of the plan, rendered now: how long they take, and how far they compress.


DRAWN: Final = 64
BUDGET_S: Final = 5.0
_GOLDEN: Final = 0.6180339887498949


@dataclass(frozen=True, slots=True)
class Ratio:
    """Bytes of encoded audio over those of its 16-bit PCM.

    Args:
        margin: How far it may be off, as a part of it; 0 where that is not known either.
    """

    value: float
    known: str
    margin: float = 0.0


@dataclass(frozen=True, slots=True)
class RenderPace:
    """What making some samples in one process took, from the bank to the disk, in wall clock."""

    samples: int
    frames: int
    seconds: float
    ratio: Ratio

    def estimate_seconds(self, frames: int, processes: int) -> float:
        """Time for so many frames in so many processes, each with a processor of its own."""
        return self.seconds / self.frames * frames / max(1, processes)


def draw_rows(plan: Path) -> list[dict[str, Any]]:
    """Up to `DRAWN` rows of the plan; the first few are spread over it as well as all are."""
    with pq.ParquetFile(plan) as file:
        places = np.linspace(0, file.metadata.num_rows - 1, DRAWN).astype(np.int64)
        rows = list(take_rows(file, np.unique(places)))
    return [rows[at] for at in sorted(range(len(rows)), key=lambda at: at * _GOLDEN % 1)]


def measure_pace(job: RenderJob, rows: Sequence[Mapping[str, Any]]) -> RenderPace:
    """Make samples as a build does, for `BUDGET_S` at most, and throw them away.

    The first is made once more before the clock starts, so that opening the bank does not count.
    """
    bank = Bank.open(job.index)
    licences = read_rights(job.places.manifests / CLIPS_FILE)

    def make(row: Mapping[str, Any], writer: ShardWriter) -> int:
        scene = from_text(row["scene"])
        text = serialise_document(row, licences)
        rendering = render(scene, bank, job.mixdown, row["frames"], row["lead"])
        before = writer.stem_bytes
        return writer.append(row, rendering, text).size + writer.stem_bytes - before

    frames: list[int] = []
    sizes: list[int] = []
    # It has no name, so that a kill leaves nothing.
    with tempfile.TemporaryFile(dir=job.places.manifests) as file:
        writer = ShardWriter(file, job.audio_format, job.places.manifests)
        make(rows[0], writer)
        started = time.perf_counter()
        for row in rows:
            frames.append(row["frames"])
            sizes.append(make(row, writer))
            if time.perf_counter() - started > BUDGET_S:
                break
        file.flush()
        os.fsync(file.fileno())
        seconds = time.perf_counter() - started
    return RenderPace(len(frames), sum(frames), seconds, _find_ratio(frames, sizes))


def _find_ratio(frames: Sequence[int], sizes: Sequence[int]) -> Ratio:
    """That of some samples, with two standard errors; one sample alone tells nothing."""
    value, margin = sum(sizes) / (sum(frames) * PCM_BYTES), 1.0
    if len(sizes) > 1:
        residuals = np.array(sizes) - np.array(frames) * (value * PCM_BYTES)
        margin = float(2 * residuals.std(ddof=1) * np.sqrt(len(sizes)) / sum(sizes))
    return Ratio(value, f"measured on {len(sizes)} samples of this plan, +- {margin:.0%}", margin)


# What a corpus will take.


def assume_ratio(audio: AudioSpec) -> Ratio:
    """The ratio where nothing can be rendered."""
    return Ratio(_ASSUMED[audio.format] * (1 + audio.stems), "assumed")


@dataclass(frozen=True, slots=True)
class DiskEstimate:
    """Estimated bytes.

    Args:
        shards: Of the shards still to be made.
        manifests: Of the manifests and receipts still to be written.
        bank: Of the decoded clips, which ingest has written already.
        there: Of shards that are made, here or in another version they can be linked from.
    """

    shards: int
    manifests: int
    bank: int
    there: int
    free: int
    ratio: Ratio

    @property
    def needed(self) -> int:
        """Still to be written."""
        return self.shards + self.manifests

    @property
    def most(self) -> int:
        """The same, if the ratio is as far off as it may be."""
        return round(self.shards * (1 + self.ratio.margin)) + self.manifests

    def refuse_full(self, out: Path) -> None:
        """Check that it fits."""
        if self.needed > self.free:
            raise PlanError(
                f"{out}: the corpus needs {format_gigabytes(self.needed)} more (audio at "
                f"{self.ratio.value:.2f} of PCM, {self.ratio.known}), "
                f"{format_gigabytes(self.free)} are free",
                fix="free some space, give an --out on a larger disk, or plan fewer samples",
            )


def format_gigabytes(count: int) -> str:
    """Bytes as a person reads them."""
    return f"{count / 1e9:.2f} GB" if count >= 1e7 else f"{count / 1e6:.2f} MB"


@dataclass(frozen=True, slots=True)
class PendingShards:
    """What of a plan is still to be made.

    Args:
        there: Bytes of the shards that are made.
    """

    shards: tuple[ShardPlan, ...]
    frames: int
    there: int

    @property
    def samples(self) -> int:
        """Of the shards."""
        return sum(shard.samples for shard in self.shards)


def find_pending(places: Places, shards: Sequence[ShardPlan]) -> PendingShards:
    """What a build would render: shards that neither this version nor another one holds."""
    alike = find_alike(places, shards)
    frames: Counter[str] = Counter()
    for batch in read_batches(places.manifests / PLAN_FILE, ["shard", "frames"]):
        sums = pa.Table.from_batches([batch]).group_by("shard").aggregate([("frames", "sum")])
        frames.update(dict(zip(*(column.to_pylist() for column in sums.columns), strict=True)))
    pending, there = [], 0
    for shard in shards:
        versions = places, *alike.get(shard.shard, ())
        holder = next((version for version in versions if is_done(version, shard)), None)
        if holder is None:
            pending.append(shard)
        else:
            path = holder.shard_path(shard.split, shard.shard)
            there += places.store.find_size(path) or 0
    return PendingShards(tuple(pending), sum(frames[shard.shard] for shard in pending), there)


def estimate_disk(
    places: Places,
    pending: PendingShards,
    ratio: Ratio,
    rows: Sequence[Mapping[str, Any]],
    licences: Mapping[str, Mapping[str, str]],
    index: Path,
) -> DiskEstimate:
    """The bytes that a build will write.

    Args:
        rows: Some rows of the plan, by which the size of the JSON is judged.
        index: The bank's index file; it need not exist.
    """
    texts = [len(json.dumps(document(row, licences), ensure_ascii=False).encode()) for row in rows]
    # two headers, the JSON filled up to whole blocks, and half a block lost behind the audio
    beside = 2 * _BLOCK + sum(-(-text // _BLOCK) * _BLOCK for text in texts) / len(texts)
    shards = pending.frames * PCM_BYTES * ratio.value + pending.samples * (beside + _BLOCK / 2)
    manifests = 0
    if not (places.manifests / CORPUS_FILE).is_file():
        plan = (places.manifests / PLAN_FILE).stat().st_size
        manifests = plan + pending.samples * _MANIFEST_BYTES_A_SAMPLE
        manifests += len(pending.shards) * _MANIFEST_BYTES_A_SHARD
    bank = read_columns(index, [INDEX_SCHEMA.field("frames").name]) if index.is_file() else None
    return DiskEstimate(
        shards=round(shards),
        manifests=manifests,
        bank=0 if bank is None else (pc.sum(bank["frames"]).as_py() or 0) * PCM_BYTES,
        there=pending.there,
        free=free_bytes(places.out),
        ratio=ratio,
    )
