"""Plan a corpus, and hold the plan against a training run."""

from __future__ import annotations

from pathlib import Path

from pipelines.build.build import locate_library
from pipelines.build.plan import plan
from pipelines.build.render import RenderJob
from pipelines.checks.preflight.disk import estimate_disk, find_pending, find_ratio
from pipelines.checks.preflight.judge import refuse_unfit
from pipelines.checks.preflight.pace import draw_rows, measure_pace, read_rights
from pipelines.checks.preflight.report import PreflightReport
from pipelines.checks.preflight.splits import read_splits, select_trained
from pipelines.checks.preflight.training import Training
from pipelines.engines.engine import engine
from pipelines.spec.spec import Spec
from pipelines.store.places import Places
from pipelines.store.stage import choose_stage, hold_for_writing
from synth.base.progress import Observer
from synth.corpus.corpus import CLIPS_FILE, PLAN_FILE
from synth.sources import Unheard


def run_preflight(
    spec: Spec, training: Training, out: Path, processes: int, observer: Observer
) -> tuple[Places, int, PreflightReport]:
    """Plan a corpus and foretell what a training run gets of it; nothing is rendered to disk.

    Returns:
        Where the plan lies, its samples, and what was found.
    """
    training.check()
    source = spec.make_source()
    out = choose_stage(out)
    with hold_for_writing(out, spec.corpus), engine(processes) as where:
        library, places = locate_library(spec, out, where, observer)
        shards = plan(spec, library, places, where, observer)
        splits = read_splits(places.manifests / PLAN_FILE, shards)
        trained = select_trained(splits, training)
        refuse_unfit(trained, training)
        audio = spec.audio
        job = RenderJob(places, library.index, audio.mixdown, audio.format)
        rows = draw_rows(places.manifests / PLAN_FILE, shards)
        pace = None if isinstance(source, Unheard) else measure_pace(job, rows)
        ratio = find_ratio(places, audio.format, pace)
        left = find_pending(places, shards)
        licences = read_rights(places.manifests / CLIPS_FILE)
        disk = estimate_disk(places, left, ratio, rows, licences, library.index)
    disk.refuse_full(out)
    report = PreflightReport(
        training, splits, trained, left, disk, pace, max(1, processes), library.blocked
    )
    return places, sum(shard.samples for shard in shards), report
