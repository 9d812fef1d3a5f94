"""`make env` says what it does, and nothing else: it takes minutes."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from tests.conftest import missing
from tests.peers.__main__ import PEERS

ROOT = Path(__file__).parents[1]


def test_installing_is_told_step_by_step(tmp_path: Path) -> None:
    if shutil.which("make") is None:
        missing("no make here")
    venv, python = tmp_path / "venv", tmp_path / "python"
    python.write_text(
        f'#!/bin/sh\ncase "$*" in *venv*) mkdir -p {venv}/bin; cp $0 {venv}/bin;; '
        f"*open_clip*) [ -e {venv}/bin/clip ] || exit 3;; esac\n"
    )
    python.chmod(0o755)
    # `make test` hands its own options to every make beneath it, which then tells its folder, too.
    alone = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    command = ["make", "env", f"VENV={venv}", f"PYTHON={python}"]

    def install() -> tuple[bool, list[str]]:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=alone)
        return done.returncode == 0, done.stdout.splitlines()

    done, lines = install()
    assert not done
    assert [" of 4: " in line for line in lines] == [True] * 4
    (venv / "bin/clip").touch()
    done, again = install()
    assert done
    assert again == [*lines[1:], f"done; now: source {venv}/bin/activate"]


def test_every_peer_has_tests_and_every_test_of_peers_is_run() -> None:
    files = {path.stem.removeprefix("test_") for path in (ROOT / "tests/peers").glob("test_*.py")}
    assert [name for name in PEERS if name not in files] == []
    assert [name for name in files if not name.startswith(tuple(PEERS))] == []
