"""Whole runs against a model on loopback, and runs that die: nothing lost or bought twice."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from pipelines.llm.money.prices import NANOS
from pipelines.llm.run import GenerateSummary, generate
from pipelines.llm.runner import StopKind
from synth.base.errors import SpecError
from synth.base.locks import WAITING
from synth.base.progress import UNOBSERVED, Silent
from tests.kit.llm_commands import Command, start
from tests.kit.llm_server import LlmServer
from tests.kit.llm_tasks import (
    KEY,
    asked,
    captions,
    items_of,
    meeting,
    obliging,
    run,
    settings,
    write_prompt,
    write_rows,
)
from tests.kit.waiting import wait_for

FAULTS = (
    *("rate_limit", "server", "connection", "drop", "stream_error", "html", "no_finish", "empty"),
    *("cut_off", "refusal", "content_filter", "repetition", "whitespace"),
)


def _rows(out: Path) -> list[dict[str, Any]]:
    return pq.read_table(out).to_pylist()


def test_all_items_are_answered_in_order(tmp_path: Path) -> None:
    with LlmServer(obliging, key=KEY) as server:
        done = run(tmp_path, server, captions(50))
        assert (done.answered, done.left, done.bought, done.from_store) == (50, 0, 50, 0)
        assert done.stopped is None
        sent, answered = server.billed_tokens
    account = done.account
    assert (account.input_tokens, account.output_tokens) == (sent, answered)
    assert account.requests == 1 + 7  # a probe, then 8 items a request
    assert done.spent == account.cost > 0
    rows = _rows(tmp_path / "out.parquet")
    assert [row["id"] for row in rows] == [f"c{n}" for n in range(50)]
    assert rows[3] == {
        "id": "c3",
        "status": "answered",
        "texts": ["Hark: Noise number 3 is heard"],
        "answer": '{"texts":["Hark: Noise number 3 is heard"]}',
        "reason": "",
        "generator": "llm:say@1/tiny",
        "attempts": 1,
    }


def test_what_is_settled_is_not_bought_again(tmp_path: Path) -> None:
    with LlmServer(obliging, key=KEY) as server:
        run(tmp_path, server, captions(20))
        first = len(server.bodies)
        write_rows(tmp_path / "captions.jsonl", [*captions(30)][::-1])
        done = run(tmp_path, server)
    assert (done.from_store, done.bought, done.answered) == (20, 10, 30)
    assert len(server.bodies) == first + 2
    assert set(asked(server).values()) == {1}
    twice = [{"id": name, "caption": "A dog barks"} for name in "ab"]
    write_rows(tmp_path / "captions.jsonl", twice)
    with LlmServer(obliging, key=KEY) as server:
        done = run(tmp_path, server)
    assert done.answered == 2
    assert asked(server) == {"A dog barks": 1}


def test_answers_belong_to_the_endpoint_that_gave_them(tmp_path: Path) -> None:
    with LlmServer(obliging, key=KEY) as first, LlmServer(obliging, key=KEY) as second:
        run(tmp_path, first, captions(5))
        other = run(tmp_path, second)
        url = first.base_url.replace("http:", "HTTP:") + "/"  # the same, spelled otherwise
        assert set(asked(first).values()) == set(asked(second).values()) == {1}
    again = generate(settings(tmp_path, url, []), UNOBSERVED)  # which needs no endpoint
    assert (other.from_store, other.answered) == (0, 5)
    assert (again.from_store, again.account.requests) == (5, 0)


def test_bad_answers_are_asked_for_once_more(tmp_path: Path) -> None:
    words = ["plain", "slow", "hopeless", "shy", "plain too"]
    rows = [{"id": word, "caption": f"A {word} noise"} for word in words]
    with LlmServer(obliging, key=KEY) as server:
        done = run(tmp_path, server, rows)
    found = {row["id"]: row for row in _rows(tmp_path / "out.parquet")}
    assert {name: row["status"] for name, row in found.items()} == {
        **dict.fromkeys(("plain", "slow", "plain too"), "answered"),
        **dict.fromkeys(("hopeless", "shy"), "failed"),
    }
    assert found["hopeless"]["reason"] == '"A hopeless noise" is the original itself'
    assert found["shy"]["reason"] == "the reply left it out"
    assert found["slow"]["attempts"] == found["hopeless"]["attempts"] == 2
    assert done.failed == {"... is the original itself": 1, "the reply left it out": 1}
    counts = asked(server)
    assert counts["A plain noise"] == counts["A plain too noise"] == 1
    assert counts["A slow noise"] == counts["A hopeless noise"] == 2


def test_one_item_does_not_spoil_the_others(tmp_path: Path) -> None:
    rows = captions(8)
    rows[5]["caption"] = "A poison pill"
    with LlmServer(obliging, key=KEY, ignores_format=True) as server:
        done = run(tmp_path, server, rows)
    assert (done.answered, done.left) == (7, 0)
    (bad,) = [row for row in _rows(tmp_path / "out.parquet") if row["status"] == "failed"]
    assert bad["id"] == "c5"
    assert bad["reason"].startswith("unusable reply: ")
    assert max(asked(server).values()) == 5  # 8, 4, 2, 1, and once more with the reason


@pytest.mark.parametrize("fault", ["refusal", "content_filter", "cut_off", "filter_400"])
def test_a_whole_reply_that_fails_is_halved(tmp_path: Path, fault: str) -> None:
    rows = captions(8)
    rows[2]["caption"] = "A forbidden noise"

    def script(body: dict[str, Any], attempt: int) -> str:
        return fault if any("forbidden" in item["caption"] for item in items_of(body)) else ""

    with LlmServer(obliging, key=KEY, script=script) as server:
        done = run(tmp_path, server, rows)
        assert done.account.input_tokens == server.billed_tokens[0]
    assert (done.answered, done.left, sum(done.failed.values())) == (7, 0, 1)


@pytest.mark.parametrize("fault", ["auth", "quota", "quota_402", "model"])
def test_final_faults_stop_the_run_at_once(tmp_path: Path, fault: str) -> None:
    def script(body: dict[str, Any], attempt: int) -> str:
        return fault if len(items_of(body)) and len(server.bodies) > 5 else ""

    with LlmServer(obliging, key=KEY, script=script) as server:
        done = run(tmp_path, server, captions(400), concurrency=2)
        assert done.stopped.kind is StopKind.ENDPOINT
        assert len(server.bodies) < 12
        server.script = lambda body, attempt: ""
        again = run(tmp_path, server, captions(400))
    assert done.answered + done.left == 400
    assert done.answered > 0
    assert again.answered == 400
    assert KEY not in done.stopped.message


def test_an_endpoint_that_only_fails_stops_therun(tmp_path: Path) -> None:
    with LlmServer(obliging, key=KEY, script=meeting("server")) as server:
        done = run(tmp_path, server, captions(400))
    assert done.stopped.message.startswith("the endpoint does not answer (server)")
    assert done.left == 400
    assert len(server.bodies) < 400


def test_the_budget_is_never_passed_and_the_rest_can_be_bought(tmp_path: Path) -> None:
    with LlmServer(obliging, key=KEY, latency_s=0.005) as server:
        done = run(tmp_path, server, captions(1200), budget=0.07)
        assert done.stopped.kind is StopKind.BUDGET
        assert 0 < done.answered < 1200
        assert done.left == 1200 - done.answered
        assert 0.06 * NANOS < done.spent <= 0.07 * NANOS
        same = run(tmp_path, server, budget=0.07)  # the account outlives the run
        assert same.stopped is not None
        assert same.spent <= 0.07 * NANOS
        rest = run(tmp_path, server, budget=1.0)
    assert (rest.answered, rest.left) == (1200, 0)
    assert set(asked(server).values()) == {1}


def test_a_paid_model_needs_a_budget_and_a_price(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="no budget is given"):
        generate(settings(tmp_path, "http://127.0.0.1:9/v1", captions(3), budget=None), UNOBSERVED)
    with pytest.raises(SpecError, match="price of model 'tiny' is unknown"):
        generate(settings(tmp_path, "http://127.0.0.1:9/v1", captions(3), prices=None), UNOBSERVED)


def test_a_fifth_of_all_requests_fails(tmp_path: Path) -> None:
    with LlmServer(obliging, key=KEY, fault_rate=0.2, faults=FAULTS, seed=3) as server:
        done = run(tmp_path, server, captions(400), concurrency=16)
        bills = sum(len(bills) for bills in server.billed.values())
        assert 1 < server.most_at_once <= 16
        received = len(server.bodies)
    assert done.stopped is None
    assert done.left == 0
    assert done.answered + sum(done.failed.values()) == 400
    assert done.answered >= 380
    assert done.account.requests == received >= bills
    rows = _rows(tmp_path / "out.parquet")
    assert all(row["reason"] for row in rows if row["status"] == "failed")
    with sqlite3.connect(tmp_path / "store.sqlite") as store:
        states = dict(store.execute("SELECT state, count(*) FROM purchases GROUP BY state"))
    assert states["read"] + states["fault"] == received
    assert not states.keys() - {"read", "fault"}


def test_of_two_runs_at_once_one_waits_and_buys_nothing_again(tmp_path: Path) -> None:
    with LlmServer(obliging, key=KEY) as server:
        first = settings(tmp_path, server.base_url, captions(20))
        second = first.model_copy(update={"out": tmp_path / "b.parquet"})
        waits = threading.Event()
        later: list[GenerateSummary] = []

        class Waits(Silent):
            def start(self, phase: str, total: int, unit: str, done: int | None = None) -> None:
                if phase == WAITING:
                    waits.set()

        other = threading.Thread(target=lambda: later.append(generate(second, Waits())))

        class RunsAnother(Silent):
            def start(self, phase: str, total: int, unit: str, done: int | None = None) -> None:
                if not waits.is_set():
                    other.start()
                    assert waits.wait(60)

        done = generate(first, RunsAnother())
        other.join()
    (again,) = later
    assert (done.answered, again.answered, again.account.requests) == (20, 20, 0)
    assert set(asked(server).values()) == {1}


def test_answers_that_todays_checks_refuse_are_asked_for_again(tmp_path: Path) -> None:
    with LlmServer(obliging, key=KEY) as server:
        first = settings(tmp_path, server.base_url, captions(5))
        generate(first, UNOBSERVED)
        prompt = Path(first.task)
        prompt.write_text(prompt.read_text().replace("checks:", "checks:\n  - words: 5"))
        done = generate(first, UNOBSERVED)
        prompt.write_text(prompt.read_text().replace("words: 5", "words: 9"))
        freed = generate(settings(tmp_path, server.base_url, [], retry_failed=True), UNOBSERVED)
    assert sum(done.failed.values()) == 5
    assert done.account.requests == 1
    assert freed.answered in (0, 5)


def test_the_key_is_nowhere(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with LlmServer(obliging, key=KEY, fault_rate=0.3, faults=FAULTS) as server:
        done = run(tmp_path, server, captions(60))
    with LlmServer(obliging, key="another") as server:
        refused = run(tmp_path, server, store=tmp_path / "other.sqlite")
    assert refused.stopped is not None
    told = repr((done, refused)) + "".join(capfd.readouterr())
    assert KEY not in told
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or KEY.encode() not in path.read_bytes(), path


@pytest.mark.slow
def test_a_request_without_an_answer_may_be_on_the_bill(tmp_path: Path) -> None:
    with LlmServer(obliging, key=KEY, script=meeting("timeout", 1)) as server:
        done = run(tmp_path, server, captions(8), timeout_s=10.0)
    assert done.answered == 8
    assert done.account.faults == {"timeout": 1}
    assert 0 < done.account.uncertain < done.account.cost


# Processes that die: nothing that was paid for is lost, nothing is bought twice.


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


@pytest.mark.slow
def test_a_reply_that_was_kept_is_read_after_a_death(tmp_path: Path) -> None:
    with LlmServer(obliging, key=KEY) as server:
        patch = "runner.judge_reply = dies(runner.judge_reply, 3)"
        _end(_start(tmp_path, server, 40, "--concurrency", "1", patch=patch), -signal.SIGKILL)
        assert len(_kept(tmp_path)) == 16
        done = _end(_start(tmp_path, server, 40, "--concurrency", "1"))
    assert (done["answered"], done["from_store"], done["requests"]) == (40, 16, 6)
    assert set(asked(server).values()) == {1}


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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
