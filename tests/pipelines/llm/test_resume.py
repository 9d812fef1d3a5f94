"""Processes that die: nothing that was paid for is lost, nothing is bought twice."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.kit.llm_commands import Command, start
from tests.kit.llm_server import LlmServer
from tests.kit.llm_tasks import KEY, asked, captions, obliging, write_prompt, write_rows
from tests.kit.waiting import wait_for

pytestmark = pytest.mark.slow


def _start(
    folder: Path, server: LlmServer, count: int, *more: str, out: str = "out", patch: str = ""
) -> Command:
    source = write_rows(folder / f"{out}.jsonl", captions(count))
    return start(folder, server, str(write_prompt(folder, 4)), source, *more, out=out, patch=patch)


def _end(process: Command, code: int = 0) -> dict[str, Any]:
    status, told, wrong = process.end()
    assert status == code, wrong
    assert KEY not in told + wrong
    return dict(json.loads(told.splitlines()[-1])) if told else {}


def _kept(folder: Path) -> set[str]:
    """Captions whose reply is in the store."""
    with sqlite3.connect(folder / "store.sqlite") as store:
        query = "SELECT members FROM purchases WHERE state IN ('read', 'unread')"
        members = [json.loads(row[0]) for row in store.execute(query)]
    return {fields["caption"] for each in members for _, _, fields in each}


def test_a_reply_that_was_kept_is_read_after_a_death(tmp_path: Path) -> None:
    with LlmServer(obliging, key=KEY) as server:
        patch = "runner.judge_reply = dies(runner.judge_reply, 3)"
        _end(_start(tmp_path, server, 40, "--concurrency", "1", patch=patch), -signal.SIGKILL)
        assert len(_kept(tmp_path)) == 16
        done = _end(_start(tmp_path, server, 40, "--concurrency", "1"))
    assert (done["answered"], done["from_store"], done["requests"]) == (40, 16, 6)
    assert set(asked(server).values()) == {1}


def test_kill_and_resume(tmp_path: Path) -> None:
    with LlmServer(obliging, key=KEY, latency_s=0.05) as server:
        first = _start(tmp_path, server, 200, "--concurrency", "8")
        assert wait_for(lambda: len(server.bodies) > 20)
        first.send_signal(signal.SIGKILL)
        _end(first, -signal.SIGKILL)
        kept = _kept(tmp_path)
        done = _end(_start(tmp_path, server, 200, "--concurrency", "8"))
        times = asked(server)
    assert (done["answered"], done["left"]) == (200, 0)
    assert len(kept) >= 40
    assert {times[caption] for caption in kept} == {1}
    twice = [caption for caption, count in times.items() if count > 1]
    assert len(twice) <= 8 * 4  # what was on its way when the process died
    with sqlite3.connect(tmp_path / "store.sqlite") as store:
        lost, spent = (
            store.execute(query).fetchone()[0]
            for query in (
                "SELECT count(*) FROM purchases WHERE state = 'lost'",
                "SELECT spent = (SELECT sum(cost) FROM purchases) FROM jobs",
            )
        )
    assert 1 <= lost <= 8
    assert spent == 1


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
def test_ctrl_c_waits_for_what_was_sent(tmp_path: Path) -> None:
    with LlmServer(obliging, key=KEY, latency_s=0.1) as server:
        first = _start(tmp_path, server, 200, "--concurrency", "4")
        assert wait_for(lambda: len(server.bodies) > 8)
        first.send_signal(signal.SIGINT)
        stopped = _end(first, 130)
        assert stopped["stopped"] == "interrupted"
        assert 0 < stopped["answered"] < 200
        done = _end(_start(tmp_path, server, 200, "--concurrency", "8"))
    assert (done["answered"], done["from_store"]) == (200, stopped["answered"])
    assert set(asked(server).values()) == {1}


@pytest.mark.parametrize(
    "patch",
    [
        "Ledger.keep_ticket = dies(Ledger.keep_ticket, 0)",
        "Ledger.close_ticket = dies(Ledger.close_ticket, 0)",
        "batches.judge_reply = dies(batches.judge_reply, 5)",
    ],
    ids=["before the ticket is kept", "before the ticket is closed", "while replies are read"],
)
def test_a_batch_outlives_its_process(tmp_path: Path, patch: str) -> None:
    with LlmServer(obliging, key=KEY) as server:
        _end(_start(tmp_path, server, 40, "--batch", patch=patch), -signal.SIGKILL)
        done = _end(_start(tmp_path, server, 40, "--batch"))
        paths = Counter(server.paths)
    assert (done["answered"], done["left"]) == (40, 0)
    assert set(asked(server).values()) == {1}
    assert paths["/files"] == 1
