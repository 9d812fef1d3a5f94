"""Rendering: from clips in the bank to a finished corpus, beside files in and file out.

Segue's turn is a whole build but for ingest: plan, captions proven, negatives refuted, PCM, FLAC,
measurements, SHA-256, tar, receipts, manifest, card.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from benchmarks.speed.contenders import SpeedContender
from benchmarks.speed.measure import Done, Job, Stopwatch, Work
from benchmarks.speed.stage import KINDS, BenchStage, with_bank
from pipelines.builder.build import build
from pipelines.config.spec import Spec

PEERS: Final = {
    "pair": ("pydub", "lhotse", "acba_script", "scaper"),
    "triplet": ("pydub", "lhotse", "scaper"),
    "four events": ("pydub", "lhotse", "scaper"),
}
NAMES: Final = {"acba_script": "librosa + soundfile, as ACBA's script"}


def contenders(stage: BenchStage) -> list[SpeedContender]:
    """Segue, the encoder alone, and the peers, over the same samples."""
    found = []
    for kind in KINDS:
        samples, seconds = stage.count(kind)
        case = f"render {kind}"
        spec = stage.spec(kind, stage.size.rendered)
        job = {"spec": spec, "bank": str(stage.built(kind) / "banks")}
        found.append(SpeedContender(case, "Segue", __name__, job, samples, seconds))
        floor = {"corpus": str(stage.manifests(kind))}
        module = "benchmarks.speed.cases.encode"
        found.append(SpeedContender(case, "FLAC encoder alone", module, floor, samples, seconds))
        for peer in PEERS[kind]:
            found.append(
                SpeedContender(
                    case,
                    NAMES.get(peer, peer),
                    f"benchmarks.speed.peers.{peer}",
                    {"items": str(stage.items(kind))},
                    samples,
                    seconds,
                    peer=True,
                )
            )
    return found


def prepare(job: Job) -> Work:
    """Build once for nothing, so that imports and first use are not on the clock."""
    spec = Spec.model_validate(job["spec"])
    bank = Path(job["bank"])
    build(spec, with_bank(bank, Path(job["out"]) / "warm"), 0)
    out = with_bank(bank, Path(job["out"]) / "measured")

    def work(watch: Stopwatch) -> Done:
        os.sync()  # what is left over of other turns
        with watch:
            summary = build(spec, out, 0)
        if summary.rendered != summary.shards:
            raise RuntimeError(f"{summary.shards - summary.rendered} shards were there already")
        return Done(summary.samples, summary.hours * 3600)

    return work
