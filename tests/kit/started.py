"""Commands in processes of their own, to be watched, interrupted and killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.kit.builds import PLAIN, PROGRESS
from tests.kit.waiting import PATIENCE_S

MARK = "SEGUE_TEST_MARK"
"""A variable of a started process and of all that it starts; whoever has it is found by it."""


def start_segue(*arguments: object, mark: object = "", **options: Any) -> subprocess.Popen[str]:
    """Start the command line, in a process group of its own; its output is piped."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(
        [sys.executable, "-m", "pipelines.cli", *map(str, arguments)],
        text=True,
        start_new_session=True,
        **{"env": os.environ | PLAIN | {MARK: str(mark)}, **pipes, **options},
    )


def interrupt(process: subprocess.Popen[str]) -> str:
    """Interrupt a command as Ctrl-C does; what it then says on its way out."""
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, errors
    assert "Traceback" not in errors
    return PROGRESS.sub("", errors)


def kill(process: subprocess.Popen[str]) -> None:
    """Kill a command that is still at work."""
    assert process.poll() is None, "it ended before it could be killed"
    process.kill()
    process.communicate()


def marked(mark: object) -> dict[int, str]:
    """Command lines of the living processes that bear a mark, by number; from Linux's /proc."""
    commands = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            environment = (entry / "environ").read_bytes()
            state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
            if f"{MARK}={mark}\0".encode() in environment and state != "Z":
                commands[int(entry.name)] = (entry / "cmdline").read_text()
        except OSError:  # Ended meanwhile, or another user's.
            continue
    return commands


def count_receipts(out: Path) -> int:
    """Shards, or parts of an export, that are certified below a folder."""
    return len(list(out.rglob("receipts/*.json")))
