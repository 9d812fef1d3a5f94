"""The Batch API, and runs in batches: handed in, polled, collected, never paid twice."""

from __future__ import annotations

import asyncio
import sqlite3
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from pipelines.llm.money.prices import NANOS
from pipelines.llm.run import generate
from pipelines.llm.runner import StopKind
from pipelines.llm.wire.batch_api import collect, find_ended, submit
from pipelines.llm.wire.endpoint import Endpoint, EndpointSettings
from pipelines.llm.wire.errors import AttemptError, FaultKind
from pipelines.llm.wire.request import Capabilities, Reply, Request
from synth.base.progress import Silent
from tests.kit.llm_server import LlmServer
from tests.kit.llm_tasks import KEY, asked, captions, meeting, obliging, run, settings

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


def test_a_lost_batch_stops_nothing_and_a_wrong_key_all(monkeypatch: pytest.MonkeyPatch) -> None:
    with LlmServer() as server, pytest.raises(AttemptError) as caught:
        during(server, lambda endpoint: find_ended(endpoint, "batch_9"))
    assert caught.value.kind is FaultKind.BAD_REQUEST
    monkeypatch.setenv("SEGUE_TEST_KEY", "segue-test-wrong-key")
    with LlmServer(key="right") as server, pytest.raises(AttemptError) as caught:
        during(server, whole_cycle, "SEGUE_TEST_KEY")
    assert caught.value.kind is FaultKind.AUTH
    assert "wrong-key" not in str(caught.value)


# `--batch`: the same items, answered in batches.


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
