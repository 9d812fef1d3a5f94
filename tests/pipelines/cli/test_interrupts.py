"""Ctrl-C and SIGTERM at a bad moment: one line, the right status, no traceback."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from pipelines.cli.__main__ import AGAIN, STOPPED
from pipelines.flows.serving import run_aside
from tests.kit.builds import segue

SENT = """
import os, signal, time
os.kill(os.getpid(), signal.{name})
time.sleep(60)
"""
TURNED = """
import os, signal, time
try:
    os.kill(os.getpid(), signal.{name})
    time.sleep(60)
except KeyboardInterrupt as error:
    raise ImportError("torn in two") from error
"""
IN_EXEC = "import os, signal, time\nexec('os.kill(os.getpid(), signal.{name}); time.sleep(60)')\n"
IN_CALLBACK = """
import io, os, signal, time
import numpy, soundfile
class Sends(io.BytesIO):
    sent = False
    def readinto(self, into):
        if not self.sent:
            self.sent = True
            os.kill(os.getpid(), signal.{name})
        return super().readinto(into)
whole = io.BytesIO()
soundfile.write(whole, numpy.zeros(9), 8000, format="WAV")
try:
    soundfile.read(Sends(whole.getvalue()))
except soundfile.LibsndfileError:
    pass
time.sleep(30)
os._exit(7)
"""
TWICE = """
import os, signal, time
try:
    os.kill(os.getpid(), signal.{name})
    time.sleep(60)
except KeyboardInterrupt:
    os.kill(os.getpid(), signal.{name})
    time.sleep(60)
"""

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs signals")


@pytest.mark.slow
@pytest.mark.parametrize(("name", "status"), [("SIGINT", 130), ("SIGTERM", 143)])
@pytest.mark.parametrize(
    "module",
    [SENT, TURNED, IN_EXEC, IN_CALLBACK],
    ids=["plain", "turned", "in-exec", "in-callback"],
)
def test_interrupt_while_the_program_is_imported_is_one_line(
    tmp_path: Path, name: str, status: int, module: str
) -> None:
    (tmp_path / "typer.py").write_text(module.format(name=name))
    done = segue("sources", env={"PYTHONPATH": str(tmp_path)})
    assert (done.returncode, done.stdout, done.stderr) == (status, "", f"{STOPPED}; {AGAIN}\n")


def test_second_interrupt_ends_at_once_and_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text(TWICE.format(name="SIGINT"))
    done = segue("sources", env={"PYTHONPATH": str(tmp_path)})
    assert (done.returncode, done.stderr) == (130, "")


def test_signal_that_whoever_started_this_turned_off_stays_off(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text(SENT.format(name="SIGINT").replace("60", "0"))
    (tmp_path / "start.py").write_text(
        "import signal\n"
        "signal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        "from pipelines.cli.__main__ import main\n"
        "main()\n"
    )
    done = subprocess.run(
        [sys.executable, tmp_path / "start.py"], capture_output=True, text=True, check=False
    )
    assert "typer" in done.stderr.splitlines()[-1]  # it went on, and found nothing in this one
    assert AGAIN not in done.stderr


def test_what_is_served_aside_ends_with_an_interrupt_and_is_not_sent_it() -> None:
    seen: list[object] = []

    async def serve() -> None:
        seen.append(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ()))
        threading.Timer(0.1, signal.pthread_kill, (main, signal.SIGINT)).start()
        try:
            await asyncio.sleep(600)
        finally:
            seen.append("ended in good order")

    main = threading.get_ident()
    with pytest.raises(KeyboardInterrupt):
        run_aside(serve())
    assert seen == [True, "ended in good order"]


def test_what_fails_aside_fails_here() -> None:
    async def serve() -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        run_aside(serve())
