"""What the first small requests cost is booked, however they end."""

from __future__ import annotations

import sqlite3
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from llm_server import LlmServer
from llm_tasks import KEY, KEY_VARIABLE, captions, items_of, obliging, settings

from pipelines.llm.money.prices import Price
from pipelines.llm.run import GenerateSummary, generate
from synth.base.progress import Silent

_PRICE = Price(input=Decimal(1), cached=Decimal("0.5"), output=Decimal(4))


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)


def _run(folder: Path, server: LlmServer, **changes: Any) -> GenerateSummary:
    return generate(settings(folder, server.base_url, captions(5), **changes), Silent())


def _booked(folder: Path) -> tuple[int, int, int]:
    """Tokens in and out, and the account."""
    with sqlite3.connect(folder / "store.sqlite") as store:
        query = "SELECT sum(input_tokens), sum(output_tokens), sum(cost) FROM purchases"
        sent, answered, cost = store.execute(query).fetchone()
        assert store.execute("SELECT sum(spent) FROM jobs").fetchone() == (cost,)
    return sent, answered, cost


@pytest.mark.parametrize("fault", ["quota", "rate_limit"])
def test_a_probe_that_fails_after_an_answer_is_booked(tmp_path: Path, fault: str) -> None:
    def script(body: dict[str, Any], attempt: int) -> str:
        return fault if "temperature" in body else ""

    headers = {"retry-after": "0.01"}
    with LlmServer(
        obliging, key=KEY, script=script, rejects=["response_format"], retry_headers=headers
    ) as server:
        done = _run(tmp_path, server)
        billed = server.billed_tokens
    assert done.stopped is not None
    assert min(billed) > 0
    sent, answered, cost = _booked(tmp_path)
    assert (sent, answered) == billed == (done.account.input_tokens, done.account.output_tokens)
    assert _PRICE.compute_cost(sent, answered, sent) <= cost <= _PRICE.compute_cost(*billed)
    assert done.spent == done.account.cost == cost
    assert sum(done.account.faults.values()) == 1


def test_a_probe_without_an_answer_may_be_on_the_bill(tmp_path: Path) -> None:
    def script(body: dict[str, Any], attempt: int) -> str:
        return "" if items_of(body) or attempt else "timeout"

    with LlmServer(obliging, key=KEY, script=script) as server:
        done = _run(tmp_path, server, timeout_s=10.0)
    assert done.answered == 5
    assert _booked(tmp_path)[2] >= _PRICE.compute_cost(0, 1024)
    assert done.account.uncertain >= _PRICE.compute_cost(0, 1024)


def test_a_probe_never_costs_more_than_was_reserved(tmp_path: Path) -> None:
    def script(body: dict[str, Any], attempt: int) -> str:
        return "server" if "response_format" in body else "late"

    headers = {"retry-after": "0.01"}
    with LlmServer(obliging, key=KEY, script=script, retry_headers=headers) as server:
        done = _run(tmp_path, server)
    assert done.stopped is not None
    assert done.spent <= _PRICE.compute_cost(10_000, 10 * 1024)
    assert done.spent >= _PRICE.compute_cost(0, 4 * 1024)
