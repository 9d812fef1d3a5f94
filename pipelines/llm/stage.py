"""A stage of a run: some items, asked about in one way until all are settled or it is stopped."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Protocol

from pipelines.llm.batches import BatchRunner
from pipelines.llm.money.budget import Budget
from pipelines.llm.money.ledger import Ledger
from pipelines.llm.money.prices import Nano, Price
from pipelines.llm.money.records import ItemState, Status
from pipelines.llm.money.store import AnswerStore
from pipelines.llm.preparation import prepare_endpoint
from pipelines.llm.runner import PHASE, ItemRunner
from pipelines.llm.settings import GenerateSettings
from pipelines.llm.stops import Stop, StopKind
from pipelines.llm.tasks import PromptTask, Queue, make_members
from pipelines.llm.wire.endpoint import Endpoint, EndpointSettings
from pipelines.llm.wire.request import estimate_tokens
from synth.base.progress import Observer


class Buyer(Protocol):
    """What asks for items: one by one, or in batches."""

    stopped: Stop | None

    def stop(self, stop: Stop) -> None:
        """End soon."""
        ...

    async def run(self, waiting: Mapping[str, ItemState]) -> None:
        """Ask for items."""
        ...


@dataclass(frozen=True, slots=True)
class CostEstimate:
    """What the open items of a stage would take if every answer is good."""

    requests: int
    input_tokens: int
    output_tokens: int

    def compute_cost(self, price: Price, share: int, in_batch: bool) -> Nano:
        """The cost if answers take one part in `share` of what they may."""
        answered = self.output_tokens // share
        return price.compute_cost(self.input_tokens, answered, in_batch=in_batch)


@dataclass(frozen=True, slots=True)
class TaskStage:
    """What is asked of whom."""

    task: PromptTask
    items: Mapping[str, Mapping[str, Any]]
    endpoint: EndpointSettings
    price: Price
    phase: str = PHASE

    def read_states(self, ledger: Ledger, keep: bool) -> dict[str, ItemState]:
        """The items' states; answers that a check of today refuses are open again."""
        found = ledger.read_states(list(self.items))
        states = {each: self.task.recheck(state, self.items[each]) for each, state in found.items()}
        changed = {each: state for each, state in states.items() if state != found[each]}
        if keep and changed:
            ledger.record_states(changed)
        return states

    def select_open(self, states: Mapping[str, ItemState]) -> dict[str, ItemState]:
        """The items that are not settled."""
        every = {each: states.get(each, ItemState()) for each in self.items}
        return {each: state for each, state in every.items() if state.status is Status.OPEN}

    def estimate(self, states: Mapping[str, ItemState]) -> CostEstimate:
        """What the items that are not settled would take."""
        queue = Queue(self.task.prompt.batch)
        queue.put(self.select_open(states))
        requests = sent = answered = 0
        for digests in queue.take_all():
            some = make_members(digests, self.items)
            request = self.task.make_request(some, {each: ItemState() for each in digests})
            requests += 1
            sent += estimate_tokens(request)
            answered += request.max_output_tokens
        return CostEstimate(requests, sent, answered)

    def buy(
        self,
        settings: GenerateSettings,
        store: AnswerStore,
        ledger: Ledger,
        budget: Budget,
        waiting: Mapping[str, ItemState],
        observer: Observer,
    ) -> Stop | None:
        """Ask for items.

        Returns:
            Why it ended before all were settled, if it did.
        """
        if not waiting:
            return None
        return asyncio.run(self._buy(settings, store, ledger, budget, waiting, observer))

    async def _buy(
        self,
        settings: GenerateSettings,
        store: AnswerStore,
        ledger: Ledger,
        budget: Budget,
        waiting: Mapping[str, ItemState],
        observer: Observer,
    ) -> Stop | None:
        async with Endpoint(self.endpoint) as endpoint:
            stop = await prepare_endpoint(endpoint, store, ledger, budget, self.price)
            if stop is not None:
                return stop
            buyer: Buyer
            common = (self.task, self.items, ledger, budget)
            told = (observer, self.phase)
            if settings.batch:
                buyer = BatchRunner(*common, endpoint, store, settings.poll_s, *told)
            else:
                how = (endpoint.ask, settings.policy, settings.concurrency)
                buyer = ItemRunner(*common, *how, *told)
            with _stop_on_signals(buyer):
                await buyer.run(waiting)
            if buyer.stopped is not None and buyer.stopped.kind is StopKind.ENDPOINT:
                store.forget_capabilities(self.task.endpoint, self.task.model)
            return buyer.stopped


@contextmanager
def _stop_on_signals(buyer: Buyer) -> Iterator[None]:
    """The first Ctrl-C lets what is sent come back; the second one ends at once."""
    loop = asyncio.get_running_loop()
    before = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}

    def release() -> None:
        for each, handler in before.items():
            if loop.remove_signal_handler(each):
                signal.signal(each, handler)

    def stop() -> None:
        buyer.stop(Stop.for_interrupt())
        release()

    # Not on Windows, nor outside the main thread: there Ctrl-C ends at once.
    with suppress(NotImplementedError, ValueError, RuntimeError):
        for each in before:
            loop.add_signal_handler(each, stop)
    try:
        yield
    finally:
        with suppress(NotImplementedError, ValueError, RuntimeError):
            release()
