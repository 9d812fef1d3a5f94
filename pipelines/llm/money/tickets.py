"""Tickets of batches that were handed in, in the store."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.llm.money.ledger import TICKET, Ledger, parse_members
from pipelines.llm.money.prices import Nano
from pipelines.llm.money.records import Paid, RequestMember, RequestState
from pipelines.llm.money.store import AnswerStore, format_now


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
