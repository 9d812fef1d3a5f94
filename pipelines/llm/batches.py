"""Asks for items in batches: submit, remember the ticket, poll, collect, and once more.

A ticket is in the store with all its requests before the batch is handed in. A batch is found again
by what it asks and for which time, so that after a death between handing in and remembering,
handing in once more finds the one that is under way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from pipelines.llm.money.ledger import DoesNotFitError, Purchase
from pipelines.llm.money.store import ItemState
from pipelines.llm.runner import Buyer, Stop, TaskStage
from pipelines.llm.tasks import Queue, apply_fault, judge_reply, keep_open
from pipelines.llm.wire.batch_api import (
    MOST_BYTES,
    MOST_REQUESTS,
    collect,
    encode_line,
    find_ended,
    submit,
)
from pipelines.llm.wire.endpoint import Endpoint
from pipelines.llm.wire.errors import AttemptError
from pipelines.llm.wire.request import Reply
from synth.base.progress import Observer

_BARREN_ROUNDS: Final = 3
"""So many batches in a row without one answer: the endpoint is out of order."""

_UNANSWERED: Final = 3
"""Polls in a row without an answer after which the run ends; the batch goes on."""


class BatchRunner(Buyer):
    """Buys answers in batches."""

    def __init__(
        self, stage: TaskStage, observer: Observer, endpoint: Endpoint, poll_s: float
    ) -> None:
        super().__init__(stage, observer)
        self._endpoint = endpoint
        self._poll_s = poll_s
        self._wake = asyncio.Event()
        self._barren: AttemptError | None = None
        self._rounds = 0

    def _end(self) -> None:
        """Batches under way go on, and the next run collects them."""
        self._wake.set()

    async def _run(self, waiting: Mapping[str, ItemState]) -> None:
        """Hand in, and collect, until all is settled or the run is stopped."""
        try:
            await self._fetch_all()
            while self.stopped is None and self._hand_in():
                await self._fetch_all()
        except AttemptError as fault:
            self.stop(Stop.for_fault(fault) if fault.is_final else Stop.for_silence(fault))

    async def _fetch_all(self) -> None:
        for ticket, batch in self._ledger.list_tickets():
            await self._fetch(ticket, batch)
            if self._barren is not None and self._rounds >= _BARREN_ROUNDS:
                self.stop(Stop.for_silence(self._barren))

    def _hand_in(self) -> bool:
        """Write down a ticket with requests for what is open; whether there is one.

        They are as many as a batch may hold and the budget can pay.
        """
        self._stage.load()
        ticket = self._ledger.create_ticket()
        states = self._stage.select_open()
        count = size = 0
        for digests in Queue(self._task.prompt.file.batch, states).take_all():
            items = self._stage.name_items(digests)
            request = self._task.make_request(items, states)
            size += len(encode_line(self._endpoint, request))
            if size > MOST_BYTES or count == MOST_REQUESTS:
                break
            try:
                self._ledger.reserve(request, items, ticket=ticket)
            except DoesNotFitError:
                if not count:
                    self.stop(Stop.for_budget())
                break
            count += 1
        if not count:
            self._ledger.close_ticket(ticket)
        return bool(count)

    async def _fetch(self, ticket: int, batch: str) -> None:
        """See a ticket through: hand it in where that is not certain, wait, collect."""
        sent = self._ledger.list_sent(ticket)
        requests = {purchase.request.key: purchase.request for purchase in sent}
        if not batch and sent:
            try:
                attempts = {purchase.request.key: purchase.attempt for purchase in sent}
                batch = await submit(self._endpoint, requests, attempts)
            except AttemptError as fault:
                if fault.is_passing:
                    raise
                for purchase in sent:  # The endpoint has nothing: they cost nothing.
                    self._ledger.record_fault(purchase, fault)
                self._ledger.close_ticket(ticket)
                self.stop(Stop.for_refused_batch(fault))
                return
            self._ledger.keep_ticket(ticket, batch)
        ended = await self._wait_until_ended(batch) if sent else None
        if ended is not None:
            self._take(sent, *(await collect(self._endpoint, ended, requests)))
        if ended is not None or not sent:
            self._ledger.close_ticket(ticket)

    async def _wait_until_ended(self, batch: str) -> Mapping[str, Any] | None:
        """The batch when it has ended; None where the run is stopped before."""
        misses = 0
        while self.stopped is None:
            try:
                ended = await find_ended(self._endpoint, batch)
                if ended is not None:
                    return ended
                misses = 0
            except AttemptError as fault:
                misses += 1
                if not fault.is_passing or misses >= _UNANSWERED:
                    raise
            with suppress(TimeoutError):
                await asyncio.wait_for(self._wake.wait(), self._poll_s)
        return None

    def _take(
        self,
        sent: Sequence[Purchase],
        replies: Mapping[str, Reply],
        faults: Mapping[str, AttemptError],
    ) -> None:
        self._rounds = 0 if replies else self._rounds + 1
        for purchase in sent:
            key = purchase.request.key
            states = self._ledger.read_states(item.digest for item in purchase.items)
            if key in replies:
                reply = replies[key]
                self._ledger.record_reply(purchase, reply)
                after = judge_reply(self._task.prompt, purchase.items, states, reply.text)
            else:
                fault = faults[key]
                self._ledger.record_fault(purchase, fault)
                self._ledger.account.faults[str(fault.kind)] += 1
                reason = f"{fault.kind}: {fault.message}"
                if fault.is_final:
                    self.stop(Stop.for_fault(fault))
                if fault.is_final or fault.is_passing:
                    self._barren, after = fault, keep_open(states, reason)
                else:
                    after = apply_fault(purchase.items, states, reason)
            self._keep(after, purchase.number)
