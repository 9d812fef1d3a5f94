"""Serve a corpus's nights from this process: what `segue night schedule` does."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import httpx
from prefect.client.orchestration import get_client
from prefect.client.schemas.actions import WorkPoolCreate
from prefect.client.schemas.filters import DeploymentFilter, FlowRunFilter
from prefect.client.schemas.objects import ConcurrencyLimitConfig
from prefect.client.schemas.sorting import FlowRunSort
from prefect.deployments.runner import RunnerDeployment
from prefect.exceptions import ObjectNotFound
from prefect.runner import Runner
from prefect.schedules import Cron, Interval
from prefect.settings import PREFECT_API_URL, get_current_settings, temporary_settings
from prefect.workers.process import ProcessWorker
from pydantic import ValidationError

from pipelines.engines.engine import settle
from pipelines.engines.executor import hold_interrupts
from pipelines.flows.corpus import SERVED_BY
from pipelines.flows.holder import HOME, bury_all_runs, bury_dead_run, find_api
from pipelines.flows.schedule import ENTRYPOINT, FLOW, LIMIT, Night
from pipelines.flows.servers import QUIET, scheduling_server
from synth.base.errors import SegueError, SpecError

LOOK_S: Final = 2.0
STOP_S: Final = 20.0
REPORTED: Final = 20
"""More runs than can begin between two looks."""


def serve(
    night: Night, now: bool, ready: Callable[[str], None], report: Callable[[NightRun], None]
) -> None:
    """Begin a corpus's nights when their time comes, until this process is interrupted.

    Args:
        ready: Called with the server's address when all is set.
        report: Called with each run when it begins and when it ends.
    """
    deployment = deployment_of(night)
    os.environ.update(dict(QUIET) | {SERVED_BY: str(os.getpid())})
    with _server(night) as address:
        run_aside(_serve(deployment, now, lambda: ready(address), report))


async def _serve(
    deployment: RunnerDeployment,
    now: bool,
    ready: Callable[[], None],
    report: Callable[[NightRun], None],
) -> None:
    runner = Runner(name=deployment.name, limit=1, query_seconds=LOOK_S)
    identity: Any = await runner.aadd_deployment(deployment)
    earlier = await asyncio.to_thread(last_runs, deployment.name, REPORTED)
    if now:
        async with get_client() as client:
            await client.create_flow_run_from_deployment(identity)
    ready()
    reporting = asyncio.create_task(_report_runs(deployment.name, earlier, report))
    try:
        await runner.start()
    finally:
        reporting.cancel()


async def _report_runs(
    corpus: str, earlier: Sequence[NightRun], report: Callable[[NightRun], None]
) -> None:
    """Report each run as it begins and as it ends, but for those of `earlier`."""
    seen = {(run.id, run.state) for run in earlier}
    while True:
        await asyncio.sleep(LOOK_S)
        with suppress(httpx.HTTPError):  # a busy server; the next look finds what this one missed
            runs = await asyncio.to_thread(last_runs, corpus, REPORTED)
            for run in reversed(runs):
                if (run.id, run.state) not in seen:
                    seen.add((run.id, run.state))
                    report(run)


def run_aside(work: Coroutine[Any, Any, None]) -> None:
    """Run to its end in a thread, which an interrupt of this one cancels and waits for.

    Prefect's runner would take SIGTERM over, and Ctrl-C would reach the runs that it starts: they
    would end, each with its traceback, before anyone here knows. The thread, and the processes that
    it starts, are not sent it.
    """
    loop = asyncio.new_event_loop()
    task = loop.create_task(work)
    ended: Future[None] = Future()

    def run() -> None:
        settle(ended, lambda: loop.run_until_complete(task))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()

    with hold_interrupts():
        threading.Thread(target=run, daemon=True).start()
    try:
        ended.result()
    except BaseException:
        if not ended.done():
            loop.call_soon_threadsafe(task.cancel)
            wait([ended], STOP_S)
        raise


@contextmanager
def _server(night: Night) -> Iterator[str]:
    """A server on which no dead run keeps the corpus's only slot."""
    configured = get_current_settings().api.url
    if configured:
        bury_dead_run(night.out.resolve(), night.corpus)
        try:
            yield configured
        finally:  # the server lives on, and shows what became of the run
            with suppress(httpx.HTTPError):
                bury_dead_run(night.out.resolve(), night.corpus)
        return
    home = (night.out / HOME).resolve()
    with scheduling_server(home) as address, temporary_settings({PREFECT_API_URL: address}):
        bury_all_runs(f"{FLOW}/{night.corpus}")
        yield address


