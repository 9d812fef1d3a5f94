"""Ingest: clips opened, measured, resampled and stored in a new bank; a sample is a clip."""

from __future__ import annotations

from pathlib import Path

from benchmarks.speed.contenders import SpeedContender
from benchmarks.speed.measure import Done, Job, Stopwatch, Work
from benchmarks.speed.stage import BenchStage
from pipelines.config.spec import Spec
from pipelines.engines.engine import engine
from pipelines.ingest.ingest import ingest
from synth.base.progress import Silent


def contenders(stage: BenchStage) -> list[SpeedContender]:
    """At the clips' own rate, and at another, which resamples all of them."""
    clips = sum(1 for _ in stage.clips.glob("*/*"))
    found = []
    for name, rate in (("Segue", 44_100), ("Segue, resampled to 48 kHz", 48_000)):
        audio = {"audio": {"sample_rate": rate}}
        job = {"spec": stage.spec("pair", 4, **audio)}
        found.append(SpeedContender("ingest", name, __name__, job, clips))
    return found


def prepare(job: Job) -> Work:
    """The decoder's process starts on the clock: there is no ingest without it."""
    spec = Spec.model_validate(job["spec"])

    def work(watch: Stopwatch) -> Done:
        with watch, engine(0) as where:
            library = ingest(spec.intake, Path(job["out"]) / "banks", where, Silent())
        return Done(len(library.clips) + len(library.quarantine))

    return work
