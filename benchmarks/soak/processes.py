"""Processes of a soak: started with a mark in their environment, found and ended by it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final

REPO: Final = Path(__file__).resolve().parents[2]
MARK: Final = "SEGUE_SOAK"
POLL_S: Final = 0.03


class ExpiredError(Exception):
    """The time of the whole soak is over."""


def start(
    module: str, *arguments: object, home: Path, name: str, env: Mapping[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """A Python module as a process of the folder `home`, where NAME.out and NAME.err are added to.

    It leads a session of its own, so that Ctrl-C reaches the soak alone.
    """
    inherited = {key: value for key, value in os.environ.items() if not key.startswith("PREFECT_")}
    marks = {MARK: f"{home}/", "PYTHONPATH": str(REPO), "OMP_NUM_THREADS": "1", "NO_COLOR": "1"}
    home.mkdir(parents=True, exist_ok=True)
    with (home / f"{name}.out").open("ab") as out, (home / f"{name}.err").open("ab") as err:
        return subprocess.Popen(
            [sys.executable, "-m", module, *map(str, arguments)],
            cwd=home,
            env=inherited | marks | {"PYTHONFAULTHANDLER": "1"} | dict(env or {}),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            start_new_session=True,
        )


def kill(process: int) -> None:
    """What `kill -9` does; somebody else may have been faster."""
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def of(home: Path) -> list[int]:
    """Living processes of a folder, or of one below it: those started there and all their kin."""
    mark = f"{MARK}={home}/".encode()
    return [process for process in _processes() if mark in _read(process, "environ")]


def end_all(home: Path) -> None:
    """Kill the processes of a folder until there are none."""
    while found := of(home):
        for process in found:
            kill(process)
        time.sleep(POLL_S)


def children(parent: int, words: str) -> list[int]:
    """Living children of a process whose command line holds `words`."""
    return [
        process
        for process in _processes()
        if _parent(process) == parent and words.encode() in _command(process)
    ]


def command(process: int) -> str:
    """The command line of a process, for people; empty if it has ended."""
    return _command(process).decode(errors="replace")[:200]


def wait_for(condition: Callable[[], bool], seconds: float, over: Callable[[], bool]) -> bool:
    """Wait until something holds, for so many seconds.

    Args:
        condition: What is waited for.
        seconds: The most.
        over: Whether the whole soak is over.

    Raises:
        ExpiredError: If it is.
    """
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if condition():
            return True
        if over():
            raise ExpiredError
        time.sleep(POLL_S)
    return condition()


def environment() -> dict[str, str]:
    """That of this process, without the Prefect server of whoever runs this."""
    return {name: value for name, value in os.environ.items() if name != "PREFECT_API_URL"}


def free_port() -> int:
    """A port on loopback that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _processes() -> Iterator[int]:
    """All that live; a zombie has no environment and no command line."""
    return (int(entry) for entry in os.listdir("/proc") if entry.isdigit())  # noqa: PTH208


def _read(process: int, what: str) -> bytes:
    try:
        return Path(f"/proc/{process}/{what}").read_bytes()
    except OSError:
        return b""


def _command(process: int) -> bytes:
    return _read(process, "cmdline").replace(b"\0", b" ")


def _parent(process: int) -> int:
    fields = _read(process, "stat").rpartition(b")")[2].split()
    return int(fields[1]) if fields else 0