# Deployments of the nightly flow.


POOL_TYPE: Final = "process"
_BEGUN: Final = ("RUNNING", "COMPLETED", "FAILED", "CRASHED", "CANCELLED", "CANCELLING")


@dataclass(frozen=True, slots=True)
class NightRun:
    """A run of a corpus's night.

    Args:
        name: As Prefect's pages show it: the corpus, and its version once it is known.
        message: What it failed of; empty where all is well.
        begun: When, ISO 8601; empty before.
    """

    id: str
    corpus: str
    name: str
    state: str
    message: str
    begun: str
    seconds: float


def deployment_of(night: Night, pool: str | None = None) -> RunnerDeployment:
    """The deployment of a corpus's night."""
    times = night.times
    schedule = Interval(times.every_s) if times.every_s else None
    try:
        schedule = Cron(times.cron, timezone=times.timezone) if times.cron else schedule
        return RunnerDeployment.from_entrypoint(
            ENTRYPOINT,
            name=night.corpus,
            schedule=schedule,
            concurrency_limit=ConcurrencyLimitConfig.model_validate(dict(LIMIT)),
            parameters=night.parameters,
            tags=night.tags,
            paused=False,
            work_pool_name=pool,
            job_variables={"env": night.environment} if pool else None,
        )
    except (ValidationError, ValueError) as error:
        reason = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        raise SpecError(
            f"--cron {times.cron}, --timezone {times.timezone}: "
            f"{reason.removeprefix('Value error, ')}",
            fix='as in --cron "0 3 * * *" --timezone Europe/Berlin',
        ) from error


def register(night: Night, pool: str) -> UUID:
    """Register a night for the workers of a process pool, which is made if it is not there."""
    with get_client(sync_client=True) as client:
        try:
            existing = client.read_work_pool(pool)
            if existing.type != POOL_TYPE:
                raise SpecError(
                    f"--pool {pool}: a work pool of type {existing.type}, not {POOL_TYPE}",
                    fix="name another pool; a missing one is created",
                )
        except ObjectNotFound:
            template = ProcessWorker.get_default_base_job_template()
            client.create_work_pool(
                WorkPoolCreate(name=pool, type=POOL_TYPE, base_job_template=template)
            )
    identity: Any = deployment_of(night, pool).apply()
    return UUID(str(identity))


def last_runs(corpus: str, most: int) -> list[NightRun]:
    """The last runs that have begun, newest first."""
    with get_client(sync_client=True) as client:
        try:
            deployment = client.read_deployment_by_name(f"{FLOW}/{corpus}")
        except ObjectNotFound as error:
            raise SpecError(
                f"corpus {corpus} has no schedule",
                fix="`prefect deployment ls` lists the corpora that have one",
            ) from error
        runs = client.read_flow_runs(
            deployment_filter=DeploymentFilter.model_validate({"id": {"any_": [deployment.id]}}),
            flow_run_filter=FlowRunFilter.model_validate({"state": {"type": {"any_": _BEGUN}}}),
            sort=FlowRunSort.EXPECTED_START_TIME_DESC,
            limit=most,
        )
    return [
        NightRun(
            id=str(run.id),
            corpus=corpus,
            name=run.name,
            state=run.state_name or "",
            message="" if run.state is None else run.state.message or "",
            begun="" if run.start_time is None else run.start_time.isoformat(timespec="seconds"),
            seconds=round(run.estimated_run_time.total_seconds(), 1),
        )
        for run in runs
    ]


@contextmanager
def known_server(out: Path) -> Iterator[str]:
    """Prefect's API: configured, or that of the schedule that runs over `out`; its address."""
    address = find_api(out)
    if address is None:
        raise SegueError(
            f"no Prefect server: PREFECT_API_URL is not set, and no schedule runs for {out}",
            fix="start one with `segue night schedule SPEC --cron ...`, or use its --out",
        )
    try:
        with temporary_settings({PREFECT_API_URL: address}):
            yield address
    except httpx.HTTPError as error:
        raise SegueError(
            f"the Prefect server at {address} does not respond: {type(error).__name__}",
            fix="start it, or set PREFECT_API_URL to another server",
        ) from error
