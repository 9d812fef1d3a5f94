"""Which flow run holds a corpus: so that the runs of dead holders are marked Crashed.

A killed run stays Running for Prefect, for ever. Whether its process lives is told by the lock on
the corpus, which the system takes back from the dead: who holds the lock, and finds another run's
name here, knows that it was killed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final
from uuid import UUID

from prefect.client.orchestration import SyncPrefectClient, get_client
from prefect.client.schemas.actions import GlobalConcurrencyLimitUpdate
from prefect.client.schemas.filters import DeploymentFilter, FlowRunFilter, TaskRunFilter
from prefect.exceptions import ObjectNotFound
from prefect.runtime import flow_run
from prefect.settings import get_current_settings
from prefect.states import Crashed

from pipelines.flows.servers import running_server
from pipelines.store.lease import sole_writer
from pipelines.store.store import locate_versions
from synth.base.atomic import write_text
from synth.base.errors import CorpusError

HOME: Final = ".prefect"
HOLDERS: Final = "holders"
WHY: Final = "its process is gone: the corpus was no longer locked"
_UNDER_WAY: Final = {"state": {"type": {"any_": ["RUNNING", "PENDING", "CANCELLING"]}}}


@contextmanager
def sole_run(out: Path, corpus: str) -> Iterator[None]:
    """Be the flow run that holds a corpus, whose lock this process has."""
    path = _path(out, corpus)
    _bury(path)
    write_text(path, str(flow_run.id))
    try:
        yield
    finally:
        path.unlink(missing_ok=True)


def bury_dead_run(out: Path, corpus: str) -> bool:
    """Mark Crashed the run that held a corpus and died; nothing while the corpus is held.

    Returns:
        Whether there was one.
    """
    try:
        with sole_writer(locate_versions(out, corpus)):
            return _bury(_path(out, corpus))
    except CorpusError:
        return False


def bury_all_runs(deployment: str) -> int:
    """Mark Crashed what is under way of a deployment, and free its slot: nobody else may run it.

    The server that is gone took the lease of the slot along, so no expiry would free it; a run that
    was killed while it was Pending held no corpus yet.

    Args:
        deployment: As in `nightly/CORPUS`.

    Returns:
        How many were under way.
    """
    with get_client(sync_client=True) as client:
        try:
            record = client.read_deployment_by_name(deployment)
        except ObjectNotFound:
            return 0
        dead = client.read_flow_runs(
            deployment_filter=DeploymentFilter.model_validate({"id": {"any_": [record.id]}}),
            flow_run_filter=FlowRunFilter.model_validate(_UNDER_WAY),
        )
        for run in dead:
            _crash(client, run.id)
        slot = record.global_concurrency_limit
        if slot is not None:
            free = GlobalConcurrencyLimitUpdate(active_slots=0)
            client.update_global_concurrency_limit(slot.name, free)
    return len(dead)


def find_api(out: Path) -> str | None:
    """Prefect's API: configured, or that of the schedule that runs over `out`."""
    return get_current_settings().api.url or running_server((out / HOME).resolve())


def _path(out: Path, corpus: str) -> Path:
    return out / HOME / HOLDERS / corpus


def _bury(path: Path) -> bool:
    if not path.is_file():
        return False
    try:
        dead = UUID(path.read_text(encoding="utf-8").strip())
    except ValueError:
        path.unlink()
        return False
    with get_client(sync_client=True) as client:
        was_alive = _crash(client, dead)
    path.unlink()
    return was_alive


def _crash(client: SyncPrefectClient, dead: UUID) -> bool:
    try:
        run = client.read_flow_run(dead)
    except ObjectNotFound:  # another server knows it
        return False
    tasks = client.read_task_runs(
        flow_run_filter=FlowRunFilter.model_validate({"id": {"any_": [dead]}}),
        task_run_filter=TaskRunFilter.model_validate(_UNDER_WAY),
    )
    for task_run in tasks:
        client.set_task_run_state(task_run.id, Crashed(message=WHY), force=True)
    if run.state is not None and run.state.is_final():
        return False
    client.set_flow_run_state(dead, Crashed(message=WHY), force=True)
    return True
