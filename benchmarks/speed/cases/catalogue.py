"""Ingest and plan over catalogues of growing size; a sample is a clip.

They are listings of the AudioSet labels: no files, but a row and levels for every clip.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from benchmarks.speed.contenders import SpeedContender
from benchmarks.speed.measure import Done, Job, Stopwatch, Work
from benchmarks.speed.stage import LONG, BenchStage, planned
from synth.sources.own.folder import VocabularySource

PAIRS: Final = 4_000


def contenders(stage: BenchStage) -> list[SpeedContender]:
    """Each size."""
    labels = len(VocabularySource().names)
    return [
        SpeedContender(
            f"catalogue of {takes * labels:,} clips",
            "Segue",
            __name__,
            {"spec": _spec(takes), "clips": takes * labels},
            takes * labels,
            once=takes * labels >= LONG,
        )
        for takes in stage.size.listings
    ]


def _spec(takes: int) -> dict[str, Any]:
    return {
        "corpus": "catalogue",
        "seed": 7,
        "source": {"vocabulary": {"labels": "audioset", "takes": takes}},
        "recipe": {"acba": {"pairs": PAIRS, "style": "natural"}},
        "splits": {"train": 0.9, "test": 0.1},
    }


def prepare(job: Job) -> Work:
    """A small catalogue first, for what happens once."""
    out = Path(job["out"])
    planned(_spec(1) | {"recipe": {"acba": {"pairs": 8}}}, out / "warm")

    def work(watch: Stopwatch) -> Done:
        with watch:
            planned(job["spec"], out / "measured")
        return Done(job["clips"])

    return work
