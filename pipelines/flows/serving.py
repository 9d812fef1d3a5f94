"""Serve a corpus's nights from this process: what `segue night schedule` does."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine, Iterator, Sequence
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from typing import Any, Final

import httpx
from prefect.client.orchestration import get_client
from prefect.deployments.runner import RunnerDeployment
from prefect.runner import Runner
from prefect.settings import PREFECT_API_URL, get_current_settings, temporary_settings

from pipelines.engines.executor import hold_interrupts
from pipelines.flows.deployments import NightRun, deployment_of, last_runs
from pipelines.flows.holder import HOME, bury_all_runs, bury_dead_run
from pipelines.flows.nights.schedule import FLOW, Night
from pipelines.flows.servers.schedule_server import scheduling_server
from pipelines.flows.servers.server import QUIET
from pipelines.flows.work import SERVED_BY

LOOK_S: Final = 2.0
STOP_S: Final = 20.0
REPORTED: Final = 20
"""More runs than can begin between two looks."""


def serve(
    night: Night, now: bool, ready: Callable[[str], None], report: Callable[[NightRun], None]
) -> None:
    """Begin a corpus's nights when their time comes, until this process is interrupted.

    Args:
        now: Begin with one at once.
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
    known = await asyncio.to_thread(last_runs, deployment.name, REPORTED)
    if now:
        async with get_client() as client:
            await client.create_flow_run_from_deployment(identity)
    ready()
    reporting = asyncio.create_task(_report_runs(deployment.name, known, report))
    try:
        await runner.start()
    finally:
        reporting.cancel()


async def _report_runs(
    corpus: str, known: Sequence[NightRun], report: Callable[[NightRun], None]
) -> None:
    """Report each run as it begins and as it ends, but for those that are `known`."""
    seen = {(run.name, run.state) for run in known}
    while True:
        await asyncio.sleep(LOOK_S)
        with suppress(httpx.HTTPError):  # a busy server; the next look finds what this one missed
            found = await asyncio.to_thread(last_runs, corpus, REPORTED)
            for run in reversed(found):
                if (run.name, run.state) not in seen:
                    seen.add((run.name, run.state))
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
        try:
            loop.run_until_complete(task)
        except (asyncio.CancelledError, Exception) as error:
            ended.set_exception(error)
        else:
            ended.set_result(None)
        finally:
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
