"""Builds that are killed: nothing torn, nothing lost, nothing made twice, nobody left behind."""

from __future__ import annotations

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from pipelines.builder.build import build
from pipelines.config.file import read_spec
from pipelines.flows.holder import HOME
from tests.kit.builds import ingested, product
from tests.kit.pools import pool_workers
from tests.kit.prefect_database import lend_database
from tests.kit.waiting import PATIENCE_S, wait_for

KILLS = {False: 2, True: 1}
"""Over the build without and with Prefect; `make soak` kills a hundred times."""


def start(*arguments: str | Path, output: int = subprocess.DEVNULL) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "pipelines.cli", "build", *map(str, arguments)],
        stdout=output,
        stderr=output,
        text=True,
        start_new_session=True,
    )


def receipts(out: Path) -> int:
    return len(list(out.rglob("receipts/*.json")))


def has_receipts(out: Path, wanted: int) -> bool:
    return receipts(out) >= wanted


def kill(process: subprocess.Popen[str]) -> None:
    assert process.poll() is None, "the build ended before it could be killed"
    os.kill(process.pid, signal.SIGKILL)
    process.wait()


def processes_below(out: Path) -> list[str]:
    """Command lines of living processes that name `out`, or work for one that did."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                environment = (entry / "environ").read_bytes()
                state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
            except OSError:
                continue
            if str(out).encode() in environment and state != "Z":
                found.append((entry / "cmdline").read_text())
    return found


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc to look for orphans")
@pytest.mark.parametrize("prefect", [False, True], ids=["bare", "prefect"])
def test_kills_then_the_same_bytes(
    tiny_file: Callable[..., Path],
    tiny_corpus: Path,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
    prefect: bool,
) -> None:
    monkeypatch.setenv("SEGUE_TEST_MARK", str(tmp_path / "out"))
    spec = tiny_file(recipe={"triplets": {"repeats": 4}})
    out = ingested(tiny_corpus, tmp_path)
    if prefect:
        lend_database(out / HOME, tmp_path_factory)
    flags = ["--prefect"] if prefect else ["--no-prefect"]
    moments = random.Random(3)
    for _ in range(KILLS[prefect]):
        wanted = receipts(out) + 1
        process = start(spec, "--out", out, "--workers", "2", *flags)
        assert wait_for(partial(has_receipts, out, wanted))
        time.sleep(moments.uniform(0, 0.15))
        kill(process)
    assert wait_for(lambda: not processes_below(out), 0.2), processes_below(out)
    kept = receipts(out)
    assert kept >= KILLS[prefect]

    last = build(read_spec(spec), out, 0)
    assert last.skipped == kept
    assert last.rendered + last.skipped == last.shards
    build(read_spec(spec), tmp_path / "undisturbed", 0)
    assert product(out) == product(tmp_path / "undisturbed")
    assert not list(out.rglob("*.partial"))

    journal = Path(last.paths["manifests"]) / "journal.jsonl"
    events = [json.loads(line) for line in journal.read_text().splitlines()]
    rendered = Counter(event["shard"] for event in events if event["event"] == "rendered")
    assert max(rendered.values()) == 1, "a finished shard was rendered again"


def test_interrupt_ends_cleanly_and_says_how_to_go_on(
    tiny_file: Callable[..., Path], tiny_corpus: Path, tmp_path: Path
) -> None:
    spec = tiny_file(recipe={"triplets": {"repeats": 8}}, shards={"samples": 6})
    out = ingested(tiny_corpus, tmp_path)
    process = start(spec, "--out", out, "--workers", "2", "--no-prefect", output=subprocess.PIPE)
    assert wait_for(lambda: receipts(out) > 1)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130
    assert re.search(
        r"^stopped; run the same command again: \d+ of 96 shards are done$", errors, re.M
    )
    assert "Traceback" not in errors
    assert build(read_spec(spec), out, 0).skipped > 1


def test_killed_worker_is_a_clear_error_and_costs_no_finished_shard(
    tiny_file: Callable[..., Path], tiny_corpus: Path, tmp_path: Path
) -> None:
    spec = tiny_file(recipe={"triplets": {"repeats": 8}}, shards={"samples": 6})
    out = ingested(tiny_corpus, tmp_path)
    process = start(spec, "--out", out, "--workers", "2", "--no-prefect", output=subprocess.PIPE)
    assert wait_for(lambda: receipts(out) > 1)
    workers = pool_workers(process.pid)
    assert len(workers) == 2
    os.kill(workers[-1], signal.SIGKILL)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    assert "a worker process was killed" in errors
    assert "Traceback" not in errors
    kept = receipts(out)
    assert build(read_spec(spec), out, 0).skipped == kept
