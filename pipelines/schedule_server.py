"""The Prefect server of `segue schedule`: with scheduler and pages, on loopback, found by its file.

The server of a single build (`pipelines.server`) schedules nothing and shows nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from pipelines.executor import watch_parent
from pipelines.server import LOG_FILE, STOP_TIMEOUT_S, _free_port, _wait_until_healthy
from synth.atomic import write_text
from synth.errors import CorpusError

ADDRESS_FILE: Final = "schedule.json"
LOCK_FILE: Final = "schedule.lock"
QUIET: Final = {
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "DO_NOT_TRACK": "1",
}
_ANSWER_S: Final = 20.0


@contextmanager
def scheduling_server(home: Path) -> Iterator[str]:
    """The API address of a server that schedules, stopped on leaving and ended with this process.

    Args:
        home: Holds its database, its log and, while it runs, its address.

    Raises:
        CorpusError: If one runs in `home` already.
        SegueError: If it does not start; the error names its log.
    """
    home.mkdir(parents=True, exist_ok=True)
    lock = FileLock(home / LOCK_FILE, thread_local=False)
    try:
        lock.acquire(blocking=False)
    except Timeout as error:
        raise CorpusError(
            f"{home.parent}: a schedule runs here already",
            mend="stop it, give another --out, or let one server serve both by PREFECT_API_URL",
        ) from error
    try:
        yield from _served(home)
    finally:
        lock.release()


def _served(home: Path) -> Iterator[str]:
    port = _free_port()
    address = f"http://127.0.0.1:{port}/api"
    environment = {name: value for name, value in os.environ.items() if name != "PREFECT_API_URL"}
    with (home / LOG_FILE).open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "pipelines.schedule_server", str(port), str(os.getpid())],
            env=environment | {"PREFECT_HOME": str(home), "PREFECT_UI_API_URL": address} | QUIET,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        _wait_until_healthy(process, address, home / LOG_FILE)
        write_text(home / ADDRESS_FILE, json.dumps({"api": address}) + "\n")
        yield address
    finally:
        (home / ADDRESS_FILE).unlink(missing_ok=True)
        process.terminate()
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def running_server(home: Path) -> str | None:
    """The address of the server that runs in `home`; None where none answers."""
    try:
        address = json.loads((home / ADDRESS_FILE).read_text(encoding="utf-8"))["api"]
        if not str(address).startswith("http://127.0.0.1:"):
            return None
        with urllib.request.urlopen(f"{address}/health", timeout=_ANSWER_S) as response:
            return str(address) if response.status == 200 else None
    except (OSError, ValueError, KeyError, TypeError):
        return None


def serve(port: int, parent: int) -> None:
    """Serve Prefect's API, its pages and its scheduler until the parent is gone."""
    watch_parent(parent)
    import uvicorn

    uvicorn.run(
        "prefect.server.api.server:create_app",
        factory=True,
        host="127.0.0.1",
        port=port,
        log_level="error",
    )


if __name__ == "__main__":
    serve(port=int(sys.argv[1]), parent=int(sys.argv[2]))
