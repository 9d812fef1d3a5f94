"""The hard stop: nothing is sent whose worst case the budget cannot pay."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pipelines.llm.money.ledger import DoesNotFitError, Ledger
from pipelines.llm.money.prices import NANOS, Nano, Price
from pipelines.llm.money.store import AnswerStore, Order, Paid, RequestMember, RequestState, Status
from pipelines.llm.wire.errors import AttemptError, FaultKind
from pipelines.llm.wire.request import Reply, Request, Usage, bound_tokens
from synth.base.errors import SpecError
from synth.captions.caption import Provenance

__all__ = ["Budget", "DoesNotFitError"]


@dataclass(slots=True)
class Account:
    """What one run paid for.

    `input_tokens` include cached ones; `uncertain` is the part of the cost for requests without an
    answer, at their worst; `faults` counts them by kind.
    """

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost: Nano = 0
    uncertain: Nano = 0
    faults: Counter[str] = field(default_factory=Counter)

    def add(self, usage: Usage, cost: Nano, uncertain: bool = False) -> None:
        """One attempt more."""
        self.requests += 1
        self.input_tokens += usage.input_tokens
        self.output_tokens += usage.output_tokens
        self.cached_tokens += usage.cached_tokens
        self.cost += cost
        self.uncertain += cost if uncertain else 0


@dataclass(slots=True)
class SecondRequests:
    """What is kept for second requests, so that no text is paid for that cannot be verified.

    Args:
        worst: The most that one of them can cost.
        items: How many items it is about.
        due: Items, by digest, whose text has no second answer yet.
    """

    worst: Nano
    items: int
    due: set[str]

    def compute_worst(self, more: Sequence[Order] = ()) -> Nano:
        """The most that they can cost, with those about the items of further orders."""
        asked = {member.digest for order in more for member in order.members}
        return -(-(len(self.due) + len(asked - self.due)) // self.items) * self.worst


class Budget:
    """Pays for requests: reserves the worst case before, settles with the true usage after.

    The account is in the store, and so holds over restarts and over processes. What was under way
    when a process died stays reserved, since it may have been answered.
    """

    def __init__(
        self,
        ledger: Ledger,
        price: Price,
        in_batch: bool = False,
        account: Account | None = None,
        second: SecondRequests | None = None,
    ) -> None:
        self._ledger = ledger
        self._price = price
        self._in_batch = in_batch
        self._second = second
        self.account = Account() if account is None else account

    def bound_cost(self, request: Request) -> Nano:
        """The most a request can cost."""
        limits = bound_tokens(request), request.max_output_tokens
        return self._price.compute_cost(*limits, in_batch=self._in_batch)

    def make_order(self, request: Request, members: Sequence[RequestMember]) -> Order:
        """A request as the store keeps it."""
        parameters = {
            "model": request.model,
            "temperature": request.temperature,
            "seed": request.seed,
            "max_output_tokens": request.max_output_tokens,
            "schema": request.schema,
        }
        messages = [list(message) for message in request.messages]
        return Order(request.key, tuple(members), parameters, messages, self.bound_cost(request))

    def reserve(self, orders: Sequence[Order], owner: str = "") -> list[int]:
        """Write requests down before they are sent.

        Returns:
            Their numbers.

        Raises:
            DoesNotFitError: If the worst case of all of them together, and of the second requests
                about their items, is above the budget.
        """
        if self._second is None:
            return self._ledger.reserve(orders, owner)
        bought = self._ledger.reserve(orders, owner, self._second.compute_worst(orders))
        self._second.due.update(member.digest for order in orders for member in order.members)
        return bought

    def compute_room(self) -> Nano | None:
        """What may be spent beside the second requests that are due; None: there is no limit."""
        room = self._ledger.compute_room()
        if room is None or self._second is None:
            return room
        return room - self._second.compute_worst()

    def compute_need(self, order: Order) -> Nano:
        """The most that a request can cost, with the second requests about its items."""
        if self._second is None:
            return order.worst
        return order.worst + -(-len(order.members) // self._second.items) * self._second.worst

    def settle(self, purchase: int, reply: Reply) -> None:
        """Keep a reply, before anything is made of it."""
        cost = self.compute_cost(reply.usage)
        head = (cost, reply.text, reply.finish, reply.model, reply.request_id)
        self._ledger.record_payment(
            purchase, RequestState.UNREAD, Paid(*head, tokens=_count_tokens(reply.usage))
        )
        self.account.add(reply.usage, cost)

    def record_fault(self, purchase: int, fault: AttemptError, worst: Nano) -> None:
        """Keep a fault; it may have cost something all the same.

        A request that was never answered may still be on the provider's bill, so it counts as paid
        at its worst.
        """
        silent = fault.kind is FaultKind.TIMEOUT and fault.usage is None
        lost = silent and not self._in_batch
        usage = fault.usage or Usage(0, 0)
        cost = worst if lost else self.compute_cost(usage)
        state = RequestState.LOST if lost else RequestState.FAULT
        reason = f"{fault.kind}: {fault.message}"
        self._ledger.record_payment(
            purchase, state, Paid(cost, tokens=_count_tokens(usage), reason=reason)
        )
        self.account.faults[str(fault.kind)] += 1
        self.account.add(usage, cost, uncertain=lost)

    def compute_cost(self, usage: Usage) -> Nano:
        """What an answer cost."""
        counts = (usage.input_tokens, usage.output_tokens, usage.cached_tokens)
        return self._price.compute_cost(*counts, in_batch=self._in_batch)


def _count_tokens(usage: Usage) -> tuple[int, int, int]:
    return usage.input_tokens, usage.output_tokens, usage.cached_tokens


# What a store holds and what it cost, for people.


_SCOPES: Final = "SELECT * FROM scopes ORDER BY prompt, version, model, id"
_ITEMS: Final = "SELECT status, count(*) AS items FROM items WHERE scope = ? GROUP BY status"
_PURCHASES: Final = """
SELECT count(*) AS requests, coalesce(sum(input_tokens), 0) AS sent,
    coalesce(sum(output_tokens), 0) AS answered, coalesce(sum(cost), 0) AS cost,
    coalesce(sum(cost) FILTER (WHERE state IN ('sent', 'lost')), 0) AS uncertain,
    coalesce(sum(state IN ('fault', 'lost')), 0) AS faults, coalesce(max(time), '') AS last
