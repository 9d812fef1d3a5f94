"""Planning alone: scenes, captions and their proofs, rows, Parquet; no audio.

Then scenes by one process and by two workers; their start is on the clock, and processor time is
that of the first process alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from benchmarks.speed.contenders import SpeedContender
from benchmarks.speed.measure import Done, Job, Stopwatch, Work
from benchmarks.speed.stage import KINDS, BenchStage, planned, with_bank

BY_WORKERS: Final = "plan four events by workers"


def contenders(stage: BenchStage) -> list[SpeedContender]:
    """Each kind of sample; the triplets over all labels, since that alone makes many."""
    found = []
    for kind in KINDS:
        spec = stage.spec(kind, stage.size.planned)
        bank = stage.built("pair") / "banks"
        if kind == "triplet":
            spec["source"] = {"folder": {"root": str(stage.clips)}}
        job = {"spec": spec, "bank": str(bank)}
        found.append(SpeedContender(f"plan {kind}", "Segue", __name__, job))
    for workers in (1, 2):
        name = f"Segue, {workers} worker{'s' * (workers > 1)}"
        found.append(SpeedContender(BY_WORKERS, name, __name__, job | {"workers": workers}))
    return found


def prepare(job: Job) -> Work:
    """Plan a few first, for what happens once."""
    bank = Path(job["bank"])
    few = job["spec"] | {"recipe": {"acba": {"pairs": 8}}}
    planned(few, with_bank(bank, Path(job["out"]) / "warm"))
    out = with_bank(bank, Path(job["out"]) / "measured")

    def work(watch: Stopwatch) -> Done:
        with watch:
            samples = planned(job["spec"], out, job.get("workers", 0))
        return Done(samples)

    return work
