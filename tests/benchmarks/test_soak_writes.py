"""The soak between writes, in small: a few points of a command, and that it tells of harm."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchmarks.core.contenders import ROOT as REPO
from benchmarks.soak.scenarios import FOLDER, Site, make_seed
from benchmarks.soak.writes import WriteWatch

pytestmark = pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs Linux")
COMMANDS = ("replan plan.parquet/folder",)


@pytest.mark.slow
def test_commands_killed_between_writes_end_as_if_they_had_not_been() -> None:
    points = ("--points", "3", "--only", ",".join(COMMANDS), "--json")
    told = subprocess.run(
        [sys.executable, "-m", "benchmarks.soak", "--between-writes", *points],
        cwd=REPO,
        capture_output=True,
        text=True,
        check=False,
    )
    found: dict[str, Any] = json.loads(told.stdout.splitlines()[-1])
    assert (told.returncode, found["wrong"]) == (0, []), told.stderr
    rows = {row["name"]: row for row in found["rows"]}
    assert set(rows) == set(COMMANDS)
    assert all(row["done"] and row["killed"] == 3 <= row["points"] for row in rows.values())


def write_all(folder: Path) -> None:
    (folder / "new").mkdir()
    (folder / "a").write_text("whole")
    (folder / "a").rename(folder / "b")
    (folder / "b").unlink()
    (folder / "none").unlink(missing_ok=True)
    (folder.parent / "elsewhere").write_text("counts for nothing")


def left_after(number: int, folder: Path) -> dict[str, str]:
    """What is there after a kill before that write."""
    folder.mkdir()
    process = os.fork()
    if not process:
        WriteWatch(folder, number).start()
        write_all(folder)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    assert status == (0 if number == 6 else -signal.SIGKILL)
    return {path.name: path.read_text() if path.is_file() else "" for path in folder.iterdir()}


def test_every_write_is_a_point(tmp_path: Path) -> None:
    found = [left_after(number, tmp_path / str(number)) for number in range(1, 7)]
    new = {"new": ""}
    whole = [new | {"a": ""}, new | {"a": "whole"}, new | {"b": "whole"}]
    assert found == [{}, new, *whole, new]


def test_a_certificate_that_lies_is_told(tmp_path: Path) -> None:
    site = Site(tmp_path, FOLDER)
    make_seed(7, site)
    assert not list(site.find_lies())
    first, second = sorted(site.files.rglob("*.tar"))[:2]
    first.unlink()
    second.write_bytes(b"other")
    lies = list(site.find_lies())
    assert any(f"{first.name} has a receipt, and is not there" in each for each in lies)
    assert any(f"{second.name} differs from its receipt" in each for each in lies)
    shutil.rmtree(site.files / "banks")
    assert any("without its bank" in each for each in site.find_lies())
