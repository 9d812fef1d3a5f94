"""Asks for every item until it is settled: bounded, within budget, and resumable at any moment."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import Any, Final

from pipelines.llm.money.ledger import DoesNotFitError, Ledger, Purchase
from pipelines.llm.money.store import ItemState, Status, TaskItem
from pipelines.llm.tasks import (
    PromptTask,
    Queue,
    apply_fault,
    count_settled,
    judge_reply,
    keep_open,
)
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

_TASKS_A_PLACE: Final = 2
"""While one request waits for its next attempt, another one uses its place."""

_BARREN: Final = 8
"""So many requests in a row without one answer: the endpoint is out of order."""

_MAY_BE_SMALLER: Final = frozenset({FaultKind.TIMEOUT, FaultKind.EMPTY})


class TaskStage:
    """A task, the items that it is asked about, and what has become of them."""

    def __init__(self, task: PromptTask, ledger: Ledger) -> None:
        self.task = task
        self.ledger = ledger
        self.items: dict[str, Mapping[str, Any]] = {}
        self.states: Mapping[str, ItemState] = {}

    def take(self, items: Iterable[TaskItem]) -> None:
        """Be asked about these items; those that are equal are one."""
        self.items = {item.digest: item.fields for item in items}

    def load(self, *, check: bool = False) -> None:
        """Read how far the items have come.

        Args:
            check: Put their answers to the checks of today; those that break one are open again.
        """
        states = self.ledger.read_states(self.items)
        if check:
            before = dict(states)
            states = {
                digest: self.task.recheck(state, self.items[digest])
                for digest, state in before.items()
            }
            changed = {digest: state for digest, state in states.items() if state != before[digest]}
            if changed and self.ledger.job:
                self.ledger.record_states(changed)
        self.states = states

    def select_open(self) -> dict[str, ItemState]:
        """The items that are not settled, as they were loaded."""
        states = {digest: self.states.get(digest, ItemState()) for digest in self.items}
        return {digest: state for digest, state in states.items() if state.status is Status.OPEN}

    def name_items(self, digests: Iterable[str]) -> tuple[TaskItem, ...]:
        """Items under short names, which cost less than their ids: 1, 2, 3."""
        return tuple(
            TaskItem(str(at), self.items[digest], digest) for at, digest in enumerate(digests, 1)
        )

    def recover(self) -> None:
        """Read the replies that dead processes paid for, and write off what they had under way."""
        self.ledger.mark_lost()
        for purchase in self.ledger.list_unread():
            states = self.ledger.read_states([item.digest for item in purchase.items])
            after = judge_reply(self.task.prompt, purchase.items, states, purchase.text)
            settled = {
                digest for digest, state in states.items() if state.status is not Status.OPEN
            }
            after = {digest: state for digest, state in after.items() if digest not in settled}
            self.ledger.record_states(after, purchase.number)


class Buyer(ABC):
    """What asks for the items of a stage: one by one, or in batches."""

    def __init__(self, stage: TaskStage, observer: Observer) -> None:
        self._stage = stage
        self._task = stage.task
        self._ledger = stage.ledger
        self._observer = observer
        self.stopped: Stop | None = None

    def stop(self, stop: Stop) -> None:
        """End soon; the first reason to is what is told."""
        self.stopped = self.stopped or stop
        self._end()

    @abstractmethod
    def _end(self) -> None:
        """Start nothing else."""

    @abstractmethod
    async def _run(self, waiting: Mapping[str, ItemState]) -> None:
        """Ask until all is settled or the run is stopped."""

    async def run(self) -> Stop | None:
        """Ask for what is open; why it ended before all was settled, if it did."""
        waiting = self._stage.select_open()
        self._observer.start(self._task.phase, len(waiting), "items", done=0)
        await self._run(waiting)
        if self.stopped is None:
            self._observer.finish(self._task.phase)
        return self.stopped

    def _keep(self, after: Mapping[str, ItemState], purchase: int) -> None:
        """Write down what became of items."""
        self._ledger.record_states(after, purchase)
        self._observer.advance(self._task.phase, count_settled(after))


class ItemRunner(Buyer):
    """Buys answers request by request."""

    def __init__(
        self, stage: TaskStage, observer: Observer, ask: Ask, policy: Policy, concurrency: int
    ) -> None:
        super().__init__(stage, observer)
        self._ask = ask
        self._policy = policy
        self._gate = RequestGate(concurrency)
        self._places = _TASKS_A_PLACE * concurrency
        self._queue = Queue(stage.task.prompt.file.batch)
        self._sending: set[asyncio.Task[None]] = set()
        self._running: set[asyncio.Task[None]] = set()
        self._barren = 0
        self._fruitful = False
        self._full = False

    def _end(self) -> None:
        """What is sent is waited for, nothing else is sent."""
        for task in self._running - self._sending - {asyncio.current_task()}:
            task.cancel()

    async def _run(self, waiting: Mapping[str, ItemState]) -> None:
        travelling = self._ledger.find_travelling()
        self._queue.put({digest: waiting[digest] for digest in waiting if digest not in travelling})
        try:
            while self.stopped is None:
                while len(self._running) < self._places and not self._full and self._start_one():
                    pass
                if self._running:
                    await self._wait_for_one()
                elif self._full:
                    self.stop(Stop.for_budget())
                else:
                    return
        finally:
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
        """Send a request with the next items, if there are any."""
        digests = self._queue.take()
        if not digests:
            return False
        states = dict.fromkeys(digests, ItemState()) | self._ledger.read_states(digests)
        self._running.add(asyncio.create_task(self._buy(states)))
        return True

    async def _buy(self, states: Mapping[str, ItemState]) -> None:
        """See one request about some items through, with its attempts."""
        items, bought = self._stage.name_items(states), list[Purchase]()
        ask = partial(self._attempt, items, bought)
        request = self._task.make_request(items, states)
        try:
            reply = await ask_with_retries(ask, request, self._policy, gate=self._gate)
        except (DoesNotFitError, asyncio.CancelledError) as reason:
            self._full = self._full or isinstance(reason, DoesNotFitError)
            self._queue.put(states)
        except AttemptError as fault:
            self._on_fault(items, states, fault)
        else:
            self._barren, self._fruitful = 0, True
            after = judge_reply(self._task.prompt, items, states, reply.text)
            self._keep(after, bought[-1].number)

    async def _attempt(
        self, items: Sequence[TaskItem], bought: list[Purchase], request: Request
    ) -> Reply:
        """One attempt; it is waited for even when the run is stopped."""
        if self.stopped is not None:
            raise asyncio.CancelledError
        task = asyncio.current_task()
        assert task is not None
        bought.append(self._ledger.reserve(request, items))
        self._sending.add(task)
        try:
            return await self._ledger.buy(bought[-1], self._ask)
        except AttemptError as fault:
            self._ledger.account.faults[str(fault.kind)] += 1
            raise
        finally:
            self._full = False
            self._sending.discard(task)

    def _on_fault(
        self, items: Sequence[TaskItem], states: Mapping[str, ItemState], fault: AttemptError
    ) -> None:
        if fault.is_final:
            self.stop(Stop.for_fault(fault))
            self._queue.put(states)
            return
        doubtful = fault.is_passing or (fault.kind is FaultKind.BAD_REQUEST and not self._fruitful)
        self._barren += doubtful
        if self._barren >= _BARREN:
            self.stop(Stop.for_silence(fault))
        reason = f"{fault.kind}: {fault.message}"
        if doubtful and (len(items) == 1 or fault.kind not in _MAY_BE_SMALLER):
            self._ledger.record_states(keep_open(states, reason))
        else:
            self._keep(apply_fault(items, states, reason), 0)

    def _keep(self, after: Mapping[str, ItemState], purchase: int) -> None:
        super()._keep(after, purchase)
        self._queue.put(after)


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
