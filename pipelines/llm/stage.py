"""What a run is told, and how a stage of it is bought: whom to ask, how, and until when."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from pipelines.llm.batches import BatchRunner
from pipelines.llm.files import Input
from pipelines.llm.money.ledger import DoesNotFitError, Ledger
from pipelines.llm.runner import Buyer, ItemRunner, Stop, StopKind, TaskStage
from pipelines.llm.wire.endpoint import Endpoint, EndpointSettings
from pipelines.llm.wire.errors import AttemptError, Policy
from pipelines.llm.wire.probe import probe
from pipelines.llm.wire.request import Capabilities, Reply, Request
from synth.base.progress import Observer


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


def buy_answers(stage: TaskStage, settings: GenerateSettings, observer: Observer) -> Stop | None:
    """Ask for the items of a stage that are not settled.

    Returns:
        Why it ended before all were settled, if it did.
    """
    return asyncio.run(_buy(stage, settings, observer)) if stage.select_open() else None


async def _buy(stage: TaskStage, settings: GenerateSettings, observer: Observer) -> Stop | None:
    scope, store = stage.task.scope, stage.ledger.store
    async with Endpoint(stage.task.endpoint) as endpoint:
        known = store.read_capabilities(scope.endpoint, scope.model)
        if known is None:
            stop = await _probe_endpoint(endpoint, stage.ledger)
            if stop is not None:
                return stop
            found = endpoint.capabilities.to_json()
            store.keep_capabilities(scope.endpoint, scope.model, found)
        else:
            endpoint.capabilities = Capabilities.from_json(known)
        buyer: Buyer
        if settings.batch:
            buyer = BatchRunner(stage, observer, endpoint, settings.poll_s)
        else:
            how = (endpoint.ask, settings.policy, settings.concurrency)
            buyer = ItemRunner(stage, observer, *how)
        with _stop_on_signals(buyer):
            stop = await buyer.run()
        if stop is not None and stop.kind is StopKind.ENDPOINT:
            store.forget_capabilities(scope.endpoint, scope.model)
        return stop


async def _probe_endpoint(endpoint: Endpoint, ledger: Ledger) -> Stop | None:
    """See what the endpoint can do, by requests that are bought like any other.

    Returns:
        Why the run cannot go on, if it cannot.
    """

    async def ask(request: Request, able: Capabilities) -> Reply:
        purchase = ledger.reserve(request)
        reply = await ledger.buy(purchase, partial(endpoint.ask_as, able=able))
        ledger.record_states({}, purchase.number)
        return reply

    try:
        await probe(endpoint, ask)
    except DoesNotFitError:
        return Stop.for_budget()
    except AttemptError as fault:
        ledger.account.faults[str(fault.kind)] += 1
        return Stop.for_fault(fault) if fault.is_final else Stop.for_silence(fault)
    return None


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
