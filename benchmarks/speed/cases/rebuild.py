"""A second build of the same spec, which has nothing to do; a sample is a shard."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from benchmarks.speed.cases.growth import short
from benchmarks.speed.contenders import SpeedContender
from benchmarks.speed.measure import Done, Job, Stopwatch, Work
from benchmarks.speed.stage import BenchStage, with_bank
from pipelines.builder.build import build
from pipelines.config.spec import Spec

IN_SHARD: Final = 2


def contenders(stage: BenchStage) -> list[SpeedContender]:
    """One corpus of many shards."""
    shards = stage.size.shards
    spec = short(stage, shards * IN_SHARD, shards={"samples": IN_SHARD})
    job = {"spec": spec, "bank": str(stage.built("pair") / "banks")}
    return [SpeedContender(f"rebuild of {shards:,} shards", "Segue", __name__, job, shards)]


def prepare(job: Job) -> Work:
    """Build it."""
    spec = Spec.model_validate(job["spec"])
    out = with_bank(Path(job["bank"]), Path(job["out"]) / "measured")
    build(spec, out, 0)

    def work(watch: Stopwatch) -> Done:
        with watch:
            summary = build(spec, out, 0)
        if summary.rendered:
            raise RuntimeError(f"{summary.rendered} shards were made again")
        return Done(summary.skipped)

    return work
