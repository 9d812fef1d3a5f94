"""A few samples of the plan, rendered now: how long they take, and how far they compress."""

from __future__ import annotations

import os
import tempfile
import time
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow.parquet as pq

from pipelines.build.plan import ShardPlan
from pipelines.build.render import RenderJob
from pipelines.store.row_groups import read_rows
from synth.audio.bank import Bank
from synth.audio.render import render
from synth.corpus.corpus import CLIPS_FILE
from synth.corpus.shards import ShardWriter
from synth.scene.scene import from_text

DRAWN: Final = 64
BUDGET_S: Final = 5.0
_PCM_BYTES: Final = 2
_GOLDEN: Final = 0.6180339887498949


@dataclass(frozen=True, slots=True)
class RenderPace:
    """What making some samples in one process took, from the bank to the disk.

    Args:
        seconds: Wall clock, of all of them.
        audio_bytes: Of each, encoded.
    """

    seconds: float
    frames: tuple[int, ...]
    audio_bytes: tuple[int, ...]

    @property
    def samples(self) -> int:
        """How many were made."""
        return len(self.frames)

    @property
    def audio_ratio(self) -> float:
        """Encoded bytes over those of the PCM."""
        return sum(self.audio_bytes) / (sum(self.frames) * _PCM_BYTES)

    @property
    def margin(self) -> float:
        """Two standard errors of the ratio, as a part of it; 1 where one sample tells nothing."""
        if self.samples < 2:
            return 1.0
        sizes, frames = np.array(self.audio_bytes), np.array(self.frames)
        residuals = sizes - frames * (sizes.sum() / frames.sum())
        return float(2 * residuals.std(ddof=1) * np.sqrt(self.samples) / sizes.sum())

    def estimate_seconds(self, frames: int, processes: int) -> float:
        """Time for so many frames in so many processes, each with a processor of its own."""
        return self.seconds / sum(self.frames) * frames / max(1, processes)


def draw_rows(plan: Path, shards: Sequence[ShardPlan]) -> list[dict[str, Any]]:
    """Up to `DRAWN` rows of the plan; the first few are spread over it as well as all are."""
    ends = list(accumulate(shard.samples for shard in shards))
    positions = dict.fromkeys(int(k * _GOLDEN % 1 * ends[-1]) for k in range(DRAWN))
    places: dict[int, list[tuple[int, int]]] = {}
    for position in positions:
        shard = bisect_right(ends, position)
        row = position - (ends[shard] - shards[shard].samples)
        places.setdefault(shard, []).append((position, row))
    found: dict[int, dict[str, Any]] = {}
    for shard, rows in places.items():
        group, first = shards[shard].row_group, shards[shard].row
        for position, row in rows:
            (found[position],) = read_rows(plan, group, first + row, 1).to_pylist()
    return [found[position] for position in positions]


def read_rights(clips: Path) -> Mapping[str, Mapping[str, str]]:
    """Licence and attribution of each clip, by id."""
    columns = ["id", "licence", "attribution"]
    return {row["id"]: row for row in pq.read_table(clips, columns=columns).to_pylist()}


def measure_pace(job: RenderJob, rows: Sequence[Mapping[str, Any]]) -> RenderPace:
    """Make samples as a build does, for `BUDGET_S` at most, and throw them away.

    The first is made once more before the clock starts, so that opening the bank does not count.
    """
    bank = Bank.open(job.index)
    licences = read_rights(job.places.manifests / CLIPS_FILE)

    def make(row: Mapping[str, Any], writer: ShardWriter) -> int:
        scene = from_text(row["scene"])
        return writer.add(row, render(scene, bank, job.mixdown, row["frames"]), licences).size

    frames: list[int] = []
    sizes: list[int] = []
    # It has no name, so that a kill leaves nothing.
    with tempfile.TemporaryFile(dir=job.places.manifests) as file:
        writer = ShardWriter(file, job.audio_format)
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
    return RenderPace(seconds, tuple(frames), tuple(sizes))