FROM purchases WHERE scope = ?"""


@dataclass(frozen=True, slots=True)
class Stat:
    """What was bought of one prompt from one model.

    `uncertain` is the part of the cost for what is under way or was lost, at its worst.
    """

    generator: str
    parameters: str
    items: Mapping[str, int]
    requests: int
    faults: int
    input_tokens: int
    output_tokens: int
    cost: Nano
    uncertain: Nano
    last: str

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "generator": self.generator,
            "parameters": self.parameters,
            **{str(status): self.items.get(status, 0) for status in Status},
            "requests": self.requests,
            "faults": self.faults,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cost": self.cost / NANOS,
            "uncertain_cost": self.uncertain / NANOS,
            "last": self.last,
        }


def read_stats(path: Path) -> list[Stat]:
    """What a store holds, by prompt and model."""
    if not path.is_file():
        raise SpecError(f"--store {path}: no such file", fix="name a store")
    with AnswerStore.open(path) as store:
        found = [_read_stat(store, row) for row in store.select(_SCOPES)]
        return [each for each in found if each.requests or each.items]


def _read_stat(store: AnswerStore, scope: Any) -> Stat:
    (bought,) = store.select(_PURCHASES, scope["id"])
    return Stat(
        generator=str(Provenance.of_model(scope["prompt"], scope["version"], scope["model"])),
        parameters=scope["parameters"],
        items={row["status"]: row["items"] for row in store.select(_ITEMS, scope["id"])},
        requests=bought["requests"],
        faults=bought["faults"],
        input_tokens=bought["sent"],
        output_tokens=bought["answered"],
        cost=bought["cost"],
        uncertain=bought["uncertain"],
        last=bought["last"],
    )
