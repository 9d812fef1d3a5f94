"""The probe finds what an endpoint can do, and costs next to nothing."""

from __future__ import annotations

import asyncio
import sqlite3
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from pipelines.llm.money.prices import Price
from pipelines.llm.wire.endpoint import Endpoint, EndpointSettings
from pipelines.llm.wire.errors import AttemptError, FaultKind
from pipelines.llm.wire.probe import probe
from pipelines.llm.wire.request import Capabilities, Request
from tests.kit.llm_server import LlmServer
from tests.kit.llm_tasks import KEY, captions, items_of, obliging, run

SCHEMA = (
    '{"additionalProperties":false,"properties":{"captions":{"type":"string"}},'
    '"required":["captions"],"type":"object"}'
)
ASKED = Request("caption", 1, "tiny", (("user", "A dog barks."),), SCHEMA, 100, 0.7, 7)


async def no_sleep(seconds: float) -> None: ...


def probed(server: LlmServer, key: str = "none") -> Capabilities:
    """What the probe finds; a request worded accordingly must then be accepted."""

    async def work() -> Capabilities:
        async with Endpoint(EndpointSettings(server.base_url, "tiny", key)) as endpoint:
            found = await probe(endpoint, endpoint.ask_as, no_sleep)
            assert endpoint.capabilities is found
            await endpoint.ask(ASKED)
            return found

    return asyncio.run(work())


FLAVOURS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "takes everything": ({}, {}),
    "rejects max_tokens": ({"rejects": ["max_tokens"]}, {}),
    "rejects max_completion_tokens": (
        {"rejects": ["max_completion_tokens"]},
        {"limit": "max_tokens"},
    ),
    "ignores response_format": ({"ignores_format": True}, {"schema": False}),
    "rejects json_schema": ({"rejects": ["json_schema"]}, {"schema": False}),
    "rejects every format": (
        {"rejects": ["response_format"]},
        {"schema": False, "json_object": False},
    ),
    "ignores a schema and rejects json_object": (
        {"ignores_format": True, "rejects": ["json_object"]},
        {"schema": False, "json_object": False},
    ),
    "takes no temperature": ({"rejects": ["temperature"]}, {"temperature": False}),
    "takes no seed": ({"rejects": ["seed"]}, {"seed": False}),
    "does not stream": (
        {"rejects": ["stream", "stream_options"]},
        {"streaming": False, "stream_usage": False},
    ),
    "does not say what a stream costs": ({"rejects": ["stream_options"]}, {"stream_usage": False}),
    "an old local server": (
        {"rejects": ["max_completion_tokens", "json_schema", "seed", "stream_options"]},
        {"limit": "max_tokens", "schema": False, "seed": False, "stream_usage": False},
    ),
}


@pytest.mark.parametrize("name", FLAVOURS)
def test_each_flavour_is_found_out(name: str) -> None:
    options, expected = FLAVOURS[name]
    with LlmServer(**options) as server:
        found = probed(server)
        asked = sum(server.requests.values()) - 1
    assert found == replace(Capabilities(), **expected)
    assert asked <= 10
    if name == "takes everything":
        assert asked == 1


@pytest.mark.parametrize("name", ["auth", "model", "quota", "rate_limit", "server", "bad_request"])
def test_an_endpoint_that_cannot_be_used_is_a_fault(name: str) -> None:
    with LlmServer(script=lambda body, attempt: name) as server:
        with pytest.raises(AttemptError) as caught:
            probed(server)
        assert caught.value.kind is FaultKind[name.upper()]
        assert server.billed_tokens == (0, 0)
        if caught.value.is_final:
            assert sum(server.requests.values()) == 1


@pytest.mark.parametrize("name", ["rate_limit", "server", "drop", "empty"])
def test_a_passing_fault_does_not_change_what_is_found(name: str) -> None:
    script = [name] if name != "empty" else []
    with LlmServer(script=script) as server:
        assert probed(server) == Capabilities()


@pytest.mark.parametrize("name", ["whitespace", "empty", "refusal", "content_filter"])
def test_an_endpoint_that_makes_nothing_of_a_schema_is_not_given_one(name: str) -> None:
    def script(body: dict[str, Any], attempt: int) -> str:
        kind = (body.get("response_format") or {}).get("type")
        return name if kind == "json_schema" else ""

    with LlmServer(script=script) as server:
        found = probed(server)
    assert (found.schema, found.json_object) == (False, True)


def test_a_cut_off_answer_ignores_no_schema_and_who_breaks_on_a_format_is_asked_without() -> None:
    def cut_off(body: dict[str, Any], attempt: int) -> str:
        return "cut_off" if "greeting" in body["messages"][0]["content"] else ""

    def break_off(body: dict[str, Any], attempt: int) -> str:
        return "server" if "response_format" in body else ""

    with LlmServer(script=cut_off) as server:
        assert probed(server).schema
    with LlmServer(script=break_off) as server:
        found = probed(server)
    assert (found.schema, found.json_object) == (False, False)


# What the first small requests cost is booked, however they end.


_PRICE = Price(input=Decimal(1), cached=Decimal("0.5"), output=Decimal(4))


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
        done = run(tmp_path, server, captions(5))
        billed = server.billed_tokens
    assert done.stopped is not None
    assert min(billed) > 0
    sent, answered, cost = _booked(tmp_path)
    assert (sent, answered) == billed == (done.account.input_tokens, done.account.output_tokens)
    assert _PRICE.compute_cost(sent, answered, sent) <= cost <= _PRICE.compute_cost(*billed)
    assert done.spent == done.account.cost == cost
    assert sum(done.account.faults.values()) == 1


@pytest.mark.slow
def test_a_probe_without_an_answer_may_be_on_the_bill(tmp_path: Path) -> None:
    def script(body: dict[str, Any], attempt: int) -> str:
        return "" if items_of(body) or attempt else "timeout"

    with LlmServer(obliging, key=KEY, script=script) as server:
        done = run(tmp_path, server, captions(5), timeout_s=10.0)
    assert done.answered == 5
    assert _booked(tmp_path)[2] >= _PRICE.compute_cost(0, 1024)
    assert done.account.uncertain >= _PRICE.compute_cost(0, 1024)


def test_a_probe_never_costs_more_than_was_reserved(tmp_path: Path) -> None:
    def script(body: dict[str, Any], attempt: int) -> str:
        return "server" if "response_format" in body else "late"

    headers = {"retry-after": "0.01"}
    with LlmServer(obliging, key=KEY, script=script, retry_headers=headers) as server:
        done = run(tmp_path, server, captions(5))
    assert done.stopped is not None
    assert done.spent <= _PRICE.compute_cost(10_000, 10 * 1024)
    assert done.spent >= _PRICE.compute_cost(0, 4 * 1024)
