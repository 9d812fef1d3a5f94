"""Builds that are killed: nothing torn, nothing lost, nothing made twice, nobody left behind."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

import pytest

from pipelines.builder.build import build
from pipelines.config.file import read_spec
from pipelines.flows.holder import HOME
from tests.kit.builds import ingested, product
from tests.kit.pools import pool_workers
from tests.kit.prefect_database import lend_database
from tests.kit.started import count_receipts, interrupt, kill, marked, start_segue
from tests.kit.waiting import PATIENCE_S, wait_for

pytestmark = pytest.mark.slow

KILLS = {False: 2, True: 1}
"""Over the build without and with Prefect; `make soak` kills a hundred times."""


def start(
    spec: Path, out: Path, flag: str = "--no-prefect", **options: Any
) -> subprocess.Popen[str]:
    words = ("build", spec, "--out", out, "--workers", "2", flag)
    return start_segue(*words, mark=out, **options)


@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc to look for orphans")
@pytest.mark.parametrize("prefect", [False, True], ids=["bare", "prefect"])
def test_kills_then_the_same_bytes(
    tiny_file: Callable[..., Path],
    tiny_corpus: Path,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    prefect: bool,
) -> None:
    spec = tiny_file(recipe={"triplets": {"repeats": 4}})
    out = ingested(tiny_corpus, tmp_path)
    if prefect:
        lend_database(out / HOME, tmp_path_factory)
    flag = "--prefect" if prefect else "--no-prefect"
    for _ in range(KILLS[prefect]):
        before = count_receipts(out)
        process = start(spec, out, flag, stdout=DEVNULL, stderr=DEVNULL)
        assert wait_for(lambda before=before: count_receipts(out) > before)
        kill(process)
    assert wait_for(lambda: not marked(out), 0.2), marked(out)
    kept = count_receipts(out)
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
    process = start(spec, out)
    assert wait_for(lambda: count_receipts(out) > 1)
    ended = r"^stopped; run the same command again: \d+ of 96 shards are done$"
    assert re.search(ended, interrupt(process), re.M)
    assert build(read_spec(spec), out, 0).skipped > 1


def test_killed_worker_is_a_clear_error_and_costs_no_finished_shard(
    tiny_file: Callable[..., Path], tiny_corpus: Path, tmp_path: Path
) -> None:
    spec = tiny_file(recipe={"triplets": {"repeats": 8}}, shards={"samples": 6})
    out = ingested(tiny_corpus, tmp_path)
    process = start(spec, out)
    assert wait_for(lambda: count_receipts(out) > 1)
    workers = pool_workers(process.pid)
    assert len(workers) == 2
    os.kill(workers[-1], signal.SIGKILL)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    assert "a worker process was killed" in errors
    assert "Traceback" not in errors
    kept = count_receipts(out)
    assert build(read_spec(spec), out, 0).skipped == kept
