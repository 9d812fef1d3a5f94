"""The Prefect flow: the same corpus, the server's own end, honest exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from builds import product, segue


def test_flow_builds_the_same_bytes_with_no_server_set_up(
    tiny_file: Callable[..., Path], tiny_corpus: Path, tmp_path: Path
) -> None:
    done = segue("build", tiny_file(), "--out", tmp_path / "out", "--workers", "2", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1])["rendered"] == 12
    assert product(tmp_path / "out") == product(tiny_corpus)


def test_flow_that_fails_is_one_clear_line_and_exit_code_one(
    tiny_file: Callable[..., Path], tmp_path: Path
) -> None:
    spec = tiny_file(source={"foley": {"classes": ["dog"], "takes": 5}})
    failed = segue("build", spec, "--out", tmp_path / "out", "--workers", "1")
    assert failed.returncode == 1
    assert "error: split train: triplets need clips of two classes, found 1" in failed.stderr
    assert "Traceback" not in failed.stderr
