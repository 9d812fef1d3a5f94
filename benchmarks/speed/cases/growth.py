"""Cost against the size of a corpus: time a sample, and memory, should stay as they are.

Sounds are short (1 s), so that what is not the encoder's shows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from benchmarks.speed.contenders import SpeedContender
from benchmarks.speed.measure import Done, Job, Stopwatch, Work
from benchmarks.speed.stage import LONG, BenchStage, planned, with_bank
from pipelines.builder.build import build
from pipelines.config.spec import Spec

SHORT: Final = {"crossfade_s": 0.1, "max_event_s": 1.0, "style": "natural"}


def short(stage: BenchStage, samples: int, **changes: Any) -> dict[str, Any]:
    """The spec of a corpus of short pairs."""
    return stage.spec("pair", samples, **changes) | {"recipe": {"acba": SHORT | {"pairs": samples}}}


def contenders(stage: BenchStage) -> list[SpeedContender]:
    """Planning and building at every size."""
    bank = str(stage.built("pair") / "banks")
    return [
        SpeedContender(
            f"{case} {samples:,} samples",
            "Segue",
            __name__,
            {"spec": short(stage, samples), "bank": bank, "render": case == "build"},
            samples,
            once=samples >= LONG,
        )
        for case in ("plan", "build")
        for samples in stage.size.corpora
    ]


def prepare(job: Job) -> Work:
    """A small corpus first, for what happens once."""
    bank, out = Path(job["bank"]), Path(job["out"])
    few = job["spec"] | {"recipe": {"acba": SHORT | {"pairs": 8}}}
    build(Spec.model_validate(few), with_bank(bank, out / "warm"), 0)
    with_bank(bank, out / "measured")

    def work(watch: Stopwatch) -> Done:
        with watch:
            if job["render"]:
                samples = build(Spec.model_validate(job["spec"]), out / "measured", 0).samples
            else:
                samples = planned(job["spec"], out / "measured")
        return Done(samples)

    return work
