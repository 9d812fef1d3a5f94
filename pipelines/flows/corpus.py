"""The flows: one for every stage, one that builds a corpus, one for the night.

Every flow takes the same parameters: `spec`, a file or its content; `out`, the root of banks,
shards and manifests; `workers`, a number or an engine; `nightly`, a file of settings or its
content. A deployment holds them as JSON values. Within this process a content is the object itself,
of which Prefect makes JSON for its pages. A stage by itself does first what it needs: what is there
is not made again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final, TypeAlias

from prefect import Flow, State, flow, get_run_logger
from prefect.runtime import flow_run
from prefect.states import Completed

from pipelines.build.finalise import CARD_FILE
from pipelines.flows.artifacts import show_link, show_report, show_shards
from pipelines.flows.nights.night import failed_gates, refuse_failed, write_record
from pipelines.flows.nights.settings import NightlySettings
from pipelines.flows.stages import (
    compare_model,
    enrich_plan,
    evaluate_model,
    finalise_corpus,
    ingest_library,
    judge_version,
    plan_samples,
    promote_version,
    render_shards,
    train_model,
)
from pipelines.flows.telling import (
    PROMOTED,
    REFUSED,
    LoggedPhases,
    emit,
    log_gates,
    summarise,
)
from pipelines.flows.work import Work, open_work
from pipelines.spec.spec import Spec
from synth.base.progress import Observer, Silent

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
