"""The flows: one for every stage, one that builds a corpus, one for the night.

Every flow takes the same parameters: `spec`, a file or its content; `out`, the root of banks,
shards and manifests; `workers`, a number or an engine; `nightly`, a file of settings or its
content. A deployment holds them as JSON values. Within this process a content is the object itself,
of which Prefect makes JSON for its pages. A stage by itself does first what it needs: what is there
is not made again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, ParamSpec, TypeAlias, TypeVar

from prefect import Flow, Task, flow, get_run_logger, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, TaskRun
from prefect.runtime import flow_run
from prefect.states import Completed
from pydantic import ValidationError

from pipelines.build.build import (
    Prepared,
    Summary,
    conclude,
    locate_library,
    prepare_build,
    refuse_unheard,
    render_pending,
)
from pipelines.build.finalise import CARD_FILE, promote
from pipelines.build.render import is_done, read_receipt
from pipelines.build.schedule import Pending, RenderSettings, may_pass
from pipelines.engines.engine import Engine, engine
from pipelines.engines.executor import watch_parent
from pipelines.flows.artifacts import (
    PROMOTED,
    REFUSED,
    LoggedPhases,
    RenderProgress,
    emit,
    log_gates,
    show_link,
    show_report,
    show_shards,
    summarise,
)
from pipelines.flows.holder import sole_run
from pipelines.flows.nights.night import (
    Gate,
    buy,
    compare_metrics,
    evaluate,
    failed_gates,
    judge,
    refuse_failed,
    run_folder,
    train,
    write_record,
)
from pipelines.flows.nights.schedule import NightlySettings, read_nightly
from pipelines.ingest.ingest import IngestedLibrary
from pipelines.spec.file import read_spec
from pipelines.spec.spec import Spec
from pipelines.store.places import Places
from pipelines.store.stage import choose_stage, hold_for_writing
from synth.base.errors import SpecError
from synth.base.progress import Observer, Silent

# What the tasks of one flow run share. It stays in the flow's process: Prefect is given paths.


SERVED_BY: Final = "SEGUE_SERVED_BY"


class Work:
    """A corpus being built. No dataclass: Prefect would walk through it.

    Args:
        engine: Runs functions on workers.
    """

    def __init__(
        self,
        spec: Spec,
        out: Path,
        settings: NightlySettings,
        engine: Engine,
        observer: Observer,
    ) -> None:
        self.spec = spec
        self.out = out
        self.settings = settings
        self.engine = engine
        self.observer = observer
        self.started = time.monotonic()
        self._located: tuple[IngestedLibrary, Places] | None = None
        self._prepared: Prepared | None = None

    def __str__(self) -> str:
        """The corpus's name, which Prefect puts into the names of tasks."""
        return self.spec.corpus

    def locate(self) -> tuple[IngestedLibrary, Places]:
        """The ingested library, and where what is made of it lies."""
        if self._located is None:
            self._located = locate_library(self.spec, self.out, self.engine, self.observer)
        return self._located

    def prepare(self) -> Prepared:
        """The plan, and what is still to be rendered."""
        if self._prepared is None:
            self._prepared = prepare_build(self.spec, *self.locate(), self.engine, self.observer)
        return self._prepared

    def shard_rows(self) -> list[dict[str, Any]]:
        """The shards for people: what their receipts say."""
        prepared = self.prepare()
        fresh = {shard.shard for shard in prepared.pending}
        rows = []
        for shard in prepared.shards:
            receipt = read_receipt(prepared.places, shard.shard)
            certified = receipt is not None and is_done(prepared.places, shard)
            facts = asdict(receipt) if receipt is not None else {}
            rows.append(
                {
                    "shard": shard.shard,
                    "split": shard.split,
                    "samples": shard.samples,
                    "bytes": facts.get("bytes"),
                    "sha256": facts.get("sha256", "")[:12],
                    "state": ("rendered" if shard.shard in fresh else "already there")
                    if certified
                    else "missing",
                }
            )
        return rows


@contextmanager
def open_work(
    spec: str | dict[str, Any] | Spec,
    out: str,
    workers: str | int,
    nightly: str | dict[str, Any] | NightlySettings | None,
    observer: Observer,
) -> Iterator[Work]:
    """Hold a corpus for one flow run, with workers; runs that died over it are marked Crashed."""
    _end_with_server()
    parsed = spec if isinstance(spec, Spec) else _read(spec)
    settings = (
        read_nightly(Path(nightly) if nightly else None)
        if isinstance(nightly, str | None)
        else NightlySettings.model_validate(nightly)
    )
    refuse_unheard(parsed)
    root = choose_stage(out)
    with (
        hold_for_writing(root, parsed.corpus),
        sole_run(root, parsed.corpus),
        engine(workers) as where,
    ):
        yield Work(parsed, root, settings, where, observer)


