"""A stage of a run: some items, asked about in one way until all are settled or it is stopped."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Protocol

from pipelines.llm.batches import BatchRunner
from pipelines.llm.files import Input
from pipelines.llm.money.budget import Budget, DoesNotFitError
from pipelines.llm.money.ledger import Ledger
from pipelines.llm.money.prices import Nano, Price
from pipelines.llm.money.store import AnswerStore, ItemState, Order, Paid, RequestState, Status
from pipelines.llm.runner import PHASE, ItemRunner, Stop, StopKind
from pipelines.llm.tasks import PromptTask, Queue, make_members
from pipelines.llm.wire.endpoint import Endpoint, EndpointSettings, identify_endpoint
from pipelines.llm.wire.errors import AttemptError, Policy
from pipelines.llm.wire.probe import PROBE_REQUESTS, PROBE_TOKENS, probe
from pipelines.llm.wire.request import NOTHING, Capabilities, Usage, estimate_tokens
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


# What a run is told.


@dataclass(frozen=True, slots=True)
class GenerateSettings:
    """A run.

    Args:
        task: Id of a prompt of ours, or the path of one.
        budget: Dollars that all runs for `out` may cost together.
        local: The model costs nothing.
        seed: Sampling seed, where the endpoint takes one.
        batch: Send everything as batches.
        retry_failed: Ask again for items that failed.
        poll_s: How often to look after a batch.
        policy: When a request is given up.
        verify_model: Whom second requests ask, at the same endpoint; the same model by default.
    """

    task: str
    source: Input
    out: Path
    endpoint: EndpointSettings
    store: Path
    budget: float | None = None
    prices: Path | None = None
    local: bool = False
    concurrency: int = 16
    seed: int | None = None
    batch: bool = False
    retry_failed: bool = False
    poll_s: float = 30.0
    policy: Policy = field(default_factory=lambda: Policy(attempts=8))
    verify_model: str = ""


# Before the first item: what the endpoint can do, and what finding that out costs.


_PROBE_INPUT: Final = 1000


async def prepare_endpoint(
    endpoint: Endpoint, store: AnswerStore, ledger: Ledger, budget: Budget, price: Price
) -> Stop | None:
    """See what the endpoint can do, once and for all; the account says what that cost.

    Args:
        endpoint: An open endpoint; it words its requests accordingly from now on.
        store: Remembers what was found.
        ledger: Where it is written down.
        budget: Pays for it.
        price: Of requests that do not travel in a batch.

    Returns:
        Why the run cannot go on, if it cannot.
    """
    model = endpoint.settings.model
    where = (identify_endpoint(endpoint.settings.base_url), model)
    known = store.read_capabilities(*where)
    if known is not None:
        endpoint.capabilities = Capabilities.from_json(known)
        return None
    worst = price.compute_cost(PROBE_REQUESTS * _PROBE_INPUT, PROBE_REQUESTS * PROBE_TOKENS)
    order = Order("probe", (), {"model": model}, ["probe"], worst)
    try:
        (purchase,) = budget.reserve([order])
    except DoesNotFitError:
        return Stop.for_budget()

    def book(usage: Usage, state: RequestState, reason: str = "") -> None:
        counts = (usage.input_tokens, usage.output_tokens, usage.cached_tokens)
        cost = price.compute_cost(*counts)
        ledger.record_payment(purchase, state, Paid(cost, tokens=counts, reason=reason))
        budget.account.add(usage, cost)

    try:
        found = await probe(endpoint)
    except AttemptError as fault:
        book(fault.usage or NOTHING, RequestState.FAULT, f"{fault.kind}: {fault.message}")
        budget.account.faults[str(fault.kind)] += 1
        return Stop.for_fault(fault) if fault.is_final else Stop.for_silence(fault)
    book(found.spent, RequestState.READ)
    store.keep_capabilities(*where, found.to_json())
    return None
