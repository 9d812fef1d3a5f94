"""The flows: one for every stage, one that builds a corpus, one for the night.

They wrap plain functions: each stage is a task, and what a run shows on Prefect's pages is made
here. All take the same parameters. A stage by itself first does what it needs; what is there is not
made again.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Final, TypeAlias, TypeVar
from uuid import UUID

from prefect import Flow, Task, flow, get_run_logger, task
from prefect.artifacts import (
    create_link_artifact,
    create_markdown_artifact,
    create_progress_artifact,
    create_table_artifact,
    update_progress_artifact,
)
from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State
from prefect.events import emit_event
from prefect.runtime import flow_run
from prefect.states import Completed
from pydantic import AfterValidator

from pipelines.builder.build import (
    Prepared,
    Step,
    Summary,
    conclude,
    locate_library,
    prepare,
    refuse_unheard,
    render_shards,
)
from pipelines.builder.finalise import CARD_FILE
from pipelines.builder.render import is_done, read_receipt
from pipelines.builder.schedule import schedule
from pipelines.config.file import read_spec
from pipelines.config.spec import Spec
from pipelines.engines.engine import Engine, check_engine, engine, settle
from pipelines.engines.executor import watch_parent
from pipelines.flows.holder import sole_run
from pipelines.flows.night import Gate, buy, failed_gates, night, refuse_failed
from pipelines.flows.schedule import NightlySettings, read_nightly
from pipelines.store.places import Places
from pipelines.store.stage import open_store
from synth.base.choice import check_values
from synth.base.errors import SegueError
from synth.base.progress import UNOBSERVED, Observer

SERVED_BY: Final = "SEGUE_SERVED_BY"
PROMOTED: Final = "segue.promoted"
REFUSED: Final = "segue.refused"
LEAST_PORTIONS: Final = 100
MOST_PORTIONS: Final = 500
MOST_ROWS: Final = 500

T = TypeVar("T")
Content: TypeAlias = str | dict[str, Any]
Result: TypeAlias = dict[str, Any]
CorpusFlow: TypeAlias = Flow[..., State[Result]]
Log: TypeAlias = "logging.Logger | logging.LoggerAdapter[logging.Logger]"


def _read_spec(content: Content) -> Spec:
    return read_spec(Path(content)) if isinstance(content, str) else check_values(Spec, content)


def _read_nightly(content: Content | None) -> NightlySettings:
    if isinstance(content, dict):
        return check_values(NightlySettings, content)
    return read_nightly(Path(content) if content else None)


def _check(read: Callable[[Any], object]) -> AfterValidator:
    """Refuse what cannot be read, in the words of the command line."""

    def check(content: T) -> T:
        try:
            read(content)
        except SegueError as error:
            raise ValueError("; ".join(filter(None, (error.message, error.fix)))) from error
        return content

    return AfterValidator(check)


SpecContent: TypeAlias = Annotated[Content, _check(_read_spec)]
Workers: TypeAlias = Annotated[int | str, _check(check_engine)]
NightlyContent: TypeAlias = Annotated[Content | None, _check(_read_nightly)]


@dataclass(frozen=True, slots=True)
class StageJob:
    """What a stage is given."""

    spec: Spec
    out: Path
    settings: NightlySettings
    where: Engine
    observer: Observer
    step: Step


def _ingest(job: StageJob) -> Result:
    locate = partial(locate_library, job.spec, job.out, job.where, job.observer)
    return {"index": str(job.step("ingest", locate)[0].index)}


def _prepare(job: StageJob) -> Prepared:
    """Ingest and plan; then the flow run is named after the version."""
    prepared = prepare(job.spec, job.out, job.where, job.observer, job.step)
    with get_client(sync_client=True) as client:
        name = f"{job.spec.corpus} {prepared.places.version}"
        client.update_flow_run(UUID(flow_run.id), name=name)
    return prepared


def _plan(job: StageJob) -> Result:
    return _list_files(_prepare(job))


def _list_files(prepared: Prepared) -> Result:
    return {"index": str(prepared.library.index), "manifests": str(prepared.places.manifests)}


def _enrich(job: StageJob) -> Result:
    answers: list[Path] = []
    if tasks := job.settings.enrich:
        answers = job.step(
            "enrich", partial(buy, job.spec, tasks, job.out, job.where, job.observer)
        )
    return {"answers": [str(path) for path in answers]}


def _render(job: StageJob) -> Result:
    prepared = _prepare(job)
    _render_portions(job, prepared)
    return _list_files(prepared) | {"rendered": len(prepared.pending)}


def _finalise(job: StageJob) -> Result:
    return job.step("finalise", partial(conclude, _prepare(job), promote=False)).to_json()


def _build(job: StageJob) -> Summary:
    prepared = _prepare(job)
    _render_portions(job, prepared)
    summary = job.step("finalise", partial(conclude, prepared))
    _show_link(job.spec.corpus, "card", prepared.places.shards / CARD_FILE)
    return summary


def _night(job: StageJob) -> Result:
    """Rebuild what changed, judge it, train on it where that is asked for, and promote it."""
    corpus, log = job.spec.corpus, get_run_logger()
    _enrich(job)
    prepared = _prepare(job)
    places = prepared.places
    _render_portions(job, prepared)
    summary = job.step("finalise", partial(conclude, prepared, promote=False))

    def report(gates: Sequence[Gate], path: Path) -> None:
        for gate in gates:
            level, verdict = (
                (logging.INFO, "passed") if gate.passed else (logging.ERROR, "NOT passed")
            )
            log.log(level, "gate %s %s: %s, wanted %s", gate.name, verdict, gate.found, gate.wanted)
        create_markdown_artifact(path.read_text(encoding="utf-8"), key=f"{corpus}-report")
        _show_link(corpus, "report-file", path)
        _show_link(corpus, "card", places.shards / CARD_FILE)

    gates, facts = night(summary, places, job.settings, job.observer, job.step, report)
    _emit(places, failed_gates(gates))
    refuse_failed(places, gates)
    return facts


BODIES: Final[dict[str, Callable[[StageJob], Result | Summary]]] = {
    "ingest": _ingest,
    "plan": _plan,
    "enrich": _enrich,
    "render": _render,
    "finalise": _finalise,
    "build-corpus": _build,
    "nightly": _night,
}


def flow_of(
    name: str, observer: Observer = UNOBSERVED, keep: Callable[[Any], None] = lambda result: None
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
        spec: SpecContent, out: str, workers: Workers = 1, nightly: NightlyContent = None
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
        with (
            store.hold_for_writing(parsed.corpus),
            sole_run(store.root, parsed.corpus),
            engine(workers) as where,
        ):
            observed = LoggedPhases(observer, get_run_logger())
            tasks = _make_step(parsed.corpus)
            settings = _read_nightly(nightly)
            result = body(StageJob(parsed, store.root, settings, where, observed, tasks))
        keep(result)
        facts = result.to_json() if isinstance(result, Summary) else result
        return Completed(message=_summarise(facts), data=facts)

    return run_stage


def _name_corpus(spec: Content) -> str:
    return Path(spec).stem if isinstance(spec, str) else str(spec.get("corpus"))


def _make_step(corpus: str) -> Step:
    """Steps that are tasks."""

    def step(name: str, work: Callable[[], T], /) -> T:
        results: list[T] = []  # Prefect would walk through what a task returns
        _make_task(name, f"{name} {corpus}", lambda: results.append(work()))()
        return results[0]

    return step


def _make_task(name: str, run_name: str, work: Callable[[], T]) -> Task[[], T]:
    return task(
        name=name,
        task_run_name=run_name,
        tags=["segue", name],
        cache_policy=NO_CACHE,
        persist_result=False,
    )(work)


def _render_portions(job: StageJob, prepared: Prepared) -> None:
    """Render what is missing: a portion is a task run, whose state the pages show."""
    pending, corpus = prepared.pending, job.spec.corpus
    bar = create_progress_artifact(
        0.0 if pending else 100.0,
        key=f"{corpus}-progress",
        description=f"{len(pending)} shards to render",
    )
    done = 0
    # A task run costs some 60 ms of a processor. Workers should not wait for a last portion.
    most = min(MOST_PORTIONS, max(LEAST_PORTIONS, 4 * job.where.width))
    size = -(-len(pending) // most) or 1
    numbers = range(len(pending))

    def begin(portion: range) -> Future[None]:
        several = f"shards {portion[0]} to {portion[-1]}"
        name = several if len(portion) > 1 else f"shard {portion[0]}"
        shards = pending[portion.start : portion.stop]
        work = partial(
            render_shards, prepared, shards, job.where, job.settings.render, job.observer, most=1
        )
        run = _make_task("render", f"render {portion[0] // size}: {name}", work).submit()
        answer: Future[None] = Future()
        run.add_done_callback(lambda ended: settle(answer, ended.result))
        return answer

    def finish(portion: range) -> None:
        nonlocal done
        done += len(portion)
        update_progress_artifact(bar, progress=100.0 * done / len(pending))  # type: ignore[arg-type]

    job.observer.start("render", len(prepared.shards), "shards", done=prepared.there)
    portions = [numbers[start : start + size] for start in numbers[::size]]
    schedule(portions, begin, job.where, finish)
    job.observer.finish("render")
    rows = _list_shards(prepared)
    count = f"the first {MOST_ROWS} of {len(rows)}" if len(rows) > MOST_ROWS else str(len(rows))
    create_table_artifact(
        rows[:MOST_ROWS],
        key=f"{corpus}-shards",
        description=f"{count} shards; all are in {prepared.places.manifests / 'shards.parquet'}",
    )


def _list_shards(prepared: Prepared) -> list[dict[str, Any]]:
    """The shards for people: what their receipts say."""
    pending = {shard.shard for shard in prepared.pending}
    rows = []
    for shard in prepared.shards:
        receipt = read_receipt(prepared.places, shard.shard)
        state = "rendered" if shard.shard in pending else "already there"
        rows.append(
            {
                "shard": shard.shard,
                "split": shard.split,
                "samples": shard.samples,
                "bytes": receipt and receipt.bytes,
                "sha256": receipt.sha256[:12] if receipt else "",
                "state": state if is_done(prepared.places, shard) else "missing",
            }
        )
    return rows


# What a run tells on Prefect's pages and to its automations: links, log lines, events.


def _show_link(corpus: str, name: str, path: Path) -> None:
    create_link_artifact(path.resolve().as_uri(), key=f"{corpus}-{name}", link_text=str(path))


class LoggedPhases:
    """An observer that logs where phases begin and end, and tells another of everything."""

    def __init__(self, observer: Observer, log: Log) -> None:
        self._observer = observer
        self._log = log

    def start(self, phase: str, total: int, unit: str, done: int | None = None) -> None:
        """Log that a phase begins."""
        note = f", {done:,} of them already done" if done else ""
        self._log.info("%s started: %s %s%s", phase, f"{total:,}", unit, note)
        self._observer.start(phase, total, unit, done)

    def advance(self, phase: str, units: int = 1, note: str = "") -> None:
        """Log nothing: the page has a bar."""
        self._observer.advance(phase, units, note)

    def finish(self, phase: str, note: str = "") -> None:
        """Log that a phase has ended."""
        self._log.info("%s ended%s", phase, f": {note}" if note else "")
        self._observer.finish(phase, note)


def _summarise(result: Mapping[str, Any]) -> str:
    """The last message of a run that succeeded."""
    if "version" not in result:
        return "; ".join(f"{name}: {value}" for name, value in result.items())
    promoted = "promoted, " if result.get("promoted") else ""
    refused = f", {result['quarantined']:,} clips quarantined" if result["quarantined"] else ""
    return (
        f"{result['corpus']} {result['version']}: {promoted}{result['samples']:,} samples in "
        f"{result['shards']:,} shards, {result['rendered']:,} of them rendered now{refused}"
    )


def _emit(places: Places, failed: Sequence[Gate]) -> None:
    """Tell Prefect's automations what became of a version."""
    emit_event(
        REFUSED if failed else PROMOTED,
        resource={
            "prefect.resource.id": f"segue.corpus.{places.corpus}",
            "prefect.resource.name": places.corpus,
            "segue.version": places.version,
        },
        payload={
            "corpus": places.corpus,
            "version": places.version,
            "manifests": str(places.manifests),
            "failed": [gate.name for gate in failed],
        },
    )
