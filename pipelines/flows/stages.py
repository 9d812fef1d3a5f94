"""The stages as tasks: threads that hand plain functions to workers.

A task that failed by a fault of the file system is tried again; it makes only what is missing.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from functools import partial
from queue import SimpleQueue
from typing import Any, Final, ParamSpec, TypeVar

from prefect import Task, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, TaskRun
from prefect.futures import PrefectFuture

from pipelines.build.build import Summary, conclude, render_batch
from pipelines.build.finalise import publish
from pipelines.build.plan import ShardPlan
from pipelines.build.portions import Portions
from pipelines.build.render import is_done
from pipelines.engines.executor import Runner, ending
from pipelines.flows.artifacts import RenderProgress
from pipelines.flows.nights.night import Gate, compare_metrics, judge
from pipelines.flows.nights.texts import buy
from pipelines.flows.nights.training import evaluate, run_folder, train
from pipelines.flows.work import Work
from synth.base.errors import CorpusError

P = ParamSpec("P")
T = TypeVar("T")

RETRIES: Final = 2
RETRY_DELAYS_S: Final = [2.0, 20.0]
RENDER_TIMEOUT_S: Final = 3600.0


def stage(name: str, run_name: str | None = None) -> Callable[[Callable[P, T]], Task[P, T]]:
    """A task of ours: tagged, tried again after faults that pass, its result kept nowhere."""

    def made(function: Callable[P, T]) -> Task[P, T]:
        return task(
            name=name,
            task_run_name=run_name,
            tags=["segue", name],
            retries=RETRIES,
            retry_delay_seconds=RETRY_DELAYS_S,
            retry_condition_fn=_passes,
            cache_policy=NO_CACHE,
            persist_result=False,
        )(function)

    return made


def _passes(_task: Task[..., Any], _run: TaskRun, state: State[Any]) -> bool:
    """Whether the fault may pass; bad input does not."""
    error = state.result(raise_on_failure=False)
    return isinstance(error, OSError)


@stage("ingest")
def ingest_library(work: Work) -> str:
    """Catalogue the library. Returns the bank's index."""
    return str(work.located()[0].index)


@stage("plan")
def plan_samples(work: Work) -> str:
    """Plan every sample. Returns the manifests."""
    return str(work.prepared().places.manifests)


@stage("enrich")
def enrich_plan(work: Work) -> list[str]:
    """Have a language model answer. Returns the files of answers."""
    found = buy(work.spec, work.settings.enrich, work.out, work.run, work.width, work.observer)
    return [str(path) for path in found]


# Only numbers are parameters: Prefect walks through everything it is given.
@stage("render", "render {number}: shards {begin} to {end}")
def render_portion(work: Work, number: int, begin: int, end: int) -> float:
    """Render a portion of the pending shards. Returns the seconds it took."""
    prepared = work.prepared()
    started = time.monotonic()
    left = [
        shard for shard in prepared.pending[begin : end + 1] if not is_done(prepared.places, shard)
    ]
    render_batch(prepared, left, partial(_timely, work.run), work.observer)
    return time.monotonic() - started


def _timely(run: Runner, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    """What a worker returns in time; one that does not is given up, and ends."""
    what = next((arg.shard for arg in args if isinstance(arg, ShardPlan)), function.__name__)
    call = partial(run, ending, RENDER_TIMEOUT_S, os.getpid(), function, *args, **kwargs)
    return within(RENDER_TIMEOUT_S, what, call)


def render_pending(work: Work) -> None:
    """Render what is missing, as many portions at a time as there are workers."""
    prepared = work.prepared()
    total = len(prepared.pending)
    work.observer.start("render", len(prepared.shards), "shards", done=prepared.there)
    progress = RenderProgress(work.spec.corpus, total)
    portions = Portions(total, work.width)
    finished: SimpleQueue[PrefectFuture[float]] = SimpleQueue()
    under_way: dict[PrefectFuture[float], range] = {}
    number = done = 0
    while True:
        while len(under_way) < work.width and (portion := portions.take()):
            future = render_portion.submit(work, number, portion[0], portion[-1])
            under_way[future] = portion
            future.add_done_callback(finished.put)
            number += 1
        if not under_way:
            break
        future = finished.get()
        portion = under_way.pop(future)
        try:
            seconds = future.result()
        except BaseException:
            work.engine.cancel()
            raise
        portions.took(len(portion), seconds)
        done += len(portion)
        progress.show(done)
    work.observer.finish("render")


@stage("finalise")
def finalise_corpus(work: Work, promote: bool) -> Summary:
    """Write the corpus's manifest, card and name."""
    return conclude(work.prepared(), work.started, promote)


@stage("audit")
def judge_version(work: Work) -> list[Gate]:
    """Put the version to the gates that need no model."""
    return judge(work.prepared().places, work.settings.gates, work.observer)


@stage("train")
def train_model(work: Work) -> str:
    """Train on the version. Returns the run's folder."""
    places, settings = work.prepared().places, work.settings.train
    assert settings is not None
    run = run_folder(places, settings)
    train(places, settings, run)
    return str(run)


@stage("evaluate")
def evaluate_model(work: Work) -> dict[str, dict[str, Any]]:
    """Test the version's model."""
    places, settings = work.prepared().places, work.settings.train
    assert settings is not None
    return evaluate(places, settings, run_folder(places, settings))


@stage("compare")
def compare_model(work: Work, metrics: dict[str, dict[str, Any]]) -> list[Gate]:
    """Compare the model with the last version's."""
    return compare_metrics(work.prepared().places, work.settings.gates, metrics)


@stage("promote")
def promote_version(work: Work) -> str:
    """Point `latest` to the version."""
    places = work.prepared().places
    publish(places)
    return places.version


def within(seconds: float, what: str, function: Callable[[], T]) -> T:
    """A function's result, or an error when it takes too long.

    Prefect's own timeout cannot end a thread that waits for a worker. Ours ends the workers that
    are here, so that nothing waits for them on the way out; those of a cluster end by themselves.

    Raises:
        SegueError: If it takes more than so many seconds.
    """
    outcome: Future[T] = Future()

    def work() -> None:
        try:
            outcome.set_result(function())
        except BaseException as error:
            outcome.set_exception(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    if thread.is_alive():
        for child in multiprocessing.active_children():
            child.terminate()
        raise CorpusError(
            f"{what}: not rendered within {seconds:g} s",
            mend="see whether the file system hangs, then run the same again; "
            "finished shards are kept",
        )
    return outcome.result()
