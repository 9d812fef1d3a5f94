"""Prefect's server on PostgreSQL, a worker and a schedule, as processes on loopback."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
import yaml

from tests.kit.ports import held_port
from tests.kit.prefect_stack import Processes, postgres, redis, wait
from tests.kit.started import marked
from tests.kit.waiting import PATIENCE_S

ROOT = Path(__file__).resolve().parents[3]
ENTRYPOINT = ROOT / "docker" / "entrypoint.sh"

pytestmark = pytest.mark.slow

FLOW = """
from pathlib import Path

from prefect import flow, task
from prefect.runtime import flow_run


@task
def note(folder: str) -> None:
    (Path(folder) / str(flow_run.id)).touch()


@flow
def tick(folder: str) -> None:
    note(folder)
"""
DEPLOY = (
    "--no-prompt deploy flows.py:tick --name often --pool segue --interval 4 "
    "--concurrency-limit 1 --collision-strategy CANCEL_NEW --param"
)


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Processes]:
    one = Processes(tmp_path)
    yield one
    for process in marked(one.token):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)


def test_scheduled_runs_complete_on_composed_services(processes: Processes, tmp_path: Path) -> None:
    with ExitStack() as stack:
        database = stack.enter_context(postgres(processes))
        broker = stack.enter_context(redis(processes))
        api, health = (stack.enter_context(held_port()) for _ in range(2))
        password = tmp_path / "postgres_password"
        password.write_text(database.password + "\n")
        moved = {
            "PREFECT_SERVER_DATABASE_HOST": "127.0.0.1",
            "PREFECT_SERVER_DATABASE_PORT": str(database.port),
            "PREFECT_SERVER_DATABASE_NAME": "postgres",
            "PREFECT_SERVER_DATABASE_PASSWORD_FILE": str(password),
            "PREFECT_REDIS_MESSAGING_URL": f"redis://127.0.0.1:{broker}/0",
            "PREFECT_SERVER_DOCKET_URL": f"redis://127.0.0.1:{broker}/1",
            "PREFECT_SERVER_API_HOST": "127.0.0.1",
            "PREFECT_SERVER_API_PORT": str(api),
            "PREFECT_SERVER_UI_STATIC_DIRECTORY": str(tmp_path / "ui"),
            "PREFECT_WORKER_WEBSERVER_PORT": str(health),
        } | _client(api)
        compose = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))

        def environment(name: str) -> dict[str, str]:
            given = compose["services"][name]["environment"]
            ours = {key: moved.get(key, value) for key, value in given.items() if value is not None}
            return _environment(tmp_path) | ours

        def start(name: str) -> None:
            command = [
                "1" if part.startswith("${SEGUE_RUNS") else part
                for part in compose["services"][name]["command"]
            ]
            env = environment(name)
            processes.start(stack, name, ENTRYPOINT, *command, env=env)

        def healthy(name: str) -> bool:
            _, *check = compose["services"][name]["healthcheck"]["test"]
            check[0] = str(ROOT / "docker" / check[0])
            return not subprocess.run(check, env=environment(name), capture_output=True).returncode

        def start_the_others() -> None:
            start("services")
            start("worker")

        assert not healthy("server")
        start("server")
        _two_scheduled_runs_complete(processes, tmp_path, api, start_the_others)
        assert healthy("server")
        assert healthy("worker")
        # They reach the server as events, through Redis to the services, which record them.
        wait(lambda: _count(api, "task_runs") >= 2, processes)
    wait(lambda: not marked(processes.token), processes)


def _two_scheduled_runs_complete(
    processes: Processes, folder: Path, api: int, start_the_others: Callable[[], None]
) -> None:
    """Deploys a flow with an interval of seconds and waits for two of its runs."""
    wait(lambda: _answers(api, "ready"), processes)
    start_the_others()
    wait(lambda: _answers(api, "work_pools/segue"), processes)
    (folder / "ticks").mkdir()
    (folder / "flows.py").write_text(FLOW)
    deployed = subprocess.run(
        [Path(sys.executable).with_name("prefect"), *DEPLOY.split(), f"folder={folder / 'ticks'}"],
        env=_environment(folder) | _client(api),
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert deployed.returncode == 0, deployed.stderr
    wait(lambda: _count(api, "flow_runs") >= 2, processes)
    assert len(list((folder / "ticks").iterdir())) >= 2


def _environment(folder: Path) -> dict[str, str]:
    """Nothing of this process's Prefect settings, no telemetry, quick polls."""
    return {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
        "HOME": str(folder),
        "PREFECT_HOME": str(folder / "home"),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        "PREFECT_SERVER_UI_ENABLED": "false",
        "PREFECT_WORKER_QUERY_SECONDS": "1",
    }


def _client(api: int) -> dict[str, str]:
    return {"PREFECT_API_URL": f"http://127.0.0.1:{api}/api"}


def _answers(api: int, path: str) -> bool:
    try:
        with urllib.request.urlopen(
            f"http://127.0.0.1:{api}/api/{path}", timeout=PATIENCE_S
        ) as reply:
            return bool(reply.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _count(api: int, kind: str) -> int:
    """Completed runs; of flows, those that the schedule brought forth."""
    request = urllib.request.Request(
        f"http://127.0.0.1:{api}/api/{kind}/filter",
        data=json.dumps({kind: {"state": {"type": {"any_": ["COMPLETED"]}}}}).encode(),
        headers={"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=PATIENCE_S) as reply:
        runs = json.load(reply)
    return sum(kind == "task_runs" or run["auto_scheduled"] for run in runs)
