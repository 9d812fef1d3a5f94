"""What is bought: requests reserved, paid, read. Each step is one transaction.

Nothing is sent whose worst case the budget cannot pay. The account is in the store, and so holds
over restarts and over processes. What was under way when a process died stays reserved, since it
may have been answered.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pipelines.llm.money.prices import NANOS, Nano, Price
from pipelines.llm.money.store import (
    AnswerStore,
    ItemState,
    RequestState,
    Scope,
    Status,
    TaskItem,
    format_now,
)
from pipelines.llm.wire.errors import Ask, AttemptError, FaultKind
from pipelines.llm.wire.request import NOTHING, Reply, Request, Usage, find_worst_usage
from synth.base.errors import SpecError
from synth.captions.caption import Author
from synth.corpus.schema import canonical_json

_SPEND: Final = "UPDATE jobs SET spent = spent + ? WHERE job = ? RETURNING spent"
_REPRICE: Final = (
    "UPDATE jobs SET spent = spent + ? WHERE job = (SELECT job FROM purchases WHERE id = ?)"
)
_BUY: Final = f"INSERT INTO purchases VALUES (NULL{', ?' * 19})"
_PAID: Final = (
    "UPDATE purchases SET time = ?, state = ?, text = ?, finish = ?, served = ?, "
    "request_id = ?, reason = ?, input_tokens = ?, output_tokens = ?, cached_tokens = ?, cost = ? "
    "WHERE id = ?"
)
_JUDGED: Final = (
    "INSERT OR REPLACE INTO items (scope, item, status, answer, reason, attempts, complaints, "
    "together, time) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
)


_OPEN_OWNERS: Final = "SELECT 'ticket:' || id FROM tickets WHERE state = 'open'"


class DoesNotFitError(Exception):
    """A reservation that the budget has no room for."""


@dataclass(frozen=True, slots=True)
class Purchase:
    """A request that is on the books.

    Args:
        worst: The most it can cost, which is reserved.
        ticket: Number of the ticket by which it travels; 0 if it is sent by itself.
        attempt: Of what travels: how often it was bought before.
    """

    number: int
    request: Request
    items: tuple[TaskItem, ...]
    worst: Nano
    ticket: int = 0
    attempt: int = 0
    text: str = ""


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


@dataclass(slots=True)
class FollowUp:
    """What is kept for the requests of a second task about the answers of this one.

    So no text is paid for that cannot be verified.

    Args:
        worst: The most that one of them can cost.
        due: Items, by digest, whose answer it has not been about yet.
    """

    worst: Nano
    items: int
    due: set[str]

    def compute_worst(self, more: Iterable[TaskItem] = ()) -> Nano:
        """The most that they can cost, with those about further items."""
        count = len(self.due | {item.digest for item in more})
        return -(-count // self.items) * self.worst


class Ledger:
    """Purchases and items of one scope.

    Args:
        job: Whose budget pays; "" if nothing is to be bought.
        limit: What the job may spend over all its runs; None: no limit.
    """

    def __init__(
        self,
        store: AnswerStore,
        scope: Scope,
        price: Price,
        job: str,
        limit: Nano | None = None,
        account: Account | None = None,
    ) -> None:
        self.store = store
        self.job = job
        self.number = store.find_scope(scope)
        self.account = account or Account()
        self.follow_up: FollowUp | None = None
        self._scope = scope
        self._price = price
        self._limit = limit

    # Items.

    def read_states(self, digests: Iterable[str]) -> dict[str, ItemState]:
        """How far each item has come; those that are new are left out."""
        query = "SELECT * FROM items WHERE scope = ? AND item IN (SELECT value FROM json_each(?))"
        rows = self.store.select(query, self.number, json.dumps(list(digests)))
        return {row["item"]: _make_item_state(row) for row in rows}

    def record_states(self, states: Mapping[str, ItemState], purchase: int = 0) -> None:
        """Write down what became of items.

        Args:
            purchase: The reply that was read for it.
        """
        with self.store.transaction() as connection:
            query = "UPDATE purchases SET state = 'read' WHERE id = ? AND state = 'unread'"
            connection.execute(query, (purchase,))
            for digest, state in states.items():
                answer = "" if state.answer is None else canonical_json(state.answer)
                head = (self.number, digest, str(state.status), answer, state.reason)
                rest = (canonical_json(list(state.complaints)), state.together, format_now())
                connection.execute(_JUDGED, (*head, state.attempts, *rest))

    def reopen(self, digests: Iterable[str]) -> None:
        """Let failed items be asked as if for the first time."""
        query = (
            "UPDATE items SET status = 'open', attempts = 0, complaints = '[]', together = 0 "
            "WHERE scope = ? AND item = ? AND status = 'failed'"
        )
        with self.store.transaction() as connection:
            connection.executemany(query, [(self.number, digest) for digest in digests])

    # Money.

    def bound_cost(self, request: Request, in_batch: bool) -> Nano:
        """The most a request can cost."""
        return self._compute_cost(find_worst_usage(request), in_batch)

    def _compute_cost(self, usage: Usage, in_batch: bool) -> Nano:
        counts = (usage.input_tokens, usage.output_tokens, usage.cached_tokens)
        return self._price.compute_cost(*counts, in_batch=in_batch)

    def reserve(
        self, request: Request, items: Sequence[TaskItem] = (), ticket: int = 0
    ) -> Purchase:
        """Write a request down as sent, and the most it can cost as spent.

        Args:
            ticket: By which it travels; 0 if it is sent by itself.

        Raises:
            DoesNotFitError: If the budget has no room for it and for the requests that are to
                follow; nothing is written then.
        """
        worst = self.bound_cost(request, bool(ticket))
        reserved = 0 if self.follow_up is None else self.follow_up.compute_worst(items)
        attempt = self._count_bought(request.key) if ticket else 0
        parameters = {
            "model": request.model,
            "temperature": request.temperature,
            "seed": request.seed,
            "max_output_tokens": request.max_output_tokens,
            "schema": request.schema,
            **({"attempt": attempt} if ticket else {}),
        }
        members = [[item.digest, item.id, item.fields] for item in items]
        messages = [list(message) for message in request.messages]
        at = format_now()
        head = (request.key, self.number, self.job, _name_owner(ticket), at, at, "sent")
        sent = map(canonical_json, (members, parameters, messages))
        with self.store.transaction() as connection:
            connection.execute("INSERT INTO jobs VALUES (?, 0) ON CONFLICT DO NOTHING", (self.job,))
            (spent,) = connection.execute(_SPEND, (worst, self.job)).fetchone()
            if self._limit is not None and spent + reserved > self._limit:
                raise DoesNotFitError
            row = (*head, *sent, *[""] * 5, 0, 0, 0, worst)
            number = connection.execute(_BUY, row).lastrowid or 0
        if self.follow_up is not None:
            self.follow_up.due.update(item.digest for item in items)
        return Purchase(number, request, tuple(items), worst, ticket, attempt)

    def _count_bought(self, key: str) -> int:
        """How often a request has been bought before, whatever came of it."""
        query = "SELECT count(*) FROM purchases WHERE key = ? AND scope = ? AND state != 'sent'"
        (row,) = self.store.select(query, key, self.number)
        return int(row[0])

    async def buy(self, purchase: Purchase, ask: Ask) -> Reply:
        """One attempt at what was reserved; what comes back is on the books before it is read."""
        try:
            reply = await ask(purchase.request)
        except AttemptError as fault:
            self.record_fault(purchase, fault)
            raise
        self.record_reply(purchase, reply)
        return reply

    def record_reply(self, purchase: Purchase, reply: Reply) -> None:
        """Keep a reply, before anything is made of it."""
        cost = self._compute_cost(reply.usage, bool(purchase.ticket))
        self._record_payment(purchase, RequestState.UNREAD, reply.usage, cost, reply=reply)

    def record_fault(self, purchase: Purchase, fault: AttemptError) -> None:
        """Keep a fault; it may have cost something all the same.

        A request that was never answered may still be on the provider's bill, so it counts as paid
        at its worst.
        """
        usage, reason = fault.usage or NOTHING, f"{fault.kind}: {fault.message}"
        if fault.kind is FaultKind.TIMEOUT and fault.usage is None and not purchase.ticket:
            state, cost = RequestState.LOST, purchase.worst
        else:
            state = RequestState.FAULT
            cost = self._compute_cost(usage, bool(purchase.ticket))
        self._record_payment(purchase, state, usage, cost, reason)

    def _record_payment(
        self,
        purchase: Purchase,
        state: RequestState,
        usage: Usage,
        cost: Nano,
        reason: str = "",
        reply: Reply | None = None,
    ) -> None:
        """Write down what came back for a request; its true cost replaces the worst."""
        received = ("",) * 4
        if reply is not None:
            received = (reply.text, reply.finish, reply.model, reply.request_id)
        tokens = (usage.input_tokens, usage.output_tokens, usage.cached_tokens)
        head = (format_now(), str(state))
        with self.store.transaction() as connection:
            connection.execute(_REPRICE, (cost - purchase.worst, purchase.number))
            connection.execute(_PAID, (*head, *received, reason, *tokens, cost, purchase.number))
        account = self.account
        account.requests += 1
        account.input_tokens += usage.input_tokens
        account.output_tokens += usage.output_tokens
        account.cached_tokens += usage.cached_tokens
        account.cost += cost
        account.uncertain += cost if state is RequestState.LOST else 0

    def compute_spent(self) -> Nano:
        """What the job has spent over all its runs, what is on its way at its worst."""
        rows = self.store.select("SELECT spent FROM jobs WHERE job = ?", self.job)
        return int(rows[0]["spent"]) if rows else 0

    # What dead processes left.

    def list_unread(self) -> list[Purchase]:
        """The replies that were paid for by processes that died before they read them."""
        query = "SELECT * FROM purchases WHERE scope = ? AND state = 'unread' ORDER BY id"
        return [self._make_purchase(row) for row in self.store.select(query, self.number)]

    def mark_lost(self) -> int:
        """Mark requests as lost whose process died, and tell how many.

        They may have been answered, so they stay paid for.
        """
        query = (
            "UPDATE purchases SET state = 'lost', reason = 'the process ended before the reply "
            f"came' WHERE scope = ? AND state = 'sent' AND owner NOT IN ({_OPEN_OWNERS})"
        )
        with self.store.transaction() as connection:
            return connection.execute(query, (self.number,)).rowcount

    def _make_purchase(self, row: sqlite3.Row, ticket: int = 0) -> Purchase:
        """A purchase as it was written down."""
        parameters = json.loads(row["parameters"])
        attempt = parameters.pop("attempt", 0)
        messages = tuple((role, content) for role, content in json.loads(row["messages"]))
        members = json.loads(row["members"])
        return Purchase(
            number=row["id"],
            request=Request(
                self._scope.prompt, self._scope.version, messages=messages, **parameters
            ),
            items=tuple(TaskItem(name, fields, digest) for digest, name, fields in members),
            worst=row["cost"],
            ticket=ticket,
            attempt=attempt,
            text=row["text"],
        )

    # Tickets: what travels together in a batch.

    def create_ticket(self) -> int:
        """A ticket without a batch; its number."""
        with self.store.transaction() as connection:
            query = "INSERT INTO tickets VALUES (NULL, ?, ?, '', 'open', '', ?)"
            values = (self.number, self.job, format_now())
            return connection.execute(query, values).lastrowid or 0

    def keep_ticket(self, ticket: int, batch: str) -> None:
        """Remember the endpoint's name of the batch that travels by a ticket."""
        with self.store.transaction() as connection:
            query = "UPDATE tickets SET ticket = ?, time = ? WHERE id = ?"
            connection.execute(query, (batch, format_now(), ticket))

    def close_ticket(self, ticket: int) -> None:
        """The ticket is dealt with; what it still holds is free."""
        with self.store.transaction() as connection:
            connection.execute("UPDATE tickets SET state = 'done' WHERE id = ?", (ticket,))

    def list_tickets(self) -> list[tuple[int, str]]:
        """The open tickets: numbers, and their batches."""
        query = "SELECT * FROM tickets WHERE scope = ? AND state = 'open' ORDER BY id"
        return [(row["id"], row["ticket"]) for row in self.store.select(query, self.number)]

    def list_sent(self, ticket: int) -> list[Purchase]:
        """The requests of a ticket that are not paid yet."""
        query = "SELECT * FROM purchases WHERE owner = ? AND state = 'sent' ORDER BY id"
        rows = self.store.select(query, _name_owner(ticket))
        return [self._make_purchase(row, ticket) for row in rows]

    def find_travelling(self) -> set[str]:
        """The items that are in batches which are not collected, by digest."""
        tickets = self.list_tickets()
        sent = (purchase for ticket, _ in tickets for purchase in self.list_sent(ticket))
        return {item.digest for purchase in sent for item in purchase.items}


