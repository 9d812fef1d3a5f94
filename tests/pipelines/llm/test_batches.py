"""`--batch`: the same items, answered in batches."""

from __future__ import annotations

import sqlite3
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from llm_server import LlmServer
from llm_tasks import KEY, KEY_VARIABLE, captions, items_of, obliging, settings

from pipelines.llm.money.prices import NANOS
from pipelines.llm.run import GenerateSummary, generate
from pipelines.llm.runner import StopKind
from pipelines.llm.wire.errors import AttemptError, FaultKind
from synth.base.progress import Silent


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)


def _run(
    folder: Path, server: LlmServer, rows: list[dict[str, Any]], **changes: Any
) -> GenerateSummary:
    return generate(settings(folder, server.base_url, rows, batch=True, **changes), Silent())


def _asked(server: LlmServer) -> Counter[str]:
    return Counter(item["caption"] for body in server.bodies for item in items_of(body))


def test_rounds_until_all_is_settled(tmp_path: Path) -> None:
    rows = captions(30)
    for at, word in enumerate(("slow", "hopeless", "shy", "slow")):
        rows[at]["caption"] = f"A {word} noise {at}"
    with LlmServer(obliging, key=KEY) as server:
        done = _run(tmp_path, server, rows)
        sent = server.billed_tokens
    assert (done.answered, sum(done.failed.values()), done.left) == (28, 2, 0)
    assert (done.account.input_tokens, done.account.output_tokens) == sent
    counts = _asked(server)
    assert all(counts[row["caption"]] == 1 for row in rows[4:])


def test_errors_of_a_batch_are_asked_again(tmp_path: Path) -> None:
    with LlmServer(
        obliging, key=KEY, fault_rate=0.3, seed=5, faults=("server", "refusal")
    ) as server:
        done = _run(tmp_path, server, captions(100))
    assert done.answered + sum(done.failed.values()) == 100
    assert done.answered >= 95


def test_a_batch_that_expires_is_handed_in_again(tmp_path: Path) -> None:
    with LlmServer(obliging, key=KEY, batch_end="expired") as server:
        done = _run(tmp_path, server, captions(40))
        assert done.stopped is not None  # this one answers half of a batch, and none of one request
        assert (done.answered, done.left, done.travelling) == (32, 8, 0)
        server.batch_end = "completed"
        done = _run(tmp_path, server, [])
    assert done.answered == 40
    assert set(_asked(server).values()) == {1}


def test_the_budget_bounds_a_batch(tmp_path: Path) -> None:
    with LlmServer(obliging, key=KEY) as server:
        done = _run(tmp_path, server, captions(1200), budget=0.07)
        assert done.stopped is not None
        assert done.stopped.kind is StopKind.BUDGET
        assert done.spent <= 0.07 * NANOS
        rest = _run(tmp_path, server, [], budget=2.0)
    assert (rest.answered, rest.left) == (1200, 0)
    assert set(_asked(server).values()) == {1}


def test_without_batch_its_items_are_left_alone(tmp_path: Path) -> None:
    class Stopped(BaseException):
        pass

    class Stops(Silent):
        def advance(self, phase: str, units: int = 1, note: str = "") -> None:
            raise Stopped

    with LlmServer(obliging, key=KEY) as server:
        run = settings(tmp_path, server.base_url, captions(20), batch=True)
        with pytest.raises(Stopped):
            generate(run, Stops())
        plain = generate(settings(tmp_path, server.base_url, []), Silent())
        assert plain.travelling == plain.left == 12
        done = _run(tmp_path, server, [])
    assert (done.answered, done.left) == (20, 0)
    assert set(_asked(server).values()) == {1}


def test_an_endpoint_without_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refused(*_: object) -> None:
        raise AttemptError(FaultKind.MODEL, "Not Found")

    with LlmServer(obliging, key=KEY) as server:
        monkeypatch.setattr("pipelines.llm.batches.submit", refused)
        done = _run(tmp_path, server, captions(20))
        assert done.stopped is not None
        assert "without --batch" in done.stopped.fix
        assert (done.left, done.travelling, done.spent) == (20, 0, done.account.cost)
        plain = generate(settings(tmp_path, server.base_url, []), Silent())
    assert plain.answered == 20


def test_an_empty_answer_is_booked_once_and_asked_for_again(tmp_path: Path) -> None:
    def script(body: dict[str, Any], attempt: int) -> str:
        return "empty" if items_of(body) and not attempt else ""

    with LlmServer(obliging, key=KEY, script=script) as server:
        done = _run(tmp_path, server, captions(5))
        sent = server.billed_tokens
    assert (done.answered, done.left, done.stopped) == (5, 0, None)
    assert (done.account.input_tokens, done.account.output_tokens) == sent
    assert set(_asked(server).values()) == {2}


def test_what_is_always_empty_is_paid_as_often_as_it_is_asked(tmp_path: Path) -> None:
    def script(body: dict[str, Any], attempt: int) -> str:
        return "empty" if items_of(body) else ""

    with LlmServer(obliging, key=KEY, script=script) as server:
        _run(tmp_path, server, captions(5))
        _run(tmp_path, server, [])
        with sqlite3.connect(tmp_path / "store.sqlite") as store:
            (booked,) = store.execute("SELECT sum(output_tokens) FROM purchases").fetchone()
    assert set(_asked(server).values()) == {6}
    assert booked == server.billed_tokens[1]


def test_what_failed_is_asked_for_again_in_a_batch_too(tmp_path: Path) -> None:
    def script(body: dict[str, Any], attempt: int) -> str:
        return "refusal" if items_of(body) and not attempt else ""

    with LlmServer(obliging, key=KEY, script=script) as server:
        failed = _run(tmp_path, server, captions(1))
        done = _run(tmp_path, server, [], retry_failed=True)
    assert (failed.answered, done.answered, done.left) == (0, 1, 0)
