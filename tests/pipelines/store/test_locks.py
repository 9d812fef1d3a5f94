"""Locks: one writer at a time, and none for the dead."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import pytest
from waiting import PATIENCE_S

from pipelines.store.lease import sole_writer, wait_for_turn
from synth.base.errors import CorpusError

HOLD = """
import sys
from pathlib import Path
from pipelines.store.lease import sole_writer
with sole_writer(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_killed_holder_keeps_nothing(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(tmp_path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == b"held\n"
    with pytest.raises(CorpusError, match="another process is building"), sole_writer(tmp_path):
        pass
    holder.kill()
    holder.wait()
    with sole_writer(tmp_path):
        pass


def test_who_waits_comes_in_turn(tmp_path: Path) -> None:
    events: list[str] = []

    def second() -> None:
        with wait_for_turn(tmp_path):
            events.append("second")

    thread = threading.Thread(target=second)
    with wait_for_turn(tmp_path):
        thread.start()
        thread.join(timeout=0.3)
        events.append("first")
    thread.join(timeout=PATIENCE_S)
    assert events == ["first", "second"]
