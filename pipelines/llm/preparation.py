"""Before the first item: what the endpoint can do, and what finding that out costs."""

from __future__ import annotations

from typing import Final

from pipelines.llm.money.budget import Budget, DoesNotFitError
from pipelines.llm.money.ledger import Ledger
from pipelines.llm.money.prices import Price
from pipelines.llm.money.records import Order, Paid, RequestState
from pipelines.llm.money.store import AnswerStore
from pipelines.llm.stops import Stop
from pipelines.llm.wire.address import identify_endpoint
from pipelines.llm.wire.capabilities import Capabilities
from pipelines.llm.wire.endpoint import Endpoint
from pipelines.llm.wire.errors import AttemptError
from pipelines.llm.wire.probe import PROBE_REQUESTS, PROBE_TOKENS, probe
from pipelines.llm.wire.usage import NOTHING, Usage

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