def _read(spec: str | dict[str, Any]) -> Spec:
    if isinstance(spec, str):
        return read_spec(Path(spec))
    try:
        return Spec.model_validate(spec)
    except ValidationError as error:
        faults = (f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        raise SpecError("; ".join(faults), fix="fix the flow's parameter `spec`") from error


def _end_with_server() -> None:
    """A run that `segue night schedule` started does not outlive it."""
    if parent := os.environ.get(SERVED_BY):
        watch_parent(int(parent))


Result: TypeAlias = dict[str, Any]
StageFlow: TypeAlias = Flow[..., State[Result]]


def _ingest(work: Work) -> Result:
    return {"index": ingest_library(work)}


def _plan(work: Work) -> Result:
    return _ingest(work) | {"manifests": plan_samples(work)}


def _enrich(work: Work) -> Result:
    return {"answers": enrich_plan(work) if work.settings.enrich else []}


def _render(work: Work) -> Result:
    result = _plan(work)
    render_shards(work)
    show_shards(work.spec.corpus, work.shard_rows(), Path(result["manifests"]))
    return result | {"rendered": len(work.prepare().pending)}


def _finalise(work: Work) -> Result:
    _plan(work)
    return finalise_corpus(work, False).to_json()


def _build(work: Work, promote: bool = True) -> Result:
    _render(work)
    summary = finalise_corpus(work, promote).to_json()
    show_link(work.spec.corpus, "card", Path(summary["paths"]["shards"]) / CARD_FILE)
    return summary


def _night(work: Work) -> Result:
    """Rebuild what changed, judge it, train on it where that is asked for, and promote it."""
    if work.settings.enrich:
        enrich_plan(work)
    summary = _build(work, promote=False)
    places = work.prepare().places
    gates = judge_version(work)
    metrics: dict[str, dict[str, Any]] = {}
    run = None
    if work.settings.train is not None and not failed_gates(gates):
        run = train_model(work)
        metrics = evaluate_model(work)
        gates = gates + compare_model(work, metrics)
    log_gates(gates, get_run_logger())
    report = write_record(places, gates, metrics)
    show_report(work.spec.corpus, report)
    if failed_gates(gates):
        emit(REFUSED, places, gates)
    refuse_failed(places, gates)
    promote_version(work)
    emit(PROMOTED, places, gates)
    return summary | {
        "promoted": True,
        "gates": [asdict(gate) for gate in gates],
        "metrics": metrics,
        "model": run,
        "report": str(report),
    }


BODIES: Final[dict[str, Callable[[Work], Result]]] = {
    "ingest": _ingest,
    "plan": _plan,
    "enrich": _enrich,
    "render": _render,
    "finalise": _finalise,
    "build-corpus": _build,
    "nightly": _night,
}


def flow_of(
    name: str,
    observer: Observer | None = None,
    keep: Callable[[Result], None] = lambda result: None,
) -> StageFlow:
    """The flow of a name in `BODIES`.

    Args:
        keep: Given the result. The state has it as well, but not where an answer of the server is
            lost: the server's own copy of a state has none.
    """
    body = BODIES[name]

    @flow(
        name=name,
        flow_run_name=_run_name,
        description=(body.__doc__ or f"Stage {name} of a corpus.").strip(),
        validate_parameters=False,
        persist_result=False,
    )
    def stage_flow(
        spec: str | dict[str, Any] | Spec,
        out: str,
        workers: str | int = 1,
        nightly: str | dict[str, Any] | NightlySettings | None = None,
    ) -> State[Result]:
        told = LoggedPhases(observer or Silent(), get_run_logger())
        with open_work(spec, out, workers, nightly, told) as work:
            result = body(work)
        keep(result)
        return Completed(message=summarise(result), data=result)

    return stage_flow


def _run_name() -> str:
    spec = flow_run.parameters.get("spec")
    if isinstance(spec, Spec):
        return spec.corpus
    return str(spec.get("corpus")) if isinstance(spec, dict) else Path(str(spec)).stem


ingest = flow_of("ingest")
plan = flow_of("plan")
enrich = flow_of("enrich")
render = flow_of("render")
finalise = flow_of("finalise")
build_corpus = flow_of("build-corpus")
nightly = flow_of("nightly")


# The stages as tasks: threads that hand plain functions to workers.


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
