"""A few samples of the plan, rendered now: how long they take, and how far they compress."""

from __future__ import annotations

import os
import tempfile
import time
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate
from math import isfinite
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow.parquet as pq

from pipelines.builder.plan import ShardPlan
from pipelines.builder.render import RenderJob
from pipelines.store.row_file import read_rows
from synth.audio.bank import Bank
from synth.audio.render import render
from synth.base.errors import SpecError
from synth.corpus.corpus import CLIPS_FILE
from synth.corpus.shards import ShardWriter, serialise_document
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
        text = serialise_document(row, licences)
        return writer.append(row, render(scene, bank, job.mixdown, row["frames"]), text).size

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


# The training run that a plan is held against.


MOST_LOST: Final = 10.0
TRAIN: Final = "train"


class LoaderKind(StrEnum):
    """How samples come to the ranks.

    `trainer`: `segue train` shares each batch of the manifest; shards do not matter.
    `bounded`: shards are dealt to ranks and loader workers, and the epoch has a fixed number of
        steps, as in open_clip and LAION-CLAP, or by `WebLoader(...).with_epoch(steps)`.
    `plain`: shards are dealt in their order, and each rank stops where its own shards end.
    """

    TRAINER = "trainer"
    BOUNDED = "bounded"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True)
class Training:
    """A training run.

    Args:
        gpus: Ranks, one a GPU; 1 or more.
        workers: Loader workers of each rank; 0 loads in the rank itself.
        batch: Samples a step, those of all ranks together.
        loaders: Those that must be able to run.
        splits: Those that are trained on; none: `train`, or all where there is no `train`.
        keep_groups: Whether the trainer keeps minimal-pair groups together in a batch.
        epochs: 1 or more.
        most_lost: Percent of a split that an epoch may leave unseen before that is told.
        steps_per_s: Steps in a second, as the user measured it.
        price_per_gpu_hour: In any currency.
    """

    gpus: int
    workers: int
    batch: int
    loaders: tuple[LoaderKind, ...] = (LoaderKind.TRAINER, LoaderKind.BOUNDED)
    splits: tuple[str, ...] = ()
    keep_groups: bool = True
    epochs: int = 1
    most_lost: float = MOST_LOST
    steps_per_s: float | None = None
    price_per_gpu_hour: float | None = None

    @property
    def readers(self) -> int:
        """Processes of a rank that read shards."""
        return max(1, self.workers)

    @property
    def places(self) -> int:
        """Processes of all ranks that read shards."""
        return self.gpus * self.readers

    @property
    def rank_batch(self) -> int:
        """Samples of a rank in a step; what open_clip and LAION-CLAP call `--batch-size`."""
        return self.batch // self.gpus

    def check(self) -> None:
        """Refuse what no plan can fix."""
        for name in ("most_lost", "steps_per_s", "price_per_gpu_hour"):
            value = getattr(self, name)
            if value is not None and not isfinite(value):
                option = f"--{name.replace('_', '-')}"
                raise SpecError(f"{option} {value}: not finite", fix="give a number such as 1.5")
        if self.batch < self.gpus:
            raise SpecError(
                f"a batch of {self.batch} samples is too small for {self.gpus} GPUs",
                fix=f"--batch {self.gpus} at least (samples of all GPUs together), or fewer GPUs",
            )
        if self.batch % self.gpus:
            below = self.batch - self.batch % self.gpus
            raise SpecError(
                f"a batch of {self.batch} samples does not divide among {self.gpus} GPUs",
                fix=f"--batch {below} or --batch {below + self.gpus}",
            )
        if self.price_per_gpu_hour is not None and self.steps_per_s is None:
            raise SpecError(
                "--price-per-gpu-hour alone gives no cost: the run's duration is unknown",
                fix="measure your model's speed and give --steps-per-s",
            )
