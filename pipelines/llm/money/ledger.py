"""What is bought: items claimed, requests reserved, paid, read. Each step is one transaction."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pipelines.llm.money.prices import Nano
from pipelines.llm.money.store import (
    AnswerStore,
    ItemState,
    Order,
    Paid,
    RequestMember,
    RequestState,
    Status,
    Unread,
    format_now,
)
from synth.corpus.schema import canonical_json

TICKET: Final = "ticket:"
"""Begins the owner of what travels in a batch; its number follows."""

_AT_ONCE: Final = 500
_ITEM: Final = "scope = ? AND item = ?"
_NEW_ITEM: Final = (
    "INSERT INTO items VALUES (?, ?, 'open', '', '', 0, '[]', 0, NULL, ?) ON CONFLICT DO NOTHING"
)
_SPEND: Final = "UPDATE jobs SET spent = spent + ? WHERE job = ? RETURNING spent"
_BUY: Final = f"INSERT INTO purchases VALUES (NULL{', ?' * 19})"
_PAID: Final = (
    "UPDATE purchases SET owner = ?, time = ?, state = ?, text = ?, finish = ?, served = ?, "
    "request_id = ?, reason = ?, input_tokens = ?, output_tokens = ?, cached_tokens = ?, cost = ? "
    "WHERE id = ?"
)
_JUDGED: Final = (
    "UPDATE items SET status = ?, answer = ?, reason = ?, attempts = ?, complaints = ?, "
    f"together = ?, owner = NULL, time = ? WHERE {_ITEM}"
)


class DoesNotFitError(Exception):
    """A reservation that the budget has no room for."""


class Ledger:
    """Purchases and items of one scope.

    `limit` is what the job may spend over all its runs; None: no limit.
    """

    def __init__(self, store: AnswerStore, scope: int, job: str, limit: Nano | None) -> None:
        self._store = store
        self.scope = scope
        self.job = job
        self.limit = limit

    def read_states(self, digests: Sequence[str]) -> dict[str, ItemState]:
        """How far each item has come; those that are new are left out."""
        found: dict[str, ItemState] = {}
        for start in range(0, len(digests), _AT_ONCE):
            part = digests[start : start + _AT_ONCE]
            query = f"SELECT * FROM items WHERE scope = ? AND item IN ({','.join('?' * len(part))})"
            rows = self._store.select(query, self.scope, *part)
            found |= {row["item"]: _make_item_state(row) for row in rows}
        return found

    def claim(self, digests: Sequence[str], owner: str = "") -> dict[str, ItemState]:
        """Take open items that nobody else holds, and tell their states.

        Args:
            owner: For whom; for this process by default.
        """
        mine: dict[str, ItemState] = {}
        taker, at = owner or self._store.owners.me, format_now()
        with self._store.transaction() as connection:
            for digest in digests:
                where = (self.scope, digest)
                connection.execute(_NEW_ITEM, (*where, at))
                row = connection.execute(f"SELECT * FROM items WHERE {_ITEM}", where).fetchone()
                if row["status"] == Status.OPEN and not self._is_held(row["owner"]):
                    values = (taker, at, *where)
                    connection.execute(
                        f"UPDATE items SET owner = ?, time = ? WHERE {_ITEM}", values
                    )
                    mine[digest] = _make_item_state(row)
        return mine

    def release(self, digests: Iterable[str], owner: str = "") -> None:
        """Give claimed items back, as they are."""
        me = owner or self._store.owners.me
        with self._store.transaction() as connection:
            for digest in digests:
                query = f"UPDATE items SET owner = NULL WHERE {_ITEM} AND owner = ?"
                connection.execute(query, (self.scope, digest, me))

    def _is_held(self, owner: str | None) -> bool:
        """Whether another process, or a batch that is not collected, has a claim."""
        if not owner or owner == self._store.owners.me:
            return False
        if not owner.startswith(TICKET):
            return self._store.owners.is_alive(owner)
        number = int(owner.removeprefix(TICKET))
        query = "SELECT 1 FROM tickets WHERE id = ? AND state != 'done'"
        return bool(self._store.select(query, number))

    def reserve(self, orders: Sequence[Order], owner: str = "", kept: Nano = 0) -> list[int]:
        """Write requests down as sent, and the most they can cost as spent.

        Args:
            owner: Who sends them; this process by default.
            kept: What must be left after it for other requests.

        Returns:
            Their numbers.

        Raises:
            DoesNotFitError: If the budget has no room for all of them; nothing is written then.
        """
        sender = owner or self._store.owners.me
        worst = sum(order.worst for order in orders)
        with self._store.transaction() as connection:
            connection.execute("INSERT INTO jobs VALUES (?, 0) ON CONFLICT DO NOTHING", (self.job,))
            (spent,) = connection.execute(_SPEND, (worst, self.job)).fetchone()
            if self.limit is not None and spent + kept > self.limit:
                raise DoesNotFitError
            rows = [self._make_row(order, sender) for order in orders]
            return [connection.execute(_BUY, row).lastrowid or 0 for row in rows]

    def _make_row(self, order: Order, sender: str) -> tuple[Any, ...]:
        members = [[each.digest, each.id, each.fields] for each in order.members]
        sent = (canonical_json(members), canonical_json(order.parameters))
        at = format_now()
        head = (order.key, self.scope, self.job, sender, at, at, str(RequestState.SENT))
        return (*head, *sent, canonical_json(order.messages), *[""] * 5, 0, 0, 0, order.worst)

    def count_bought(self, key: str) -> int:
        """How often a request has been bought before, whatever came of it."""
        query = "SELECT count(*) FROM purchases WHERE key = ? AND scope = ? AND state != ?"
        (row,) = self._store.select(query, key, self.scope, str(RequestState.SENT))
        return int(row[0])

    def record_payment(self, purchase: int, state: RequestState, paid: Paid) -> None:
        """Write down what came back for a request; its true cost replaces the worst."""
        with self._store.transaction() as connection:
            query = "SELECT job, cost FROM purchases WHERE id = ?"
            job, worst = connection.execute(query, (purchase,)).fetchone()
            connection.execute(_SPEND, (paid.cost - worst, job)).fetchone()
            head = (self._store.owners.me, format_now(), str(state), paid.text, paid.finish)
            tail = (paid.served, paid.request_id, paid.reason, *paid.tokens, paid.cost, purchase)
            connection.execute(_PAID, (*head, *tail))

    def record_states(self, states: Mapping[str, ItemState], purchase: int = 0) -> None:
        """Write down what became of items, of which nobody has a claim then.

        Args:
            states: By digest.
            purchase: The reply that was read for it.
        """
        with self._store.transaction() as connection:
            query = "UPDATE purchases SET state = 'read' WHERE id = ? AND state = 'unread'"
            connection.execute(query, (purchase,))
            for digest, state in states.items():
                answer = "" if state.answer is None else canonical_json(state.answer)
                told = (str(state.status), answer, state.reason, state.attempts)
                rest = (canonical_json(list(state.complaints)), state.together, format_now())
                connection.execute(_JUDGED, (*told, *rest, self.scope, digest))

    def take_unread(self) -> list[Unread]:
        """Take the replies that were paid for by processes that died before they read them."""
        return [
            Unread(row["id"], parse_members(row["members"]), row["text"], row["finish"])
            for row in self._find_dead_requests(
                RequestState.UNREAD, "owner = ?", self._store.owners.me
            )
        ]

    def mark_lost(self) -> int:
        """Mark requests as lost whose process died.

        They may have been answered, so they stay paid for.

        Returns:
            How many.
        """
        reason = "the process ended before the reply came"
        return len(
            self._find_dead_requests(RequestState.SENT, "state = 'lost', reason = ?", reason)
        )

    def _find_dead_requests(
        self, state: RequestState, change: str, value: str
    ) -> list[sqlite3.Row]:
        me = self._store.owners.me
        query = "SELECT * FROM purchases WHERE scope = ? AND state = ? ORDER BY id"
        with self._store.transaction() as connection:
            rows = self._store.select(query, self.scope, str(state))
            dead = [row for row in rows if row["owner"] != me and not self._is_held(row["owner"])]
            for row in dead:
                connection.execute(
                    f"UPDATE purchases SET {change} WHERE id = ?", (value, row["id"])
                )
        return dead

    def reopen(self, digests: Sequence[str]) -> None:
        """Let failed items be asked as if for the first time."""
        query = (
            "UPDATE items SET status = 'open', attempts = 0, complaints = '[]', together = 0 "
            f"WHERE {_ITEM} AND status = 'failed'"
        )
        with self._store.transaction() as connection:
            connection.executemany(query, [(self.scope, each) for each in digests])

    def count_travelling(self, digests: Sequence[str]) -> int:
        """How many of the items are in batches that are not collected."""
        held = 0
        for start in range(0, len(digests), _AT_ONCE):
            part = digests[start : start + _AT_ONCE]
            query = (
                f"SELECT owner FROM items WHERE scope = ? AND owner LIKE '{TICKET}%' "
                f"AND item IN ({','.join('?' * len(part))})"
            )
            rows = self._store.select(query, self.scope, *part)
            held += sum(self._is_held(row["owner"]) for row in rows)
        return held

    def compute_room(self) -> Nano | None:
        """What the job may still spend; None: there is no limit."""
        return None if self.limit is None else self.limit - self.compute_spent()

    def compute_spent(self) -> Nano:
        """What the job has spent over all its runs, what is on its way at its worst."""
        rows = self._store.select("SELECT spent FROM jobs WHERE job = ?", self.job)
        return int(rows[0]["spent"]) if rows else 0


def _make_item_state(row: sqlite3.Row) -> ItemState:
    return ItemState(
        status=Status(row["status"]),
        answer=json.loads(row["answer"]) if row["answer"] else None,
        reason=row["reason"],
        attempts=row["attempts"],
        complaints=tuple(json.loads(row["complaints"])),
        together=row["together"],
    )


def parse_members(text: str) -> tuple[RequestMember, ...]:
    """A request's items, as they were written down."""
    return tuple(RequestMember(digest, name, fields) for digest, name, fields in json.loads(text))


