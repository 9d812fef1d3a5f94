"""Processes of a soak: started with a mark in their environment, found and ended by it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from benchmarks.core.contenders import ROOT
from benchmarks.core.turn import read_stat

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
    marks = {MARK: f"{home}/", "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1", "NO_COLOR": "1"}
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


@contextmanager
def running(*words: object, output: int = subprocess.PIPE) -> Iterator[subprocess.Popen[str]]:
    """A segue command without the Prefect server of whoever runs this, ended on leaving."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that it ends with this
    process = subprocess.Popen(
        [sys.executable, "-m", "pipelines.cli", *map(str, words)],
        stdout=output,
        stderr=output,
        text=True,
        env={name: value for name, value in os.environ.items() if name != "PREFECT_API_URL"},
    )
    try:
        yield process
    finally:
        process.terminate()
        process.wait()


def kill(process: int) -> None:
    """What `kill -9` does; somebody else may have been faster."""
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def of(home: Path) -> list[int]:
    """Living processes of a folder, or of one below it: those started there and all their kin."""
    mark = f"{MARK}={home}/".encode()
    return [process for process in _list_processes() if mark in _read(process, "environ")]


def end_all(home: Path) -> None:
    """Kill the processes of a folder until there are none."""
    while living := of(home):
        for process in living:
            kill(process)
        time.sleep(POLL_S)


def children(parent: int, words: str) -> list[int]:
    """Living children of a process whose command line holds `words`."""
    return [
        process
        for process in _list_processes()
        if read_stat(process)[1] == str(parent) and words in command(process)
    ]


def command(process: int) -> str:
    """The command line of a process, for people; empty if it has ended."""
    return _read(process, "cmdline").replace(b"\0", b" ").decode(errors="replace")[:1000]


def wait_for(condition: Callable[[], bool], seconds: float, over: Callable[[], bool]) -> bool:
    """Wait until something holds, for so many seconds.

    Args:
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


def _list_processes() -> Iterator[int]:
    """All that live; a zombie has no environment and no command line."""
    return (int(entry) for entry in os.listdir("/proc") if entry.isdigit())  # noqa: PTH208


def _read(process: int, name: str) -> bytes:
    with suppress(OSError):
        return Path(f"/proc/{process}/{name}").read_bytes()
    return b""
