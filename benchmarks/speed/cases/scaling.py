"""One worker process, then two: what the second one brings on the clock.

Workers are started before the clock: their start does not depend on how much there is to do. Plan
and manifest, which one process makes, are on it. Processor time is that of this process alone.
"""

from __future__ import annotations

from multiprocessing import active_children
from pathlib import Path
from typing import Final

from benchmarks.speed.contenders import SpeedContender
from benchmarks.speed.measure import Done, Job, Stopwatch, Work, peak_mib
from benchmarks.speed.stage import BenchStage, with_bank
from pipelines.builder.build import build
from pipelines.config.spec import Spec
from pipelines.engines.engine import engine

WORKERS: Final = (1, 2)
SHARDS: Final = 24


def contenders(stage: BenchStage) -> list[SpeedContender]:
    """Each number of workers."""
    samples = stage.size.scaled
    shards = {"shards": {"samples": max(2, samples // SHARDS)}}
    job = {
        "spec": stage.spec("pair", samples, **shards),
        "bank": str(stage.built("pair") / "banks"),
    }
    return [
        SpeedContender(
            "scaling",
            f"Segue, {count} worker{'s' * (count > 1)}",
            __name__,
            job | {"workers": count},
            samples,
        )
        for count in WORKERS
    ]


def prepare(job: Job) -> Work:
    """A small corpus first, here, for what happens once."""
    spec, bank, out = Spec.model_validate(job["spec"]), Path(job["bank"]), Path(job["out"])
    few = job["spec"] | {"recipe": {"acba": {"pairs": 4}}}
    build(Spec.model_validate(few), with_bank(bank, out / "warm"), 0)
    with_bank(bank, out / "measured")

    def work(watch: Stopwatch) -> Done:
        with engine(job["workers"]) as where:
            for number in range(job["workers"]):  # one more at work each time, so each one starts
                warm = few | {"corpus": f"warm-{number}", "shards": {"samples": 2}}
                build(Spec.model_validate(warm), out / "warm", where)
            with watch:
                summary = build(spec, out / "measured", where)
            heaviest = max(peak_mib(child.pid or "self") for child in active_children())
        return Done(summary.samples, summary.hours * 3600, {"worker_mib": heaviest})

    return work
