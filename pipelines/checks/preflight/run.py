"""Plan a corpus, and hold the plan against a training run."""

from __future__ import annotations

from pathlib import Path

from pipelines.build.build import locate_library
from pipelines.build.plan import plan
from pipelines.build.render import RenderJob
from pipelines.checks.preflight.disk import estimate, known_ratio, pending
from pipelines.checks.preflight.judge import refuse_unfit
from pipelines.checks.preflight.pace import drawn_rows, measured, rights
from pipelines.checks.preflight.report import Report
from pipelines.checks.preflight.splits import read_splits, trained_on
from pipelines.checks.preflight.training import Training
from pipelines.engines.engine import engine
from pipelines.spec.spec import Spec
from pipelines.store.places import Places
from pipelines.store.site import open_stage, write_access
from synth.base.progress import Observer
from synth.corpus.corpus import CLIPS_FILE, PLAN_FILE
from synth.sources import Unheard


def preflight(
    spec: Spec, training: Training, out: Path, processes: int, observer: Observer
) -> tuple[Places, int, Report]:
    """Plan a corpus and foretell what a training run gets of it; nothing is rendered to disk.

    Args:
        spec: The spec.
        training: The run.
        out: Root of banks, shards and manifests.
        processes: That plan, and would render.
        observer: Told of the progress.

    Returns:
        Where the plan lies, its samples, and what was found.

    Raises:
        SpecError: If the ranks cannot share a batch at all.
        PlanError: If a rank would starve or hang, or the disk is too small.
    """
    training.check()
    source = spec.make_source()
    out = open_stage(out)
    with write_access(out, spec.corpus), engine(processes) as where:
        library, places = locate_library(spec, out, where, observer)
        shards = plan(spec, library, places, observer)
        splits = read_splits(places.manifests / PLAN_FILE, shards)
        trained = trained_on(splits, training)
        refuse_unfit(trained, training)
        audio = spec.audio
        job = RenderJob(places, library.index, audio.mixdown, audio.format)
        rows = drawn_rows(places.manifests / PLAN_FILE, shards)
        pace = None if isinstance(source, Unheard) else measured(job, rows)
        ratio = known_ratio(places, audio.format, pace)
        left = pending(places, shards)
        licences = rights(places.manifests / CLIPS_FILE)
        disk = estimate(places, left, ratio, rows, licences, library.index)
    disk.refuse_full(out)
    report = Report(training, splits, trained, left, disk, pace, max(1, processes), library.blocked)
    return places, sum(shard.samples for shard in shards), report
