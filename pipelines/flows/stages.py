"""The stages as tasks: threads that hand plain functions to workers.

A task that failed by a fault of the file system is tried again; it makes only what is missing. The
schedule of a build tries its shards again by itself, so a render task is run once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, ParamSpec, TypeVar

from prefect import Task, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, TaskRun

from pipelines.build.build import Summary, conclude, render_pending
from pipelines.build.promotion import promote
from pipelines.build.schedule import Pending, RenderSettings, may_pass
from pipelines.flows.artifacts import RenderProgress
from pipelines.flows.nights.night import Gate, compare_metrics, judge
from pipelines.flows.nights.texts import buy
from pipelines.flows.nights.training import evaluate, run_folder, train
from pipelines.flows.work import Work

P = ParamSpec("P")
T = TypeVar("T")

DELAYS_S: Final = tuple(RenderSettings().delays_s)


def stage(
    name: str, run_name: str | None = None, delays_s: Sequence[float] = DELAYS_S
) -> Callable[[Callable[P, T]], Task[P, T]]:
    """A task of ours: tagged, tried again after faults that pass, its result kept nowhere.

    A run is called by what it works on, unless `run_name` says otherwise.
    """

    def make(function: Callable[P, T]) -> Task[P, T]:
        return task(
            name=name,
            task_run_name=run_name or f"{name} {{work}}",
            tags=["segue", name],
            retries=len(delays_s),
            retry_delay_seconds=list(delays_s),
            retry_condition_fn=_may_pass,
            cache_policy=NO_CACHE,
            persist_result=False,
        )(function)

    return make


def _may_pass(_task: Task[..., Any], _run: TaskRun, state: State[Any]) -> bool:
    """Whether the fault may pass; bad input does not."""
    return may_pass(state.result(raise_on_failure=False))


@stage("ingest")
def ingest_library(work: Work) -> str:
    """Catalogue the library. Returns the bank's index."""
    return str(work.locate()[0].index)


@stage("plan")
def plan_samples(work: Work) -> str:
    """Plan every sample. Returns the manifests."""
    return str(work.prepare().places.manifests)


@stage("enrich")
def enrich_plan(work: Work) -> list[str]:
    """Have a language model answer. Returns the files of answers."""
    found = buy(work.spec, work.settings.enrich, work.out, work.engine, work.observer)
    return [str(path) for path in found]


@stage("render", "render {number}: {shards}", delays_s=())
def render_portion(render: Callable[[], float], number: int, shards: str) -> float:
    """Render a portion of the pending shards. Returns the seconds it took."""
    return render()


def render_shards(work: Work) -> None:
    """Render what is missing: a portion is a task run, whose state the pages show."""
    build = work.prepare()
    progress = RenderProgress(work.spec.corpus, len(build.pending))

    def submit(render: Callable[[], float], number: int, portion: range) -> Pending:
        several = f"shards {portion[0]} to {portion[-1]}"
        named = several if len(portion) > 1 else f"shard {portion[0]}"
        return render_portion.submit(render, number, named)

    render_pending(build, work.engine, work.settings.render, work.observer, submit, progress.show)


@stage("finalise")
def finalise_corpus(work: Work, promote: bool) -> Summary:
    """Write the corpus's manifest, card and name."""
    return conclude(work.prepare(), work.started, promote)


@stage("audit")
def judge_version(work: Work) -> list[Gate]:
    """Put the version to the gates that need no model."""
    return judge(work.prepare().places, work.settings.gates, work.observer)


@stage("train")
def train_model(work: Work) -> str:
    """Train on the version. Returns the run's folder."""
    places, settings = work.prepare().places, work.settings.train
    assert settings is not None
    run = run_folder(places, settings)
    train(places, settings, run)
    return str(run)


@stage("evaluate")
def evaluate_model(work: Work) -> dict[str, dict[str, Any]]:
    """Test the version's model."""
    places, settings = work.prepare().places, work.settings.train
    assert settings is not None
    return evaluate(places, settings, run_folder(places, settings))


@stage("compare")
def compare_model(work: Work, metrics: dict[str, dict[str, Any]]) -> list[Gate]:
    """Compare the model with the last version's."""
    return compare_metrics(work.prepare().places, work.settings.gates, metrics)


@stage("promote")
def promote_version(work: Work) -> str:
    """Point `latest` to the version."""
    places = work.prepare().places
    promote(places)
    return places.version
