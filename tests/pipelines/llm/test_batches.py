"""`--batch`: the same items, answered in batches."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from pipelines.llm.money.prices import NANOS
from pipelines.llm.run import generate
from pipelines.llm.runner import StopKind
from pipelines.llm.wire.errors import AttemptError, FaultKind
from synth.base.progress import Silent
from tests.kit.llm_server import LlmServer
from tests.kit.llm_tasks import KEY, asked, captions, meeting, obliging, run, settings


def test_rounds_until_all_is_settled(tmp_path: Path) -> None:
    rows = captions(30)
    for at, word in enumerate(("slow", "hopeless", "shy", "slow")):
        rows[at]["caption"] = f"A {word} noise {at}"
    with LlmServer(obliging, key=KEY) as server:
        done = run(tmp_path, server, rows, batch=True)
        sent = server.billed_tokens
    assert (done.answered, sum(done.failed.values()), done.left) == (28, 2, 0)
    assert (done.account.input_tokens, done.account.output_tokens) == sent
    counts = asked(server)
    assert all(counts[row["caption"]] == 1 for row in rows[4:])


def test_errors_of_a_batch_are_asked_again(tmp_path: Path) -> None:
    with LlmServer(
        obliging, key=KEY, fault_rate=0.3, seed=5, faults=("server", "refusal")
    ) as server:
        done = run(tmp_path, server, captions(100), batch=True)
    assert done.answered + sum(done.failed.values()) == 100
    assert done.answered >= 95


def test_a_batch_that_expires_is_handed_in_again(tmp_path: Path) -> None:
    with LlmServer(obliging, key=KEY, batch_end="expired") as server:
        done = run(tmp_path, server, captions(40), batch=True)
        assert done.stopped is not None  # this one answers half of a batch, and none of one request
        assert (done.answered, done.left, done.travelling) == (32, 8, 0)
        server.batch_end = "completed"
        done = run(tmp_path, server, batch=True)
    assert done.answered == 40
    assert set(asked(server).values()) == {1}


@pytest.mark.slow
def test_the_budget_bounds_a_batch(tmp_path: Path) -> None:
    with LlmServer(obliging, key=KEY) as server:
        done = run(tmp_path, server, captions(1200), batch=True, budget=0.07)
        assert done.stopped is not None
        assert done.stopped.kind is StopKind.BUDGET
        assert done.spent <= 0.07 * NANOS
        rest = run(tmp_path, server, batch=True, budget=2.0)
    assert (rest.answered, rest.left) == (1200, 0)
    assert set(asked(server).values()) == {1}


def test_without_batch_its_items_are_left_alone(tmp_path: Path) -> None:
    class Stopped(BaseException):
        pass

    class Stops(Silent):
        def advance(self, phase: str, units: int = 1, note: str = "") -> None:
            raise Stopped

    with LlmServer(obliging, key=KEY) as server:
        with pytest.raises(Stopped):
            generate(settings(tmp_path, server.base_url, captions(20), batch=True), Stops())
        plain = run(tmp_path, server)
        assert plain.travelling == plain.left == 12
        done = run(tmp_path, server, batch=True)
    assert (done.answered, done.left) == (20, 0)
    assert set(asked(server).values()) == {1}


def test_an_endpoint_without_batches(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refused(*_: object) -> None:
        raise AttemptError(FaultKind.MODEL, "Not Found")

    with LlmServer(obliging, key=KEY) as server:
        monkeypatch.setattr("pipelines.llm.batches.submit", refused)
        done = run(tmp_path, server, captions(20), batch=True)
        assert done.stopped is not None
        assert "without --batch" in done.stopped.fix
        assert (done.left, done.travelling, done.spent) == (20, 0, done.account.cost)
        plain = run(tmp_path, server)
    assert plain.answered == 20


def test_what_is_always_empty_is_paid_as_often_as_it_is_asked(tmp_path: Path) -> None:
    with LlmServer(obliging, key=KEY, script=meeting("empty")) as server:
        run(tmp_path, server, captions(5), batch=True)
        run(tmp_path, server, batch=True)
        with sqlite3.connect(tmp_path / "store.sqlite") as store:
            (booked,) = store.execute("SELECT sum(output_tokens) FROM purchases").fetchone()
    assert set(asked(server).values()) == {6}
    assert booked == server.billed_tokens[1]


def test_what_failed_is_asked_for_again_in_a_batch_too(tmp_path: Path) -> None:
    with LlmServer(obliging, key=KEY, script=meeting("refusal", 1)) as server:
        failed = run(tmp_path, server, captions(1), batch=True)
        done = run(tmp_path, server, batch=True, retry_failed=True)
    assert (failed.answered, done.answered, done.left) == (0, 1, 0)
