"""A Prefect server of this build's own, on loopback, that cannot outlive it.

Prefect's own temporary server is orphaned when its flow is killed; this one watches its parent.
"""

from __future__ import annotations

import gc
import json
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from pipelines.engines.executor import watch_parent
from synth.base.atomic import GOES_ON, format_bytes, free_bytes, write_text
from synth.base.errors import CorpusError, DiskFullError, SegueError
from synth.base.locks import hold_lock

STARTUP_TIMEOUT_S: Final = 90.0
STOP_TIMEOUT_S: Final = 10.0
_DRAIN_S: Final = 5.0
MOST_RESTARTS: Final = 5
LOG_FILE: Final = "server.log"
DATABASE_FILE: Final = "prefect.db"
LEAST_BYTES: Final = 8_000_000
QUIET: Final[Mapping[str, str]] = {"DO_NOT_TRACK": "1", "PREFECT_SERVER_ANALYTICS_ENABLED": "false"}


@contextmanager
def own_server(home: Path) -> Iterator[str]:
    """The API address of a server that keeps its database in `home`, stopped on leaving."""
    alone = {"PREFECT_UI_ENABLED": "0", "PREFECT__SERVER_EPHEMERAL": "1"}
    from prefect.logging.handlers import APILogWorker

    with server_process(home, os.environ | alone) as address:
        try:
            yield address
        finally:
            # Logs that are still to be sent would find no server.
            APILogWorker.drain_all(timeout=_DRAIN_S, at_exit=False)


@contextmanager
def server_process(home: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """The API address of a server process on loopback, stopped on leaving and ended with this one.

    One that dies is replaced by another, at the same address and with the same database.

    Args:
        environment: Its settings, but for where it is; it reports nothing home.
    """
    home.mkdir(parents=True, exist_ok=True)
    if not (home / DATABASE_FILE).exists() and not any(
        "_DATABASE_" in name for name in environment
    ):
        refuse_full(home)
    port = _free_port()
    address = f"http://127.0.0.1:{port}/api"
    place = {"PREFECT_HOME": str(home), "PREFECT_UI_API_URL": address}

    def start() -> subprocess.Popen[bytes]:
        with (home / LOG_FILE).open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "pipelines.flows.servers", str(port), str(os.getpid())],
                env={**environment, **place, **QUIET},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    process = start()
    try:
        _wait_until_healthy(process, address, home / LOG_FILE)
    except BaseException:
        _stop(process)
        raise
    with _keep_alive(process, start):
        yield address


@contextmanager
def _keep_alive(
    process: subprocess.Popen[bytes], start: Callable[[], subprocess.Popen[bytes]]
) -> Iterator[None]:
    """Start a process anew when it dies, and stop it on leaving.

    Its clients try again for about a minute, so that a run survives the death of its server.
    """
    running = [process]
    lock = threading.Lock()
    leaving = threading.Event()

    def watch() -> None:
        for _ in range(MOST_RESTARTS):
            running[-1].wait()
            with lock, suppress(OSError):  # its clients are told that it is lost
                if leaving.is_set():
                    return
                running.append(start())

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    finally:
        with lock:
            leaving.set()
        _stop(running[-1])


def _stop(process: subprocess.Popen[bytes]) -> None:
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


def _is_healthy(address: str, timeout_s: float) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/health", timeout=timeout_s) as response:
            return bool(response.status == 200)
    except OSError:
        return False


def _wait_until_healthy(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    deadline = time.monotonic() + STARTUP_TIMEOUT_S
    while time.monotonic() < deadline and process.poll() is None:
        if _is_healthy(address, 5):
            return
        time.sleep(0.1)
    refuse_full(log.parent)
    raise SegueError(
        "the temporary Prefect server did not start",
        fix=f"see {log}, or build without Prefect: --no-prefect",
    )


def refuse_full(home: Path) -> None:
    """Check that a server's database has room in `home`."""
    free = free_bytes(home)
    if free < LEAST_BYTES:
        raise DiskFullError(
            f"{home}: the disk is full: Prefect's server keeps its database there and needs "
            f"{format_bytes(LEAST_BYTES)}, {format_bytes(free)} are free",
            fix=f"free some space there, then {GOES_ON}; or build without Prefect: --no-prefect",
        )


def serve(port: int, parent: int) -> None:
    """Serve Prefect's API, and what else its environment asks for, until the parent is gone."""
    watch_parent(parent)
    gc.disable()  # what is imported stays: looking for garbage in it takes a fifth of the start
    import uvicorn
    from prefect.server.api.server import create_app

    gc.freeze()
    gc.enable()
    uvicorn.run(create_app, factory=True, host="127.0.0.1", port=port, log_level="error")


# The Prefect server of `segue night schedule`: has a scheduler and pages, is found by its file.


ADDRESS_FILE: Final = "schedule.json"
LOCK_FILE: Final = "schedule.lock"
_ANSWER_S: Final = 20.0


@contextmanager
def scheduling_server(home: Path) -> Iterator[str]:
    """The API address of a server that schedules, stopped on leaving and ended with this process.

    Args:
        home: Holds its database, its log and, while it runs, its address.
    """
    refusal = CorpusError(
        f"{home.parent}: a schedule is already running here",
        fix="stop it, use another --out, or share one server through PREFECT_API_URL",
    )
    environment = {name: value for name, value in os.environ.items() if name != "PREFECT_API_URL"}
    with hold_lock(home / LOCK_FILE, refusal), server_process(home, environment) as address:
        write_text(home / ADDRESS_FILE, json.dumps({"api": address}) + "\n")
        try:
            yield address
        finally:
            (home / ADDRESS_FILE).unlink(missing_ok=True)


def running_server(home: Path) -> str | None:
    """The address of the server that runs in `home`; None where none answers."""
    try:
        address = json.loads((home / ADDRESS_FILE).read_text(encoding="utf-8"))["api"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    is_ours = str(address).startswith("http://127.0.0.1:")
    return str(address) if is_ours and _is_healthy(address, _ANSWER_S) else None


if __name__ == "__main__":
    serve(port=int(sys.argv[1]), parent=int(sys.argv[2]))
