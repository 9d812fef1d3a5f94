"""The one place where a request is asked again. The client underneath never retries."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from types import TracebackType
from typing import TypeAlias

from pipelines.llm.wire.errors import AttemptError, FaultKind
from pipelines.llm.wire.request import Reply, Request
from synth.base.rng import uniform_hash

Ask: TypeAlias = Callable[[Request], Awaitable[Reply]]
Sleep: TypeAlias = Callable[[float], Awaitable[object]]
Clock: TypeAlias = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Policy:
    """How often, and for how long, one request is asked.

    Args:
        attempts: The most attempts, the first one included.
        base_s: Ceiling of the first wait; each further wait may be twice as long.
        cap_s: Ceiling of any wait that the endpoint did not ask for.
        deadline_s: No wait begins that would end later than this after the first attempt.
    """

    attempts: int = 6
    base_s: float = 1.0
    cap_s: float = 60.0
    deadline_s: float = 900.0


class RequestGate:
    """Bounds how many requests an endpoint has at a time; all wait when one is told to."""

    def __init__(
        self, concurrency: int, *, sleep: Sleep = asyncio.sleep, clock: Clock = time.monotonic
    ) -> None:
        self._places = asyncio.Semaphore(concurrency)
        self._sleep = sleep
        self._clock = clock
        self._closed_until = float("-inf")

    @property
    def wait_s(self) -> float:
        """Seconds until anybody may enter; 0 when open."""
        return max(0.0, self._closed_until - self._clock())

    def pause(self, seconds: float) -> None:
        """Nobody enters for `seconds` from now."""
        self._closed_until = max(self._closed_until, self._clock() + seconds)

    async def __aenter__(self) -> None:
        await self._places.acquire()
        try:
            await self._wait_until_open()
        except BaseException:
            self._places.release()
            raise

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._places.release()

    async def _wait_until_open(self) -> None:
        served = float("-inf")
        while self._closed_until > max(served, self._clock()):
            served = self._closed_until
            await self._sleep(served - self._clock())


def compute_backoff(request: Request, attempt: int, policy: Policy) -> float:
    """Seconds to wait after the `attempt`-th failure (from 1): full jitter, and always the same."""
    ceiling = min(policy.cap_s, policy.base_s * 2.0 ** (attempt - 1))
    return uniform_hash("llm backoff", request.key, str(attempt)) * ceiling


async def ask_with_retries(
    ask: Ask,
    request: Request,
    policy: Policy,
    sleep: Sleep = asyncio.sleep,
    *,
    gate: RequestGate | None = None,
    clock: Clock = time.monotonic,
) -> Reply:
    """The reply to `request`, asked again as its faults allow.

    Passing faults are asked again after what the endpoint said, or after a growing wait; a reply
    that was cut off is asked once more, at once, with twice the room. Every call of `ask` may cost
    money, failed ones too (`AttemptError.usage`): keep the account inside `ask`.

    Args:
        ask: One attempt.
        request: What to ask. The answer belongs to this request's key, whatever room it was given.
        policy: When to give up.
        gate: Shared by all requests to one endpoint; held during an attempt, not between attempts.
        clock: Seconds on a clock that never goes back.
    """
    asked = request
    end = clock() + policy.deadline_s
    attempt = 0
    while True:
        attempt += 1
        _check_gate(gate, end - clock())
        try:
            return await _attempt(ask, asked, gate)
        except AttemptError as fault:
            if attempt >= policy.attempts:
                raise
            if fault.kind is FaultKind.CUT_OFF and asked is request:
                asked = replace(request, max_output_tokens=2 * request.max_output_tokens)
                continue
            if not fault.is_passing:
                raise
            wait = fault.retry_after or compute_backoff(request, attempt, policy)
            if clock() + wait > end:
                raise
        await sleep(wait)


def _check_gate(gate: RequestGate | None, left_s: float) -> None:
    if gate is not None and gate.wait_s > left_s:
        message = f"the endpoint asked everybody to wait {gate.wait_s:.0f} s, which is too long"
        raise AttemptError(FaultKind.RATE_LIMIT, message, retry_after=gate.wait_s)


async def _attempt(ask: Ask, request: Request, gate: RequestGate | None) -> Reply:
    if gate is None:
        return await ask(request)
    async with gate:
        try:
            return await ask(request)
        except AttemptError as fault:
            if fault.retry_after and fault.is_passing:
                gate.pause(fault.retry_after)
            raise
