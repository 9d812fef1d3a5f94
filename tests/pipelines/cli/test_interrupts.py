"""Long work: how far it is, and Ctrl-C or SIGTERM at a bad moment."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from pipelines.builder.build import build
from pipelines.checks.leakage import compare_splits
from pipelines.cli.__main__ import AGAIN, STOPPED
from pipelines.cli.common.progress_display import show_progress
from pipelines.cli.look.audit import audit_command
from pipelines.cli.look.versions import gc_command
from pipelines.cli.texts.probe import probe_command
from pipelines.config.spec import Spec
from pipelines.flows.serving import run_aside
from pipelines.look.inspection import draw, verify
from synth.base.progress import tell_damage
from synth.corpus.corpus import Corpus
from tests.kit.builds import invoke, segue
from tests.kit.observers import Phases

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


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
@pytest.mark.slow
@pytest.mark.parametrize(("name", "status"), [("SIGINT", 130), ("SIGTERM", 143)])
@pytest.mark.parametrize(
    "module",
    [SENT, TURNED, IN_EXEC, IN_CALLBACK],
    ids=["plain", "turned", "in-exec", "in-callback"],
)
def test_early_interrupts_are_one_line(tmp_path: Path, name: str, status: int, module: str) -> None:
    (tmp_path / "typer.py").write_text(module.format(name=name))
    done = segue("sources", env={"PYTHONPATH": str(tmp_path)})
    assert (done.returncode, done.stdout, done.stderr) == (status, "", f"{STOPPED}; {AGAIN}\n")


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_second_interrupt_ends_at_once_and_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text(TWICE.format(name="SIGINT"))
    done = segue("sources", env={"PYTHONPATH": str(tmp_path)})
    assert (done.returncode, done.stderr) == (130, "")


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
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


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
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


@pytest.mark.skipif(os.name != "posix", reason="needs signals")
def test_what_fails_aside_fails_here() -> None:
    async def serve() -> None:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        run_aside(serve())


# Long work on a corpus tells how far it is, in its own units, and what to do next.


TEXTS = "audiocap_id,caption\n1,a dog barks before rain falls\n2,rain falls\n"


def run(command: Callable[..., Any], *arguments: object) -> Result:
    done = invoke(command, *arguments, env={"COLUMNS": "200"})
    assert done.exit_code == 0, done.output
    return done


def test_a_second_build_counts_what_is_there(
    tiny_corpus: Path, tiny: Callable[..., Spec], tmp_path: Path
) -> None:
    shutil.copytree(tiny_corpus, tmp_path / "out")
    next((tmp_path / "out" / "shards").rglob("*.tar")).unlink()
    phases = Phases()
    build(tiny(), tmp_path / "out", 0, phases)
    assert phases.ended == ["ingest", "render"]
    assert phases.total == {"ingest": 20, "render": 12}
    assert phases.before == {"ingest": 20, "render": 11}


def test_checks_count_shards_samples_and_clips(manifests: Path) -> None:
    phases = Phases()
    verify(Corpus.open(manifests), draw(manifests, 2), phases)
    compare_splits(manifests, phases)
    assert phases.ended == ["bank", "verify", "rebuild", "compare"]
    assert phases.total == {"bank": 1, "verify": 12, "rebuild": 2, "compare": 12}


def test_what_was_mended_is_told_without_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    for as_json in (False, True):
        with show_progress(as_json) as observer:
            tell_damage(observer, ["a.parquet: differs"], "made again")
    shown = capsys.readouterr()
    assert shown.err == "mend: made again: a.parquet: differs\n"
    assert json.loads(shown.out)["note"] == "made again: a.parquet: differs"


def test_no_terminal_gets_plain_lines(manifests: Path, tmp_path: Path) -> None:
    captions, out = tmp_path / "my captions.csv", tmp_path / "my set.parquet"
    captions.write_text(TEXTS)
    commands = [
        (run(audit_command, manifests), ["segue", "train", str(manifests)]),
        (
            run(probe_command, "pte", captions, "--out", out),
            ["segue", "eval", "MODEL", str(out), "--audio", "FOLDER"],
        ),
        (run(gc_command, manifests, "--keep", "1"), ["segue", "versions", str(manifests)]),
    ]
    for done, following in commands:
        assert not {"\x1b", "\r"} & set(done.output)
        last = done.stdout.splitlines()[-1]
        assert shlex.split(last.removeprefix("next: ")) == following
