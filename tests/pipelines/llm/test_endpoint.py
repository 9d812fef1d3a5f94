"""One attempt through the real client: every way to fail has its kind, and its price."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from pipelines.llm.money.prices import Price
from pipelines.llm.wire.answer import find_runaway
from pipelines.llm.wire.endpoint import Endpoint, EndpointSettings
from pipelines.llm.wire.errors import AttemptError, FaultKind, classify_status, read_retry_after
from pipelines.llm.wire.probe import probe
from pipelines.llm.wire.request import (
    Capabilities,
    Reply,
    Request,
    Usage,
    bound_tokens,
    estimate_tokens,
)
from tests.kit.llm_server import LlmServer
from tests.kit.llm_tasks import KEY, ask_once, captions, items_of, obliging, run
from tests.kit.tables import read_data

SCHEMA = '{"properties":{"captions":{"type":"string"}},"required":["captions"],"type":"object"}'
ASKED = Request("caption", 1, "tiny", (("user", "A dog barks."),), SCHEMA, 200, 0.7, 7)
NO_STREAM = Capabilities(streaming=False)


def settings(server: LlmServer, timeout_s: float = 60.0) -> EndpointSettings:
    return EndpointSettings(server.base_url, "tiny", key_variable="none", timeout_s=timeout_s)


def ask(server: LlmServer, request: Request = ASKED, **options: Any) -> Reply:
    return ask_once(server, request, **options)


def fault(server: LlmServer, **options: Any) -> AttemptError:
    with pytest.raises(AttemptError) as caught:
        ask(server, **options)
    return caught.value


def test_a_good_answer_is_the_same_streamed_or_whole() -> None:
    with LlmServer() as server:
        reply = ask(server)
        assert json.loads(reply.text) == {"captions": "text"}
        assert (reply.finish, reply.model, reply.request_id) == ("stop", "tiny", "req-1")
        (bill,) = server.billed[server.body_hash(server.bodies[0])]
        assert reply.usage == Usage(*bill, cached_tokens=bill[0] // 2)
        assert server.bodies[0]["max_completion_tokens"] == 200
        assert server.bodies[0]["response_format"]["json_schema"]["strict"] is True
    with LlmServer(lambda body: "naïve déjà vu: 犬が吠える\n" * 9) as server:
        plain = replace(ASKED, schema="")
        assert ask(server, plain) == replace(ask(server, plain, able=NO_STREAM), request_id="req-1")
        assert ask(server, plain).text == "naïve déjà vu: 犬が吠える\n" * 9
    with LlmServer(streams=False) as server:
        assert json.loads(ask(server).text) == {"captions": "text"}


FAULTS = {  # By name: the kind, and whether it is billed.
    "rate_limit": (FaultKind.RATE_LIMIT, False),
    "server": (FaultKind.SERVER, False),
    "bad_request": (FaultKind.BAD_REQUEST, False),
    "auth": (FaultKind.AUTH, False),
    "quota": (FaultKind.QUOTA, False),
    "quota_402": (FaultKind.QUOTA, False),
    "model": (FaultKind.MODEL, False),
    "filter_400": (FaultKind.CONTENT_FILTER, False),
    "cut_off": (FaultKind.CUT_OFF, True),
    "refusal": (FaultKind.REFUSAL, True),
    "content_filter": (FaultKind.CONTENT_FILTER, True),
    "tool_calls": (FaultKind.REFUSAL, True),
    "function_call": (FaultKind.REFUSAL, True),
    "empty": (FaultKind.EMPTY, True),
    "whitespace": (FaultKind.RUNAWAY, True),
    "repetition": (FaultKind.RUNAWAY, True),
    "connection": (FaultKind.CONNECTION, False),
    "drop": (FaultKind.CONNECTION, True),
    "no_finish": (FaultKind.CONNECTION, True),
    "stream_error": (FaultKind.SERVER, True),
    "html": (FaultKind.SERVER, False),
}
OF_STREAMS = {"drop", "stream_error", "no_finish"}


@pytest.mark.parametrize("name", FAULTS)
def test_every_fault_has_its_kind_and_its_price(name: str) -> None:
    kind, is_billed = FAULTS[name]
    for able in (None, NO_STREAM)[: 1 if name in OF_STREAMS else 2]:
        with LlmServer(script=[name]) as server:
            found = fault(server, able=able)
        assert found.kind is kind
        assert found.is_final is (name in {"auth", "quota", "quota_402", "model"})
        assert (found.usage is not None) is is_billed
        assert found.__cause__ is None
        assert found.__context__ is None
        if name in ("cut_off", "refusal", "content_filter", "empty"):  # It told what it cost.
            assert (found.usage.input_tokens, found.usage.output_tokens) == server.billed_tokens


@pytest.mark.parametrize("name", ["whitespace", "repetition"])
def test_a_runaway_answer_is_cut_early_and_counted_from_above(name: str) -> None:
    with LlmServer(script=[name]) as server:
        asked = replace(ASKED, max_output_tokens=16_000)
        found = fault(server, request=asked)
    billed = server.billed_tokens[1]
    assert 0 < billed < 2000
    assert found.usage.output_tokens > 50


def test_an_answer_far_longer_than_allowed_is_a_runaway() -> None:
    text = " ".join(f"word{index}" for index in range(3000))

    class Heedless(LlmServer):
        def completion(self, body: dict[str, Any], fault: str) -> dict[str, Any]:
            return super().completion(body | {"max_completion_tokens": 10**6}, fault)

    with Heedless(lambda body: text) as server:
        assert fault(server, request=replace(ASKED, schema="")).kind is FaultKind.RUNAWAY
        with_room = replace(ASKED, schema="", max_output_tokens=9000)
        assert ask(server, with_room).text == text


@pytest.mark.parametrize(
    ("able", "timeout_s"),
    [(Capabilities(), 1.0), pytest.param(NO_STREAM, 10.0, marks=pytest.mark.slow)],
)
def test_silence_is_a_timeout(able: Capabilities, timeout_s: float) -> None:
    with LlmServer(script=["timeout"]) as server:
        found = fault(server, able=able, timeout_s=timeout_s)
        assert found.kind is FaultKind.TIMEOUT
        # A stream that never began cost nothing; a whole answer may have been written and paid.
        assert (found.usage is None) is able.streaming


@pytest.mark.slow
def test_an_answer_that_stalls_half_way_is_a_timeout_with_a_price() -> None:
    with LlmServer(script=["stall"]) as server:
        found = fault(server, timeout_s=10.0)
        assert found.kind is FaultKind.TIMEOUT
        assert found.usage.output_tokens >= 2


def test_nobody_at_the_address_is_a_connection_fault() -> None:
    gone = EndpointSettings("http://127.0.0.1:9/v1", "tiny", key_variable="none")

    async def once() -> None:
        async with Endpoint(gone) as endpoint:
            await endpoint.ask(ASKED)

    with pytest.raises(AttemptError) as caught:
        asyncio.run(once())
    assert (caught.value.kind, caught.value.usage) == (FaultKind.CONNECTION, None)


def test_the_client_underneath_never_retries() -> None:
    with LlmServer(script=["server", "connection"]) as server:
        for _ in range(2):
            fault(server)
        assert sum(server.requests.values()) == 2


def test_a_fault_or_an_end_from_outside_leaves_no_task_behind() -> None:
    async def count(name: str, cancelled: bool) -> int:
        with LlmServer(script=[name] * 4) as server:
            async with Endpoint(settings(server, 60.0 if cancelled else 0.3)) as endpoint:
                tasks = [asyncio.create_task(endpoint.ask(ASKED)) for _ in range(4)]
                while cancelled and len(server.bodies) < 4:
                    await asyncio.sleep(0.01)
                for task in tasks:
                    cancelled and task.cancel()
                ends = await asyncio.gather(*tasks, return_exceptions=True)
            assert all(isinstance(end, asyncio.CancelledError | AttemptError) for end in ends)
        return len(asyncio.all_tasks()) - 1

    for name in ("timeout", "stall", "whitespace", "drop"):
        assert [asyncio.run(count(name, cancelled)) for cancelled in (False, True)] == [0, 0], name


def test_requests_are_worded_as_the_endpoint_understands_them() -> None:
    able = Capabilities(
        limit="max_tokens", schema=False, temperature=False, seed=False, stream_usage=False
    )
    with LlmServer() as server:
        ask(server, able=able)
        body = server.bodies[0]
    assert set(body) == {"model", "messages", "max_tokens", "response_format", "stream"}
    assert body["response_format"] == {"type": "json_object"}
    assert SCHEMA in body["messages"][-1]["content"]


# Requests, their keys, and what the headers and codes of a fault mean.


def test_the_key_is_pinned_and_covers_everything_that_determines_the_answer() -> None:
    changes: list[dict[str, Any]] = [
        {"prompt": "other"},
        {"version": 2},
        {"model": "big"},
        {"messages": (("system", "A dog barks."),)},
        {"messages": (("user", "A dog barks"), ("", "."))},
        {"schema": ""},
        {"max_output_tokens": 201},
        {"temperature": 0.71},
        {"seed": None},
    ]
    keys = {ASKED.key, *(replace(ASKED, **change).key for change in changes)}
    assert len(keys) == 1 + len(changes)
    assert ASKED.key[:16] == "c3666e594587c6ee"
    assert replace(ASKED, temperature=1).key == replace(ASKED, temperature=1.0).key


def test_retry_after_is_read() -> None:
    date = {"date": "Sat, 21 Nov 2026 10:00:00 GMT"}
    for wait, seconds in (
        ("3", 3.0),
        ("2.5", 2.5),
        ("-4", 0.0),
        ("inf", None),
        ("soon", None),
        ("Sat, 21 Nov 2026 10:00:42 GMT", 42.0),
        ("Sat, 21 Nov 2026 09:00:00 GMT", 0.0),
    ):
        assert read_retry_after(date | {"retry-after": wait}) == seconds
    assert read_retry_after({"retry-after-ms": "250", "retry-after": "3"}) == 0.25
    assert read_retry_after({}) is None


def test_codes_within_a_stream_are_read_and_tokens_bounded_by_bytes() -> None:
    assert classify_status(None, 429) is FaultKind.RATE_LIMIT
    assert classify_status(None, "402") is FaultKind.QUOTA
    assert classify_status(None, None) is FaultKind.SERVER
    assert classify_status(None, 7) is FaultKind.SERVER
    assert classify_status(418) is FaultKind.BAD_REQUEST
    dogs = replace(ASKED, messages=(("user", "犬" * 40),), schema="")
    assert estimate_tokens(dogs) == 10 + 2 * 8 + 32
    assert bound_tokens(dogs) == 120 + 2 * 8 + 32


def test_text_that_comes_to_no_end_is_told_and_what_may_end_well_is_let_run() -> None:
    endless = ["{" + " " * 300, "\n" * 300, "the same again, " * 60, "a" * 700]
    for text in (*endless, "word soup " * 4000):
        assert find_runaway(text, 100)
    good = ["", "A dog barks, then a siren wails." * 3, "{\n" + " " * 200, '[{"ok": true}, ' * 30]
    good += [" ".join(f"clip {index}: rain" for index in range(150)), "犬が吠える。" * 15]
    assert [text for text in good if find_runaway(text, 1000)] == []


# The probe finds what an endpoint can do, and costs next to nothing.


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


@pytest.mark.parametrize(("name", "options", "expected"), read_data("llm/flavours.yaml"))
def test_each_flavour_is_found_out(
    name: str, options: dict[str, Any], expected: dict[str, Any]
) -> None:
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
