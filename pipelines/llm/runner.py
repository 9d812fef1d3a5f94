"""Asks for every item until it is settled: bounded, within budget, and resumable at any moment."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import partial
from typing import Any, Final

from pipelines.llm.money.budget import Budget, DoesNotFitError
from pipelines.llm.money.ledger import Ledger
from pipelines.llm.money.store import ItemState, RequestMember, Status
from pipelines.llm.second import apply_fault, count_settled, judge_reply
from pipelines.llm.tasks import PromptTask, Queue, make_members
from pipelines.llm.wire.errors import (
    Ask,
    AttemptError,
    FaultKind,
    Policy,
    RequestGate,
    ask_with_retries,
)
from pipelines.llm.wire.request import Reply, Request
from synth.base.progress import Observer

PHASE: Final = "ask"
_TASKS_A_PLACE: Final = 2
"""While one request waits for its next attempt, another one uses its place."""

_BARREN: Final = 8
"""So many requests in a row without one answer: the endpoint is out of order."""

_POLL_S: Final = 0.2
_MAY_BE_SMALLER: Final = frozenset({FaultKind.TIMEOUT, FaultKind.EMPTY})


class _StoppedError(Exception):
    """The run ends: nothing new is sent."""


@dataclass(slots=True)
class _Batch:
    """Items under way in one request."""

    members: tuple[RequestMember, ...]
    states: Mapping[str, ItemState]
    request: Request
    purchase: int = 0


class ItemRunner:
    """Buys answers for items."""

    def __init__(
        self,
        task: PromptTask,
        items: Mapping[str, Mapping[str, Any]],
        ledger: Ledger,
        budget: Budget,
        ask: Ask,
        policy: Policy,
        concurrency: int,
        observer: Observer,
        phase: str = PHASE,
    ) -> None:
        self._task = task
        self._items = items
        self._ledger = ledger
        self._budget = budget
        self._ask = ask
        self._policy = policy
        self._observer = observer
        self._phase = phase
        self._gate = RequestGate(concurrency)
        self._places = _TASKS_A_PLACE * concurrency
        self._queue = Queue(task.prompt.batch)
        self._elsewhere: set[str] = set()
        self._sending: set[asyncio.Task[None]] = set()
        self._running: set[asyncio.Task[None]] = set()
        self._barren = 0
        self._fruitful = False
        self._full = False
        self.stopped: Stop | None = None

    def stop(self, stop: Stop) -> None:
        """End the run: what is sent is waited for, nothing else is sent."""
        if self.stopped is None:
            self.stopped = stop
        for task in self._running - self._sending - {asyncio.current_task()}:
            task.cancel()

    async def run(self, waiting: Mapping[str, ItemState]) -> None:
        """Ask until all is settled, or the run is stopped."""
        self._observer.start(self._phase, len(waiting), "items", done=0)
        self._queue.put(waiting)
        try:
            await self._loop()
        finally:
            await self._drain()
        if self.stopped is None:
            self._observer.finish(self._phase)

    async def _loop(self) -> None:
        while self.stopped is None:
            while len(self._running) < self._places and not self._full and self._start_one():
                pass
            if self._running:
                await self._wait_for_one()
            elif self._full:
                self.stop(Stop.for_budget())
            elif not await self._look_elsewhere():
                return

    async def _drain(self) -> None:
        """Wait for what is sent."""
        for task in self._running - self._sending:
            task.cancel()
        while self._running:
            await self._wait_for_one()

    async def _wait_for_one(self) -> None:
        done, self._running = await asyncio.wait(self._running, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            with suppress(asyncio.CancelledError):
                task.result()

    def _start_one(self) -> bool:
        """Send a request with the next items that nobody else is asking for."""
        digests = self._queue.take()
        if not digests:
            return False
        states = self._ledger.claim(digests)
        self._elsewhere.update(set(digests) - states.keys())
        if states:
            mine = make_members(list(states), self._items)
            batch = _Batch(mine, states, self._task.make_request(mine, states))
            self._running.add(asyncio.create_task(self._run_batch(batch)))
        return True

    async def _run_batch(self, batch: _Batch) -> None:
        attempt = partial(self._attempt, batch)
        try:
            reply = await ask_with_retries(attempt, batch.request, self._policy, gate=self._gate)
        except DoesNotFitError:
            self._full = True
            self._give_back(batch)
        except (_StoppedError, asyncio.CancelledError):
            self._give_back(batch)
        except AttemptError as fault:
            self._on_fault(batch, fault)
        else:
            self._barren, self._fruitful = 0, True
            after = judge_reply(self._task.prompt, batch.members, batch.states, reply.text)
            self._keep(after, batch.purchase)

    async def _attempt(self, batch: _Batch, request: Request) -> Reply:
        """One attempt, on the books before it is sent and after."""
        if self.stopped is not None:
            raise _StoppedError
        order = replace(self._budget.make_order(request, batch.members), key=batch.request.key)
        (batch.purchase,) = self._budget.reserve([order])
        task = asyncio.current_task()
        assert task is not None
        self._sending.add(task)
        try:
            reply = await self._ask(request)
        except AttemptError as fault:
            self._budget.record_fault(batch.purchase, fault, order.worst)
            raise
        else:
            self._budget.settle(batch.purchase, reply)
            return reply
        finally:
            self._full = False
            self._sending.discard(task)

    def _on_fault(self, batch: _Batch, fault: AttemptError) -> None:
        reason = f"{fault.kind}: {fault.message}"
        if fault.is_final:
            self.stop(Stop.for_fault(fault))
            self._give_back(batch)
            return
        doubtful = fault.is_passing or (fault.kind is FaultKind.BAD_REQUEST and not self._fruitful)
        self._barren += doubtful
        if self._barren >= _BARREN:
            self.stop(Stop.for_silence(fault))
        alone = len(batch.members) == 1
        if doubtful and (alone or fault.kind not in _MAY_BE_SMALLER):
            left = {each: replace(state, reason=reason) for each, state in batch.states.items()}
            self._ledger.record_states(left)  # Open: the next run asks again.
            return
        self._keep(apply_fault(batch.members, batch.states, reason), 0)

    def _keep(self, after: Mapping[str, ItemState], purchase: int) -> None:
        self._ledger.record_states(after, purchase)
        self._observer.advance(self._phase, count_settled(after))
        self._queue.put({each: s for each, s in after.items() if s.status is Status.OPEN})

    def _give_back(self, batch: _Batch) -> None:
        self._ledger.release(batch.states)
        self._queue.put(batch.states)

    async def _look_elsewhere(self) -> bool:
        """Wait for items that other processes ask for; whether there are any left."""
        if not self._elsewhere:
            return False
        recover(self._task, self._ledger)
        states = self._ledger.read_states(list(self._elsewhere))
        waiting = {each: s for each, s in states.items() if s.status is Status.OPEN}
        self._observer.advance(self._phase, len(self._elsewhere) - len(waiting))
        self._elsewhere.clear()
        if self._ledger.count_travelling(list(waiting)) == len(waiting):
            return False
        self._queue.put(waiting)
        await asyncio.sleep(_POLL_S)
        return True


def recover(task: PromptTask, ledger: Ledger) -> None:
    """Read the replies that dead processes paid for, and write off what they had under way."""
    ledger.mark_lost()
    for left in ledger.take_unread():
        states = ledger.read_states([member.digest for member in left.members])
        still = {each: s for each, s in states.items() if s.status is Status.OPEN}
        after = judge_reply(task.prompt, left.members, states, left.text)
        ledger.record_states({each: after[each] for each in still}, left.purchase)


# Why a run ended before all was settled.


class StopKind(StrEnum):
    """What stopped a run."""

    BUDGET = "budget"
    ENDPOINT = "endpoint"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True, slots=True)
class Stop:
    """Why a run ended early."""

    kind: StopKind
    message: str
    fix: str

    @classmethod
    def for_budget(cls) -> Stop:
        """The next request might cost more than there is left."""
        return cls(
            StopKind.BUDGET,
            "the next request might cost more than the budget has left",
            "repeat the command with a larger --budget to resume; nothing is paid for twice",
        )

    @classmethod
    def for_fault(cls, fault: AttemptError) -> Stop:
        """No request can fare better."""
        fix = fault.fix or "fix it"
        message = f"the endpoint refuses ({fault.kind}): {fault.message}"
        return cls(StopKind.ENDPOINT, message, f"{fix}; then repeat the command to resume")

    @classmethod
    def for_silence(cls, fault: AttemptError) -> Stop:
        """Nothing but faults comes back."""
        message = f"the endpoint does not answer ({fault.kind}): {fault.message}"
        return cls(StopKind.ENDPOINT, message, "repeat the command later to resume")

    @classmethod
    def for_refused_batch(cls, fault: AttemptError) -> Stop:
        """The endpoint does not take a batch."""
        message = f"the endpoint refuses the batch ({fault.kind}): {fault.message}"
        fix = "if it has no batch API, repeat the command without --batch to resume"
        return cls(StopKind.ENDPOINT, message, fix)

    @classmethod
    def for_interrupt(cls) -> Stop:
        """The user wants it so."""
        return cls(StopKind.INTERRUPTED, "stopped", "repeat the command to resume")
