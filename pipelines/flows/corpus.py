"""The flows: one for every stage, one that builds a corpus, one for the night.

They wrap plain functions: each stage is a task, and what a run shows on Prefect's pages is made
here. All take the same parameters. A stage by itself first does what it needs; what is there is not
made again.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias, TypeVar
from uuid import UUID

from prefect import Flow, Task, flow, get_run_logger, task
from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State, TaskRun
from prefect.runtime import flow_run
from prefect.states import Completed
from pydantic import AfterValidator

from pipelines.builder.build import Prepared, refuse_unheard
from pipelines.builder.finalise import CARD_FILE
from pipelines.builder.render import is_done, read_receipt
from pipelines.builder.schedule import Pending, RenderSettings, may_pass
from pipelines.config.file import check_values, read_spec
from pipelines.config.spec import Spec
from pipelines.engines.engine import check_engine, engine
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
from pipelines.flows.night import CorpusBuild, Gate, failed_gates, night, refuse_failed
from pipelines.flows.schedule import NightlySettings, read_nightly
from pipelines.store.stage import open_store
from synth.base.errors import SegueError
from synth.base.progress import Observer, Silent

SERVED_BY: Final = "SEGUE_SERVED_BY"
DELAYS_S: Final = tuple(RenderSettings().delays_s)

T = TypeVar("T")
Content: TypeAlias = str | dict[str, Any]
Result: TypeAlias = dict[str, Any]
CorpusFlow: TypeAlias = Flow[..., State[Result]]


def _read_spec(given: Content) -> Spec:
    return read_spec(Path(given)) if isinstance(given, str) else check_values(Spec, given)


def _read_nightly(given: Content | None) -> NightlySettings:
    if isinstance(given, dict):
        return check_values(NightlySettings, given)
    return read_nightly(Path(given) if given else None)


def _check(read: Callable[[Any], object]) -> AfterValidator:
    """Refuse what cannot be read, in the words of the command line."""

    def check(given: T) -> T:
        try:
            read(given)
        except SegueError as error:
            raise ValueError("; ".join(filter(None, (error.message, error.fix)))) from error
        return given

    return AfterValidator(check)


SpecContent: TypeAlias = Annotated[Content, _check(_read_spec)]
Workers: TypeAlias = Annotated[int | str, _check(check_engine)]
NightlyContent: TypeAlias = Annotated[Content | None, _check(_read_nightly)]


def _ingest(build: CorpusBuild) -> Result:
    return {"index": str(build.located[0].index)}


def _plan(build: CorpusBuild) -> Result:
    return _ingest(build) | {"manifests": str(build.places.manifests)}


def _enrich(build: CorpusBuild) -> Result:
    return {"answers": [str(path) for path in build.enrich()]}


def _render(build: CorpusBuild) -> Result:
    result = _plan(build)
    _render_portions(build)
    return result | {"rendered": len(build.prepared.pending)}


def _finalise(build: CorpusBuild) -> Result:
    return build.finalise(promote=False).to_json()


def _build(build: CorpusBuild) -> Result:
    _render_portions(build)
    summary = build.finalise(promote=True).to_json()
    show_link(build.spec.corpus, "card", Path(summary["paths"]["shards"]) / CARD_FILE)
    return summary


def _night(build: CorpusBuild) -> Result:
    """Rebuild what changed, judge it, train on it where that is asked for, and promote it."""
    corpus, log = build.spec.corpus, get_run_logger()

    def report(gates: Sequence[Gate], path: Path) -> None:
        log_gates(gates, log)
        show_report(corpus, path)
        show_link(corpus, "card", build.places.shards / CARD_FILE)

    result = night(build, _render_portions, report)
    emit(REFUSED if failed_gates(result.gates) else PROMOTED, build.places, result.gates)
    refuse_failed(build.places, result.gates)
    return result.to_json()


BODIES: Final[dict[str, Callable[[CorpusBuild], Result]]] = {
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
) -> CorpusFlow:
    """The flow of a name in `BODIES`.

    Args:
        keep: Given the result. The state has it as well, but not where an answer of the server is
            lost: the server's own copy of a state has none.
    """
    body = BODIES[name]

    @flow(
        name=name,
        flow_run_name=lambda: _name_corpus(flow_run.parameters["spec"]),
        description=(body.__doc__ or f"Stage {name} of a corpus.").strip(),
        persist_result=False,
    )
    def run_stage(
        spec: SpecContent,
        out: str,
        workers: Workers = 1,
        nightly: NightlyContent = None,
    ) -> State[Result]:
        """Run a stage.

        Args:
            spec: The corpus's spec: a YAML file, or what such a file holds.
            out: Where banks, shards and manifests lie: a folder, or a URL such as s3://bucket/data.
            workers: Worker processes, 0 for none; or an engine: local:4, dask://HOST:8786.
            nightly: Gates, rendering, language-model tasks and training: a YAML file, or what such
                a file holds. Without it the defaults of docs/nightly.md.
        """
        if parent := os.environ.get(SERVED_BY):
            watch_parent(int(parent))  # a run of `segue night schedule` does not outlive it
        parsed, store = _read_spec(spec), open_store(out)
        refuse_unheard(parsed)
        with ExitStack() as held:
            held.enter_context(store.hold_for_writing(parsed.corpus))
            held.enter_context(sole_run(store.root, parsed.corpus))
            result = body(
                CorpusBuild(
                    parsed,
                    store.root,
                    _read_nightly(nightly),
                    held.enter_context(engine(workers)),
                    LoggedPhases(observer or Silent(), get_run_logger()),
                    _Tasks(parsed.corpus),
                )
            )
        keep(result)
        return Completed(message=summarise(result), data=result)

    return run_stage


def _name_corpus(spec: Content) -> str:
    return Path(spec).stem if isinstance(spec, str) else str(spec.get("corpus"))


ingest = flow_of("ingest")
plan = flow_of("plan")
enrich = flow_of("enrich")
render = flow_of("render")
finalise = flow_of("finalise")
build_corpus = flow_of("build-corpus")
nightly = flow_of("nightly")


class _Tasks:
    """Runs each step as a task, and names the flow run after the version when it is known.

    A step is tried again after faults that pass; it makes only what is missing.
    """

    def __init__(self, corpus: str) -> None:
        self._corpus = corpus

    def __call__(self, name: str, work: Callable[[], T], /) -> T:
        results: list[T] = []  # Prefect would walk through what a task returns
        _make_task(name, f"{name} {self._corpus}", lambda: results.append(work()))()
        if isinstance(prepared := results[0], Prepared):
            with get_client(sync_client=True) as client:
                run_name = f"{self._corpus} {prepared.places.version}"
                client.update_flow_run(UUID(flow_run.id), name=run_name)
        return results[0]


def _make_task(
    name: str, run_name: str, work: Callable[[], T], delays_s: Sequence[float] = DELAYS_S
) -> Task[[], T]:
    return task(
        name=name,
        task_run_name=run_name,
        tags=["segue", name],
        retries=len(delays_s),
        retry_delay_seconds=list(delays_s),
        retry_condition_fn=_may_pass,
        cache_policy=NO_CACHE,
        persist_result=False,
    )(work)


def _may_pass(_task: Task[..., Any], _run: TaskRun, state: State[Any]) -> bool:
    """Whether the fault may pass; bad input does not."""
    return may_pass(state.result(raise_on_failure=False))


def _render_portions(build: CorpusBuild) -> None:
    """Render what is missing: a portion is a task run, whose state the pages show."""
    pending = build.prepared.pending
    progress = RenderProgress(build.spec.corpus, len(pending))

    def submit(render: Callable[[], float], number: int, portion: range) -> Pending:
        several = f"shards {portion[0]} to {portion[-1]}"
        shards = several if len(portion) > 1 else f"shard {portion[0]}"
        return _make_task("render", f"render {number}: {shards}", render, ()).submit()

    build.render(submit, progress.show)
    show_shards(build.spec.corpus, _list_shards(build.prepared), build.places.manifests)


def _list_shards(prepared: Prepared) -> list[dict[str, Any]]:
    """The shards for people: what their receipts say."""
    pending = {shard.shard for shard in prepared.pending}
    rows = []
    for shard in prepared.shards:
        receipt = read_receipt(prepared.places, shard.shard)
        certified = receipt is not None and is_done(prepared.places, shard)
        facts = asdict(receipt) if receipt is not None else {}
        state = "rendered" if shard.shard in pending else "already there"
        rows.append(
            {
                "shard": shard.shard,
                "split": shard.split,
                "samples": shard.samples,
                "bytes": facts.get("bytes"),
                "sha256": facts.get("sha256", "")[:12],
                "state": state if certified else "missing",
            }
        )
    return rows
