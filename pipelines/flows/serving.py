"""Serve a corpus's nights from this process: what `segue schedule` does."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from prefect.client.orchestration import get_client
from prefect.runner import Runner
from prefect.settings import PREFECT_API_URL, get_current_settings, temporary_settings

from pipelines.flows.deployments import deployment_of
from pipelines.flows.holder import HOME, bury_all_runs, bury_dead_run
from pipelines.flows.work import SERVED_BY
from pipelines.nights.schedule import FLOW, Night
from pipelines.nights.schedule_server import scheduling_server
from pipelines.server import QUIET

LOOK_S: Final = 2.0


def serve(night: Night, now: bool, ready: Callable[[str], None]) -> None:
    """Begin a corpus's nights when their time comes, until this process is interrupted.

    Args:
        night: The nights.
        now: Begin with one at once.
        ready: Told the server's address when all is set.

    Raises:
        SegueError: If the server does not start, or another schedule runs over `out`.
    """
    os.environ.update(dict(QUIET) | {SERVED_BY: str(os.getpid())})
    with _server(night) as address:
        asyncio.run(_serve(night, now, lambda: ready(address)))


async def _serve(night: Night, now: bool, ready: Callable[[], None]) -> None:
    runner = Runner(name=night.corpus, limit=1, query_seconds=LOOK_S)
    identity: Any = await runner.aadd_deployment(deployment_of(night))
    if now:
        async with get_client() as client:
            await client.create_flow_run_from_deployment(identity)
    ready()
    await runner.start()


@contextmanager
def _server(night: Night) -> Iterator[str]:
    """A server on which no dead run keeps the corpus's only slot."""
    configured = get_current_settings().api.url
    if configured:
        bury_dead_run(night.out.resolve(), night.corpus)
        yield configured
        return
    home = (night.out / HOME).resolve()
    with scheduling_server(home) as address, temporary_settings({PREFECT_API_URL: address}):
        bury_all_runs(f"{FLOW}/{night.corpus}")
        yield address
