"""Segue's own work, from a filled bank to plans and corpora.

- **render**: a whole build but for ingest (plan, captions proven, negatives refuted, PCM, FLAC,
  measurements, SHA-256, tar, receipts, manifest, card), beside the encoder alone and the peers.
- **plan**: scenes, captions and their proofs, rows, Parquet; no audio. Of workers the start is on
  the clock.
- **rebuild**: a second build of the same spec, which has nothing to do; a sample is a shard.
- **scaling**: one worker, then two, which have started before the clock: their start does not
  depend on how much there is to do. What one process makes, plan and manifest, is on it.
- **growth**: cost against the size of a corpus of short sounds, so that the encoder hides little.
- **catalogue**: ingest and plan over listings of the AudioSet labels: no files, but a row and
  levels for every clip, which is a sample.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from multiprocessing import active_children
from pathlib import Path
from typing import Any, Final

from benchmarks.core.contenders import Contender
from benchmarks.core.turn import Done, Job, Stopwatch, Work, peak_mib
from benchmarks.speed.stage import KINDS, BenchStage, planned, with_bank
from pipelines.builder.build import build
from pipelines.config.spec import Spec
from pipelines.engines.engine import engine
from synth.sources.own.folder import VocabularySource

PEERS: Final = {
    "pydub": ("pydub", "wav"),
    "pydub, FLAC": ("pydub", "flac"),
    "lhotse": ("lhotse", "flac"),
    "librosa + soundfile, as ACBA's script": ("acba_script", "flac"),
    "scaper": ("scaper", "wav"),
}
BY_WORKERS: Final = "plan four events by workers"
SHORT: Final = {"crossfade_s": 0.1, "max_event_s": 1.0, "style": "natural"}
LONG: Final = 100_000
"""Samples or clips from which one turn is enough."""


def _segue(
    case: str, spec: Job, count: int | None = None, seconds: float | None = None, **job: Any
) -> Contender:
    workers = job.get("workers")
    name = f"Segue, {workers} worker{'s' * (workers > 1)}" if workers else "Segue"
    recipe = {"acba": {"pairs": 8}}
    values = {"spec": spec, "warm": spec | {"recipe": recipe}, **job}
    return Contender(case, name, __name__, values, count, seconds, once=(count or 0) >= LONG)


def render(stage: BenchStage) -> Iterator[Contender]:
    for kind in KINDS:
        samples, seconds = stage.count(kind)
        case, spec = f"render {kind}", stage.spec(kind, stage.size.rendered)
        bank = str(stage.built(kind) / "banks")
        yield _segue(case, spec, samples, seconds, bank=bank, warm=spec, work="build")
        floor = {"corpus": str(stage.manifests(kind)), "work": "encode"}
        module = "benchmarks.speed.reading"
        yield Contender(case, "FLAC encoder alone", module, floor, samples, seconds)
        for name, (peer, audio_format) in PEERS.items():
            if peer != "acba_script" or kind == "pair":
                job = {"items": str(stage.items(kind)), "peer": peer, "format": audio_format}
                module = "benchmarks.speed.peers.mixing"
                yield Contender(case, name, module, job, samples, seconds, peer=True)


def plan(stage: BenchStage) -> Iterator[Contender]:
    bank = str(stage.built("pair") / "banks")
    for kind in KINDS:
        spec = stage.spec(kind, stage.size.planned)
        if kind == "triplet":  # over all labels, since that alone makes many
            spec["source"] = {"folder": {"root": str(stage.clips)}}
        yield _segue(f"plan {kind}", spec, bank=bank, work="plan")
    for workers in (1, 2):
        yield _segue(BY_WORKERS, spec, bank=bank, work="plan", workers=workers)


def _short(stage: BenchStage, samples: int, **changes: Any) -> dict[str, Any]:
    return stage.spec("pair", samples, **changes) | {"recipe": {"acba": SHORT | {"pairs": samples}}}


def rebuild(stage: BenchStage) -> Iterator[Contender]:
    shards = stage.size.shards
    spec = _short(stage, shards * 2, shards={"samples": 2})
    bank = str(stage.built("pair") / "banks")
    yield _segue(f"rebuild of {shards:,} shards", spec, shards, bank=bank, work="rebuild")


def scaling(stage: BenchStage) -> Iterator[Contender]:
    samples = stage.size.scaled
    spec = stage.spec("pair", samples, shards={"samples": max(2, samples // 24)})
    bank = str(stage.built("pair") / "banks")
    for workers in (1, 2):
        yield _segue("scaling", spec, samples, bank=bank, work="build", workers=workers)


def growth(stage: BenchStage) -> Iterator[Contender]:
    bank = str(stage.built("pair") / "banks")
    for work in ("plan", "build"):
        for samples in stage.size.corpora:
            spec = _short(stage, samples)
            yield _segue(f"{work} {samples:,} samples", spec, samples, bank=bank, work=work)


def catalogue(stage: BenchStage) -> Iterator[Contender]:
    labels = len(VocabularySource().names)
    for takes in stage.size.listings:
        clips = takes * labels
        spec = {
            "corpus": "catalogue",
            "seed": 7,
            "source": {"vocabulary": {"labels": "audioset", "takes": takes}},
            "recipe": {"acba": {"pairs": 4_000, "style": "natural"}},
            "splits": {"train": 0.9, "test": 0.1},
        }
        warm = spec | {
            "source": {"vocabulary": {"labels": "audioset"}},
            "recipe": {"acba": {"pairs": 8}},
        }
        case = f"catalogue of {clips:,} clips"
        yield _segue(case, spec, clips, warm=warm, work="plan", clips=clips)


def prepare(job: Job) -> Work:
    """Something small first, for what happens once."""
    out, spec, warm = Path(job["out"]), job["spec"], job["warm"]
    work, workers, bank = job["work"], job.get("workers", 0), job.get("bank")
    if bank:
        for name in ("warm", "measured"):
            with_bank(Path(bank), out / name)
    if work == "plan":
        planned(warm, out / "warm")
        return lambda watch: _plan(watch, job, out / "measured")
    make = Spec.model_validate
    build(make(warm), out / "warm", 0)
    if work == "rebuild":
        build(make(spec), out / "measured", 0)

    def run(watch: Stopwatch) -> Done:
        with engine(workers) as where:
            for number in range(workers):  # one more at work each time, so each one starts
                other = warm | {"corpus": f"warm-{number}", "shards": {"samples": 2}}
                build(make(other), out / "warm", where)
            os.sync()  # what is left over of other turns
            with watch:
                summary = build(make(spec), out / "measured", where)
            heaviest = max((peak_mib(child.pid or 0) for child in active_children()), default=0)
        if summary.rendered != (0 if work == "rebuild" else summary.shards):
            raise RuntimeError(f"{summary.rendered} of {summary.shards} shards were made")
        if work == "rebuild":
            return Done(summary.skipped)
        facts = {"worker_mib": heaviest} if workers else {}
        return Done(summary.samples, summary.hours * 3600, facts)

    return run


def _plan(watch: Stopwatch, job: Job, out: Path) -> Done:
    with watch:
        samples = planned(job["spec"], out, job.get("workers", 0))
    return Done(job.get("clips", samples))
