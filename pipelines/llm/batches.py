"""Asks for items in batches: submit, remember the ticket, poll, collect, and once more.

A ticket is in the store with all its requests before the batch is handed in. A batch is found again
by what it asks and for which time, so that after a death between handing in and remembering,
handing in once more finds the one that is under way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from pipelines.llm.money.budget import Budget, DoesNotFitError
from pipelines.llm.money.ledger import Ledger, SentRequest, Tickets, name_owner
from pipelines.llm.money.store import AnswerStore, ItemState, Order, RequestMember, Status
from pipelines.llm.runner import PHASE, Stop
from pipelines.llm.second import apply_fault, count_settled, judge_reply
from pipelines.llm.tasks import PromptTask, Queue, make_members
from pipelines.llm.wire.batch_api import MOST_BYTES, collect, is_over, submit
from pipelines.llm.wire.endpoint import Endpoint
from pipelines.llm.wire.errors import AttemptError
from pipelines.llm.wire.request import Reply, Request
from synth.base.progress import Observer

_BARREN_ROUNDS: Final = 3
"""So many batches in a row without one answer: the endpoint is out of order."""

_MOST_REQUESTS: Final = 10_000
_UNANSWERED: Final = 3
"""Polls in a row without an answer after which the run ends; the batch goes on."""


class BatchRunner:
    """Buys answers for items in batches."""

    def __init__(
        self,
        task: PromptTask,
        items: Mapping[str, Mapping[str, Any]],
        ledger: Ledger,
        budget: Budget,
        endpoint: Endpoint,
        store: AnswerStore,
        poll_s: float,
        observer: Observer,
        phase: str = PHASE,
    ) -> None:
        self._task = task
        self._items = items
        self._ledger = ledger
        self._budget = budget
        self._endpoint = endpoint
        self._tickets = Tickets(store, ledger)
        self._poll_s = poll_s
        self._observer = observer
        self._phase = phase
        self._wake = asyncio.Event()
        self._barren: AttemptError | None = None
        self._rounds = 0
        self.stopped: Stop | None = None

    def stop(self, stop: Stop) -> None:
        """End the run; batches under way go on, and the next run collects them."""
        if self.stopped is None:
            self.stopped = stop
        self._wake.set()

    async def run(self, waiting: Mapping[str, ItemState]) -> None:
        """Hand in, and collect, until all is settled or the run is stopped."""
        self._observer.start(self._phase, len(waiting), "items", done=0)
        try:
            await self._fetch_all()
            while self.stopped is None and self._hand_in():
                await self._fetch_all()
        except AttemptError as fault:
            self.stop(Stop.for_fault(fault) if fault.is_final else Stop.for_silence(fault))
        if self.stopped is None:
            self._observer.finish(self._phase)

    async def _fetch_all(self) -> None:
        """See all tickets through."""
        for number, ticket in self._tickets.take_open():
            await self._fetch(number, ticket)
            if self._barren is not None and self._rounds >= _BARREN_ROUNDS:
                self.stop(Stop.for_silence(self._barren))

    def _hand_in(self) -> bool:
        """Write down a ticket with requests for what is open; whether there is one."""
        states = self._ledger.read_states(list(self._items))
        every = {each: states.get(each, ItemState()) for each in self._items}
        queue = Queue(self._task.prompt.batch)
        queue.put({each: s for each, s in every.items() if s.status is Status.OPEN})
        number = self._tickets.create()
        orders = self._make_orders(queue, name_owner(number))
        try:
            if orders:
                self._budget.reserve(orders, name_owner(number))
                return True
        except DoesNotFitError:
            self.stop(Stop.for_budget())
        self._tickets.close(number)
        return False

    def _make_orders(self, queue: Queue, owner: str) -> list[Order]:
        """Requests up to what a batch may hold and the budget can pay."""
        orders: list[Order] = []
        size, room = 0, self._budget.compute_room()
        for digests in queue.take_all():
            states = self._ledger.claim(digests, owner)
            if not states:
                continue
            some = make_members(list(states), self._items)
            order = self._make_order(self._task.make_request(some, states), some)
            size += 2 * sum(len(text.encode()) for _, text in order.messages)
            room = None if room is None else room - self._budget.compute_need(order)
            too_dear = room is not None and room < 0
            if too_dear or size > MOST_BYTES or len(orders) == _MOST_REQUESTS:
                self._ledger.release(states, owner)
                if too_dear and not orders:
                    self.stop(Stop.for_budget())
                return orders
            orders.append(order)
        return orders

    def _make_order(self, request: Request, members: Sequence[RequestMember]) -> Order:
        """The request with its attempt: what was bought before is not what this one waits for."""
        order = self._budget.make_order(request, members)
        attempt = self._ledger.count_bought(request.key)
        return replace(order, parameters={**order.parameters, "attempt": attempt})

    async def _fetch(self, number: int, batch: str) -> None:
        """See a ticket through: hand it in where that is not certain, wait, collect."""
        sent = self._tickets.list_sent(number)
        requests = {each.key: self._rebuild_request(each) for each in sent}
        if not batch and requests:
            try:
                attempts = {each.key: each.attempt for each in sent}
                batch = await submit(self._endpoint, requests, attempts)
            except AttemptError as fault:
                if not fault.is_passing:  # The endpoint has nothing.
                    self._tickets.drop(number, f"{fault.kind}: {fault.message}")
                    self.stop(Stop.for_refused_batch(fault))
                    return
                raise
            self._tickets.keep(number, batch)
        if not requests or await self._wait_until_over(batch):
            if requests:
                self._take(sent, *(await collect(self._endpoint, batch, requests)))
            self._tickets.close(number)

    async def _wait_until_over(self, batch: str) -> bool:
        """Wait until the batch is over; False where the run is stopped before."""
        misses = 0
        while self.stopped is None:
            try:
                if await is_over(self._endpoint, batch):
                    return True
                misses = 0
            except AttemptError as fault:
                misses += 1
                if not fault.is_passing or misses >= _UNANSWERED:
                    raise
            try:
                await asyncio.wait_for(self._wake.wait(), self._poll_s)
            except TimeoutError:
                continue
        return False

    def _take(
        self,
        sent: Sequence[SentRequest],
        replies: Mapping[str, Reply],
        faults: Mapping[str, AttemptError],
    ) -> None:
        self._rounds = 0 if replies else self._rounds + 1
        for each in sent:
            states = self._ledger.read_states([member.digest for member in each.members])
            if each.key in replies:
                self._budget.settle(each.purchase, replies[each.key])
                after = judge_reply(self._task.prompt, each.members, states, replies[each.key].text)
            else:
                fault = faults[each.key]
                self._budget.record_fault(each.purchase, fault, each.worst)
                after = self._update_states(fault, each, states)
            self._ledger.record_states(after, each.purchase)
            self._observer.advance(self._phase, count_settled(after))

    def _update_states(
        self, fault: AttemptError, sent: SentRequest, states: Mapping[str, ItemState]
    ) -> dict[str, ItemState]:
        reason = f"{fault.kind}: {fault.message}"
        if fault.is_final:
            self.stop(Stop.for_fault(fault))
        if fault.is_final or fault.is_passing:
            self._barren = fault
            return {each: replace(state, reason=reason) for each, state in states.items()}
        return apply_fault(sent.members, states, reason)

    def _rebuild_request(self, sent: SentRequest) -> Request:
        """The request as it was written down."""
        said = sent.parameters
        return Request(
            prompt=self._task.prompt.id,
            version=self._task.prompt.version,
            model=said["model"],
            messages=tuple((role, content) for role, content in sent.messages),
            schema=said["schema"],
            max_output_tokens=said["max_output_tokens"],
            temperature=said["temperature"],
            seed=said["seed"],
        )
