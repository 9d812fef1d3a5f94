"""The language-model stage: the answers that a spec's `enrich` names are bought over its plan."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from pipelines.build.build import locate_library
from pipelines.build.plan import plan
from pipelines.engines.engine import Engine
from pipelines.flows.nights.settings import EnrichSettings
from pipelines.llm.files import Input
from pipelines.llm.generate import generate
from pipelines.llm.settings import GenerateSettings
from pipelines.llm.stops import StopKind
from pipelines.llm.wire.endpoint import EndpointSettings
from pipelines.spec.spec import Spec
from synth.base.errors import SegueError, SpecError
from synth.base.progress import Observer

STORE: Final = "llm-store.sqlite"


def buy(
    spec: Spec,
    tasks: Sequence[EnrichSettings],
    out: Path,
    where: Engine,
    observer: Observer,
) -> list[Path]:
    """Plan without enrichment, and have every task answered; nothing is bought twice.

    A spent budget ends a task with the answers that there are; the others stay open.

    Returns:
        The files of answers.
    """
    named = {path.resolve() for path in spec.enrich}
    for task in tasks:
        if task.out.resolve() not in named:
            raise SpecError(
                f"enrich: {task.task}: {task.out} would give no caption",
                fix="name the same file in the spec's `enrich`",
            )
    bare = spec.model_copy(update={"enrich": (), "version": None})
    library, places = locate_library(bare, out, where, observer)
    plan(bare, library, places, where, observer)
    for task in tasks:
        summary = generate(_settings(task, places.manifests), observer)
        if summary.stopped is not None and summary.stopped.kind is StopKind.INTERRUPTED:
            signal.raise_signal(signal.SIGINT)  # it was meant for the night, not for the task alone
        if summary.stopped is not None and summary.stopped.kind is not StopKind.BUDGET:
            raise SegueError(
                f"enrich: {task.task}: {summary.stopped.message}", fix=summary.stopped.fix
            )
    return [task.out for task in tasks]


def _settings(task: EnrichSettings, corpus: Path) -> GenerateSettings:
    return GenerateSettings(
        task=task.task,
        source=Input(
            corpus,
            split=task.split,
            limit=task.limit,
            positives=task.positives,
            variants=task.variants,
        ),
        out=task.out,
        endpoint=EndpointSettings(task.base_url, task.model, task.key_variable, task.timeout_s),
        store=task.store or task.out.with_name(STORE),
        budget=task.budget,
        prices=task.prices,
        local=task.local,
        concurrency=task.concurrency,
        verify_model=task.verify_model,
    )
