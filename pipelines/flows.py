"""Prefect flows: the build functions as tasks. The only importer of Prefect.

Prefect orchestrates and shows; it neither computes nor decides what is done. Tasks are threads that
hand plain functions to worker processes, a task a batch of shards; receipts alone say which shards
are finished, and a flow that is run again makes only what is missing.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Final

from prefect import Flow, flow, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State
from prefect.settings import PREFECT_API_URL, get_current_settings, temporary_settings
from prefect.task_runners import TaskRunner, ThreadPoolTaskRunner

from pipelines.build import (
    Prepared,
    Summary,
    conclude,
    into_batches,
    prepare,
    refuse_unheard,
    render_batch,
)
from pipelines.executor import workers
from pipelines.locks import sole_writer
from pipelines.observe import Observer, Silent
from pipelines.places import versions_of
from pipelines.server import own_server
from pipelines.spec import Spec

HOME: Final = ".prefect"


def build_with_prefect(
    spec: Spec, out: Path, worker_count: int, observer: Observer | None = None
) -> Summary:
    """Build a corpus as a Prefect flow run: on the configured server, or on one of its own.

    Raises:
        SegueError: As `build.build` does.
    """
    run = corpus_flow(observer or Silent(), worker_count)
    arguments = {"spec": spec.model_dump(mode="json", exclude_none=True), "out": str(out)}
    if get_current_settings().api.url:
        return _result(run(**arguments, return_state=True))
    with (
        own_server((out / HOME).resolve()) as address,
        temporary_settings({PREFECT_API_URL: address}),
    ):
        return _result(run(**arguments, return_state=True))


def corpus_flow(observer: Observer, worker_count: int) -> Flow[[dict[str, Any], str], Summary]:
    """The flow that builds one corpus; its parameters are JSON values.

    Args:
        observer: Told of the progress.
        worker_count: Worker processes; 0 renders in the flow's own process.
    """
    threads: TaskRunner[Any] = ThreadPoolTaskRunner(max_workers=max(1, worker_count))

    @flow(
        name="build-corpus",
        flow_run_name="{spec[corpus]}",
        task_runner=threads,
        validate_parameters=False,
        persist_result=False,
    )
    def build_corpus(spec: dict[str, Any], out: str) -> Summary:
        started = time.monotonic()
        parsed = Spec.model_validate(spec)
        refuse_unheard(parsed)
        with sole_writer(versions_of(Path(out), parsed.corpus)), workers(worker_count) as run:

            @task(name="prepare", cache_policy=NO_CACHE, persist_result=False)
            def prepare_corpus() -> Prepared:
                return prepare(parsed, Path(out), run, worker_count, observer)

            prepared = prepare_corpus()
            batches = into_batches(prepared.pending, worker_count)

            # Only a number is a parameter: Prefect walks through everything it is given.
            @task(
                name="render",
                task_run_name="render {number}",
                cache_policy=NO_CACHE,
                persist_result=False,
            )
            def render(number: int) -> None:
                render_batch(prepared, batches[number], run, observer)

            observer.start("render", len(prepared.pending), "shards")
            for future in [render.submit(number) for number in range(len(batches))]:
                future.result()
            observer.finish("render", f"{len(prepared.pending)} shards")

            @task(name="finalise", cache_policy=NO_CACHE, persist_result=False)
            def finalise_corpus() -> Summary:
                return conclude(prepared, started)

            return finalise_corpus()

    return build_corpus


def _result(state: State[Summary]) -> Summary:
    """The flow's result; what it raised is raised here."""
    summary: Summary = state.result(raise_on_failure=True)
    return summary