def _name_owner(ticket: int) -> str:
    """What a purchase notes of how it is sent."""
    return f"ticket:{ticket}" if ticket else ""


def _make_item_state(row: sqlite3.Row) -> ItemState:
    return ItemState(
        status=Status(row["status"]),
        answer=json.loads(row["answer"]) if row["answer"] else None,
        reason=row["reason"],
        attempts=row["attempts"],
        complaints=tuple(json.loads(row["complaints"])),
        together=row["together"],
    )


# What a store holds and what it cost, for people.


_STATS: Final = f"""
SELECT '{Author.MODEL}:' || prompt || '@' || version || '/' || model AS generator, parameters,
    coalesce(open, 0) AS open, coalesce(answered, 0) AS answered, coalesce(failed, 0) AS failed,
    coalesce(requests, 0) AS requests, coalesce(faults, 0) AS faults,
    coalesce(sent, 0) AS input_tokens, coalesce(written, 0) AS output_tokens,
    coalesce(spent, 0) AS cost, coalesce(uncertain, 0) AS uncertain_cost,
    coalesce(last, '') AS last
FROM scopes
LEFT JOIN (SELECT scope, sum(status = 'open') AS open, sum(status = 'answered') AS answered,
        sum(status = 'failed') AS failed FROM items GROUP BY scope) AS i ON i.scope = scopes.id
LEFT JOIN (SELECT scope, count(*) AS requests, sum(state IN ('fault', 'lost')) AS faults,
        sum(input_tokens) AS sent, sum(output_tokens) AS written, sum(cost) AS spent,
        sum(cost) FILTER (WHERE state IN ('sent', 'lost')) AS uncertain, max(time) AS last
        FROM purchases GROUP BY scope) AS p ON p.scope = scopes.id
WHERE i.scope IS NOT NULL OR p.scope IS NOT NULL
ORDER BY prompt, version, model, id"""


def read_stats(path: Path) -> list[dict[str, Any]]:
    """What a store holds, by prompt and model, as JSON values.

    `uncertain_cost` is the part of the cost for what is under way or was lost, at its worst.
    """
    if not path.is_file():
        raise SpecError(f"--store {path}: no such file", fix="give the file of a store")
    with AnswerStore.open(path) as store:
        rows = [dict(row) for row in store.select(_STATS)]
    return [row | {name: row[name] / NANOS for name in ("cost", "uncertain_cost")} for row in rows]
