"""One retry layer: what is asked again, when, how often; and the gate all requests share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest

from pipelines.llm.wire.endpoint import Endpoint, EndpointSettings
from pipelines.llm.wire.errors import (
    FINAL,
    AttemptError,
    FaultKind,
    Policy,
    RequestGate,
    ask_with_retries,
    compute_backoff,
)
from pipelines.llm.wire.errors import PASSING as ASKED_AGAIN
from pipelines.llm.wire.request import Reply, Request, Usage
from tests.kit.llm_server import LlmServer

ASKED = Request("caption", 1, "tiny", (("user", "A dog barks."),), "", 100, 0.7, None)
GOOD = Reply("fine", "stop", Usage(1, 1), "tiny", "r")
POLICY = Policy(attempts=4, base_s=1.0, cap_s=8.0, deadline_s=100.0)


@dataclass
class FakeTime:
    """A clock that moves only when somebody sleeps."""

    now: float = 0.0
    slept: list[float] = field(default_factory=list)

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)

    def clock(self) -> float:
        return self.now


@dataclass
class Script:
    """An endpoint that works off a list of faults and then answers."""

    faults: list[AttemptError]
    asked: list[Request] = field(default_factory=list)

    async def __call__(self, request: Request) -> Reply:
        self.asked.append(request)
        if self.faults:
            raise self.faults.pop(0)
        return GOOD


def retried(script: Script, policy: Policy = POLICY) -> tuple[Reply | AttemptError, FakeTime]:
    time = FakeTime()

    async def work() -> Reply | AttemptError:
        try:
            return await ask_with_retries(script, ASKED, policy, time.sleep, clock=time.clock)
        except AttemptError as fault:
            return fault

    return asyncio.run(work()), time


@pytest.mark.parametrize("kind", FaultKind)
def test_only_passing_faults_are_asked_again(kind: FaultKind) -> None:
    script = Script([AttemptError(kind, "no")])
    outcome, time = retried(script)
    again = kind in ASKED_AGAIN or kind is FaultKind.CUT_OFF
    assert (outcome is GOOD) is again
    assert len(script.asked) == (2 if again else 1)
    assert bool(time.slept) is (kind in ASKED_AGAIN)
    assert not (kind in FINAL and again)


def test_what_is_asked_again_has_its_attempts_room_and_wait() -> None:
    faults = [AttemptError(FaultKind.SERVER, f"no {index}") for index in range(9)]
    script = Script(list(faults))
    outcome, time = retried(script)
    assert outcome is faults[3]
    assert len(script.asked) == 4
    assert len(time.slept) == 3
    cut = AttemptError(FaultKind.CUT_OFF, "cut", usage=Usage(5, 100))
    script = Script([cut])
    outcome, time = retried(script)
    assert outcome is GOOD
    assert [request.max_output_tokens for request in script.asked] == [100, 200]
    assert not time.slept
    script = Script([cut, cut])
    assert retried(script)[0] is cut
    assert len(script.asked) == 2
    busy = AttemptError(FaultKind.RATE_LIMIT, "busy", retry_after=17.0)
    assert retried(Script([busy]))[1].slept == [17.0]
    busy = AttemptError(FaultKind.RATE_LIMIT, "busy", retry_after=0.0)
    assert retried(Script([busy]))[1].slept == [compute_backoff(ASKED, 1, POLICY)]


@pytest.mark.parametrize("wait", [101.0, 86_400.0])
def test_no_wait_goes_past_the_deadline(wait: float) -> None:
    busy = AttemptError(FaultKind.RATE_LIMIT, "busy", retry_after=wait)
    outcome, time = retried(Script([busy]))
    assert outcome is busy
    assert not time.slept


def test_waits_are_jittered_bounded_and_always_the_same() -> None:
    others = [replace(ASKED, seed=seed) for seed in range(200)]
    for attempt in range(1, 9):
        ceiling = min(8.0, 2.0 ** (attempt - 1))
        waits = [compute_backoff(request, attempt, POLICY) for request in others]
        assert waits == [compute_backoff(request, attempt, POLICY) for request in others]
        assert 0 <= min(waits) < 0.05 * ceiling
        assert 0.95 * ceiling < max(waits) < ceiling
        assert len(set(waits)) == 200
    assert compute_backoff(ASKED, 1, POLICY) == pytest.approx(0.6687696845740692, abs=1e-12)


def gate_run(
    count: int, ask: Callable[[Request, FakeTime], None], places: int
) -> tuple[list[float], FakeTime]:
    """Times at which `count` requests were let in."""
    time, entered = FakeTime(), []

    async def once(request: Request) -> Reply:
        entered.append(time.now)
        await asyncio.sleep(0)
        ask(request, time)
        return GOOD

    async def work() -> None:
        gate = RequestGate(places, sleep=time.sleep, clock=time.clock)
        requests = [replace(ASKED, seed=seed) for seed in range(count)]
        await asyncio.gather(
            *(
                ask_with_retries(once, request, POLICY, time.sleep, gate=gate, clock=time.clock)
                for request in requests
            )
        )

    asyncio.run(work())
    return entered, time


def test_when_one_is_told_to_wait_the_others_wait_too() -> None:
    told: list[int] = []

    def ask(request: Request, time: FakeTime) -> None:
        if not told:
            told.append(1)
            raise AttemptError(FaultKind.RATE_LIMIT, "busy", retry_after=30.0)

    entered, _ = gate_run(6, ask, places=2)
    # The two inside when the word came had begun; nobody else does before the time is up.
    assert sorted(entered)[:2] == [0.0, 0.0]
    assert all(moment >= 30.0 for moment in sorted(entered)[2:])
    assert len(entered) == 7


def test_a_pause_longer_than_the_deadline_is_not_waited_for() -> None:
    time, script = FakeTime(), Script([])

    async def work() -> None:
        gate = RequestGate(2, sleep=time.sleep, clock=time.clock)
        gate.pause(101.0)
        await ask_with_retries(script, ASKED, POLICY, time.sleep, gate=gate, clock=time.clock)

    with pytest.raises(AttemptError, match="everybody") as caught:
        asyncio.run(work())
    assert caught.value.kind is FaultKind.RATE_LIMIT
    assert not script.asked
    assert not time.slept


def test_a_longer_pause_outlives_a_shorter_one() -> None:
    time = FakeTime()

    async def work() -> None:
        gate = RequestGate(1, sleep=time.sleep, clock=time.clock)
        gate.pause(20.0)
        gate.pause(5.0)
        async with gate:
            assert time.now == 20.0

    asyncio.run(work())


def test_cancelled_in_the_gate_it_gives_its_place_back() -> None:
    async def work() -> None:
        gate = RequestGate(1)
        gate.pause(1000.0)
        task = asyncio.create_task(gate.__aenter__())
        await asyncio.sleep(0.01)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert not gate._places.locked()

    asyncio.run(work())


def test_retry_after_is_honoured_over_http() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    async def work(server: LlmServer) -> Reply:
        settings = EndpointSettings(server.base_url, "tiny", "none")
        async with Endpoint(settings) as endpoint:
            return await ask_with_retries(endpoint.ask, ASKED, POLICY, sleep)

    with LlmServer(script=["rate_limit"], retry_headers={"retry-after-ms": "1500"}) as server:
        assert asyncio.run(work(server)).text == "You said: A dog barks."
        assert sum(server.requests.values()) == 2
    assert slept == [1.5]