# Tickets of batches that were handed in, in the store.


@dataclass(frozen=True, slots=True)
class SentRequest:
    """A request that travels in a batch."""

    purchase: int
    key: str
    members: tuple[RequestMember, ...]
    parameters: Mapping[str, Any]
    messages: Sequence[tuple[str, str]]
    worst: Nano
    attempt: int = 0


def name_owner(number: int) -> str:
    """Who has the items and requests of a ticket."""
    return f"{TICKET}{number}"


class Tickets:
    """The tickets of one scope."""

    def __init__(self, store: AnswerStore, ledger: Ledger) -> None:
        self._store = store
        self._ledger = ledger

    def create(self) -> int:
        """A ticket without a batch; its number."""
        values = (self._ledger.scope, self._ledger.job, self._store.owners.me, format_now())
        with self._store.transaction() as connection:
            query = "INSERT INTO tickets VALUES (NULL, ?, ?, ?, 'open', '', ?)"
            return connection.execute(query, values).lastrowid or 0

    def keep(self, number: int, ticket: str) -> None:
        """Remember the batch of a ticket."""
        with self._store.transaction() as connection:
            query = "UPDATE tickets SET ticket = ?, time = ? WHERE id = ?"
            connection.execute(query, (ticket, format_now(), number))

    def close(self, number: int) -> None:
        """The ticket is dealt with; what it still holds is free."""
        with self._store.transaction() as connection:
            connection.execute("UPDATE tickets SET state = 'done' WHERE id = ?", (number,))

    def drop(self, number: int, reason: str) -> None:
        """The batch was never handed in: its requests cost nothing, and its items are free."""
        for each in self.list_sent(number):
            self._ledger.record_payment(each.purchase, RequestState.FAULT, Paid(0, reason=reason))
        self.close(number)

    def take_open(self) -> list[tuple[int, str]]:
        """Take the tickets that no living process looks after: numbers, and what was kept."""
        query = "SELECT * FROM tickets WHERE scope = ? AND state = 'open' ORDER BY id"
        me, owners = self._store.owners.me, self._store.owners
        with self._store.transaction() as connection:
            rows = self._store.select(query, self._ledger.scope)
            mine = [row for row in rows if row["owner"] == me or not owners.is_alive(row["owner"])]
            for row in mine:
                values = (me, row["id"])
                connection.execute("UPDATE tickets SET owner = ? WHERE id = ?", values)
        return [(row["id"], row["ticket"]) for row in mine]

    def list_sent(self, number: int) -> list[SentRequest]:
        """The requests of a ticket that are not paid yet."""
        query = "SELECT * FROM purchases WHERE owner = ? AND state = 'sent' ORDER BY id"
        return [_make_sent(row) for row in self._store.select(query, name_owner(number))]


def _make_sent(row: sqlite3.Row) -> SentRequest:
    parameters = json.loads(row["parameters"])
    return SentRequest(
        purchase=row["id"],
        key=row["key"],
        members=parse_members(row["members"]),
        parameters=parameters,
        messages=[(role, content) for role, content in json.loads(row["messages"])],
        worst=row["cost"],
        attempt=parameters.get("attempt", 0),  # Older stores hold none: it was the first.
    )
