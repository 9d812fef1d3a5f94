"""`make env` shows what it does: it takes minutes."""

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
    command = ["make", "--dry-run", "env", f"VENV={tmp_path / 'venv'}"]
    # `make test` hands its own options to every make beneath it, which then tells its folder, too.
    alone = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    lines = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=True, env=alone
    ).stdout.splitlines()
    installs = [line for line in lines if "pip install" in line]
    steps = [line for line in lines if " of 3: " in line]
    assert len(installs) == len(steps) == 3
    assert not any("--quiet" in line or "-q " in line for line in installs)
    assert f"source {tmp_path / 'venv'}/bin/activate" in lines[-1]


def test_every_peer_has_tests_and_every_test_of_peers_is_run() -> None:
    files = {path.stem.removeprefix("test_") for path in (ROOT / "tests/peers").glob("test_*.py")}
    assert [name for name in PEERS if name not in files] == []
    assert [name for name in files if not name.startswith(tuple(PEERS))] == []
