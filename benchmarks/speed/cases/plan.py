"""Planning alone: scenes, captions and their proofs, rows, Parquet; no audio."""

from __future__ import annotations

from pathlib import Path

from benchmarks.speed.contenders import Contender
from benchmarks.speed.measure import Done, Job, Watch, Work
from benchmarks.speed.stage import KINDS, Stage, planned, with_bank


def contenders(stage: Stage) -> list[Contender]:
    """Each kind of sample; the triplets over all labels, since that alone makes many."""
    found = []
    for kind in KINDS:
        spec = stage.spec(kind, stage.size.planned)
        bank = stage.built("pair") / "banks"
        if kind == "triplet":
            spec["source"] = {"folder": {"root": str(stage.clips)}}
        job = {"spec": spec, "bank": str(bank)}
        found.append(Contender(f"plan {kind}", "Segue", __name__, job))
    return found


def prepare(job: Job) -> Work:
    """Plan once for nothing."""
    bank = Path(job["bank"])
    planned(job["spec"], with_bank(bank, Path(job["out"]) / "warm"))
    out = with_bank(bank, Path(job["out"]) / "measured")

    def work(watch: Watch) -> Done:
        with watch:
            _, samples = planned(job["spec"], out)
        return Done(samples)

    return work
