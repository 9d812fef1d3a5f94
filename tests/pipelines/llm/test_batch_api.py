"""The Batch API through the real client: handed in, polled, collected, and never paid twice."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeVar

import pytest

from pipelines.llm.wire.batch_api import collect, find_ended, submit
from pipelines.llm.wire.endpoint import Endpoint, EndpointSettings
from pipelines.llm.wire.errors import AttemptError, FaultKind
from pipelines.llm.wire.request import Capabilities, Reply, Request
from tests.kit.llm_server import LlmServer

T = TypeVar("T")
REQUESTS = [
    Request("caption", 1, "tiny", (("user", f"Clip {index}: é 犬\n."),), "", 50, 0.7, index)
    for index in range(8)
]
BY_KEY = {request.key: request for request in REQUESTS}
KEYS = tuple(BY_KEY)
Collected = tuple[dict[str, Reply], dict[str, AttemptError]]


def during(server: LlmServer, work: Callable[[Endpoint], Awaitable[T]], key: str = "none") -> T:
    async def run() -> T:
        settings = EndpointSettings(server.base_url, "tiny", key)
        async with Endpoint(settings, Capabilities(limit="max_tokens")) as endpoint:
            return await work(endpoint)

    return asyncio.run(run())


async def whole_cycle(endpoint: Endpoint) -> Collected:
    batch = await submit(endpoint, BY_KEY, {})
    while (ended := await find_ended(endpoint, batch)) is None:
        await asyncio.sleep(0)
    return await collect(endpoint, ended, BY_KEY)


def test_a_whole_cycle_brings_the_answers_that_asking_one_by_one_brings() -> None:
    async def one_by_one(endpoint: Endpoint) -> dict[str, Reply]:
        return {request.key: await endpoint.ask(request) for request in REQUESTS}

    with LlmServer() as server:
        replies, faults = during(server, whole_cycle)
        assert not faults
        assert set(server.requests.values()) == {1}
        assert "stream" not in server.bodies[0]
        assert server.bodies[0]["max_tokens"] == 50
        cost = [sum(getattr(reply.usage, name) for reply in replies.values()) for name in COUNTS]
        assert tuple(cost) == server.billed_tokens
        direct = during(server, one_by_one)
    plain = {key: replace(reply, request_id="") for key, reply in replies.items()}
    assert plain == {key: replace(reply, request_id="") for key, reply in direct.items()}


COUNTS = ("input_tokens", "output_tokens")


def test_states_follow_the_batch() -> None:
    async def states(endpoint: Endpoint) -> list[bool]:
        batch = await submit(endpoint, BY_KEY, {})
        return [await find_ended(endpoint, batch) is not None for _ in range(4)]

    with LlmServer(batch_polls=2) as server:
        assert during(server, states) == [False, False, True, True]


def test_lines_fail_one_by_one_each_with_its_kind() -> None:
    names = ["", "server", "cut_off", "refusal", "rate_limit", "", "whitespace", "model"]
    with LlmServer(script=names) as server:
        replies, faults = during(server, whole_cycle)
    kinds = ["runaway" if name == "whitespace" else name for name in names]
    assert [faults[key].kind.name.lower() if key in faults else "" for key in KEYS] == kinds
    assert set(replies) | set(faults) == set(KEYS)
    assert not set(replies) & set(faults)
    for name, key in zip(names, KEYS, strict=True):
        if key in faults:
            billed = name in ("cut_off", "refusal", "whitespace")
            assert (faults[key].usage is not None) is billed


def test_what_a_broken_batch_left_can_be_asked_again() -> None:
    for end, kind, answered in (
        ("expired", FaultKind.TIMEOUT, 4),
        ("cancelled", FaultKind.SERVER, 4),
        ("failed", FaultKind.SERVER, 0),
    ):
        with LlmServer(batch_end=end) as server:
            replies, faults = during(server, whole_cycle)
        assert (len(replies), len(faults)) == (answered, 8 - answered)
        assert {fault.kind for fault in faults.values()} == {kind}
        assert all(fault.is_passing and fault.usage is None for fault in faults.values())


def test_lines_that_are_missing_or_unreadable_are_faults() -> None:
    class Torn(LlmServer):
        def add_file(self, data: bytes) -> dict[str, Any]:
            if b'"response"' in data:
                lines = data.splitlines()
                data = b"\n".join([b"{torn", b"[]", b'{"custom_id": "other"}', *lines[:5]])
            return super().add_file(data)

    with Torn() as server:
        replies, faults = during(server, whole_cycle)
    assert len(replies) == 5
    assert {fault.kind for fault in faults.values()} == {FaultKind.SERVER}
    assert set(replies) | set(faults) == set(KEYS)


async def hand_in_twice(endpoint: Endpoint) -> tuple[str, str]:
    first = await submit(endpoint, BY_KEY, {})
    await find_ended(endpoint, first)
    await find_ended(endpoint, first)
    return first, await submit(endpoint, dict(reversed(BY_KEY.items())), {})


def test_only_what_came_to_nothing_is_handed_in_twice() -> None:
    for server, is_found in (
        (LlmServer(batch_end="completed"), True),
        (LlmServer(batch_end="expired"), True),
        (LlmServer(batch_end="failed"), False),
        (LlmServer(batch_end="cancelled"), False),
        (LlmServer(script=["server"] * 8), False),
    ):
        with server:
            first, second = during(server, hand_in_twice)
        assert (second == first) is is_found
        assert not is_found or set(server.requests.values()) == {1}


async def hand_in_again_among_many(endpoint: Endpoint, server: LlmServer) -> list[str]:
    first = await submit(endpoint, BY_KEY, {})
    server.add_foreign_batches(250)
    return [first, await submit(endpoint, BY_KEY, {})]


def test_a_batch_is_found_behind_others_and_an_endless_list_is_left() -> None:
    with LlmServer() as server:
        first, second = during(server, lambda each: hand_in_again_among_many(each, server))
        assert second == first
        assert Counter(server.paths)["/batches"] == 1 + 1 + 3  # a list, a batch, three pages

    class AlwaysTheSame(LlmServer):
        def batches(self, limit: int = 20, after: str = "") -> dict[str, Any]:
            return super().batches(limit) | {"has_more": True}

    with AlwaysTheSame() as server:
        server.add_foreign_batches(250)
        assert during(server, lambda each: submit(each, BY_KEY, {})) == "batch_250"
        assert Counter(server.paths)["/batches"] <= 3


def test_a_list_that_breaks_off_buys_nothing_again_and_none_is_needed() -> None:
    class BreaksOff(LlmServer):
        def batches(self, limit: int = 20, after: str = "") -> dict[str, Any]:
            return super().batches(limit) if not after else {"error": {"message": "no such page"}}

    with BreaksOff() as server:
        with pytest.raises(AttemptError) as caught:
            during(server, lambda each: hand_in_again_among_many(each, server))
        assert caught.value.is_passing
        assert Counter(server.paths)["/files"] == 1

    class NoList(LlmServer):
        def batches(self, limit: int = 20, after: str = "") -> dict[str, Any]:
            return {"object": "list", "data": None}

    with NoList() as server:
        assert len(during(server, whole_cycle)[0]) == 8


def test_a_batch_that_is_gone_stops_no_run_and_a_wrong_key_is_final(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with LlmServer() as server, pytest.raises(AttemptError) as caught:
        during(server, lambda endpoint: find_ended(endpoint, "batch_9"))
    assert caught.value.kind is FaultKind.BAD_REQUEST
    monkeypatch.setenv("SEGUE_TEST_KEY", "segue-test-wrong-key")
    with LlmServer(key="right") as server, pytest.raises(AttemptError) as caught:
        during(server, whole_cycle, "SEGUE_TEST_KEY")
    assert caught.value.kind is FaultKind.AUTH
    assert "wrong-key" not in str(caught.value)
