"""A Prefect server of this build's own, on loopback, that cannot outlive it.

Prefect's own temporary server is orphaned when its flow is killed; this one watches its parent.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pipelines.executor import watch_parent
from synth.errors import SegueError

STARTUP_TIMEOUT_S: Final = 90.0
STOP_TIMEOUT_S: Final = 10.0
LOG_FILE: Final = "server.log"
QUIET: Final[Mapping[str, str]] = {
    "DO_NOT_TRACK": "1",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
}


@contextmanager
def own_server(home: Path) -> Iterator[str]:
    """The API address of a server that keeps its database in `home`, stopped on leaving.

    Raises:
        SegueError: If it does not start; the error names its log.
    """
    alone = {"PREFECT_UI_ENABLED": "0", "PREFECT__SERVER_EPHEMERAL": "1"}
    with served(home, os.environ | alone) as address:
        yield address


@contextmanager
def served(home: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """The API address of a server process on loopback, stopped on leaving and ended with this one.

    Args:
        home: Holds its database and its log.
        environment: Its settings, but for where it is; it reports nothing home.

    Raises:
        SegueError: If it does not start; the error names its log.
    """
    home.mkdir(parents=True, exist_ok=True)
    port = _free_port()
    address = f"http://127.0.0.1:{port}/api"
    place = {"PREFECT_HOME": str(home), "PREFECT_UI_API_URL": address}
    with (home / LOG_FILE).open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "pipelines.server", str(port), str(os.getpid())],
            env={**environment, **place, **QUIET},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        _wait_until_healthy(process, address, home / LOG_FILE)
        yield address
    finally:
        process.terminate()
        try:
            process.wait(STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _wait_until_healthy(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    deadline = time.monotonic() + STARTUP_TIMEOUT_S
    while time.monotonic() < deadline and process.poll() is None:
        try:
            with urllib.request.urlopen(f"{address}/health", timeout=5) as response:
                if response.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise SegueError(
        "the temporary Prefect server did not start",
        mend=f"see {log}, or build without Prefect: --no-prefect",
    )


def serve(port: int, parent: int) -> None:
    """Serve Prefect's API, and what else its environment asks for, until the parent is gone."""
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
