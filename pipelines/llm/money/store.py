"""The store: every reply that was paid for, and what became of every item. One SQLite file.

A request is written down before it is sent, with the most that it can cost, and its reply before
it is read, each in a transaction of its own. So a process may die at any moment: what was paid for
is read by the next one, and what was on its way counts as spent. Of several processes only one
buys in a scope: it holds the scope's lock, which the system takes back from the dead.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from synth.base.doors import require_regular
from synth.base.errors import SpecError
from synth.base.locks import wait_for_lock
from synth.base.progress import Observer
from synth.corpus.schema import canonical_json
from synth.llm.reply import PromptItem

STORE_VERSION: Final = 2

_APPLICATION: Final = 0x5365_676C  # "Segl"
_BUSY_S: Final = 60.0

_TABLES: Final = """
CREATE TABLE scopes (
    id INTEGER PRIMARY KEY, prompt TEXT NOT NULL, version TEXT NOT NULL, digest TEXT NOT NULL,
    model TEXT NOT NULL, parameters TEXT NOT NULL, UNIQUE (digest, model, parameters));
CREATE TABLE items (
    scope INTEGER NOT NULL, item TEXT NOT NULL, status TEXT NOT NULL, answer TEXT NOT NULL,
    reason TEXT NOT NULL, attempts INTEGER NOT NULL, complaints TEXT NOT NULL,
    together INTEGER NOT NULL, time TEXT NOT NULL, PRIMARY KEY (scope, item)) WITHOUT ROWID;
CREATE TABLE purchases (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL, scope INTEGER NOT NULL, job TEXT NOT NULL,
    owner TEXT NOT NULL, sent TEXT NOT NULL, time TEXT NOT NULL,
    state TEXT NOT NULL, members TEXT NOT NULL, parameters TEXT NOT NULL, messages TEXT NOT NULL,
    text TEXT NOT NULL, finish TEXT NOT NULL, served TEXT NOT NULL, request_id TEXT NOT NULL,
    reason TEXT NOT NULL, input_tokens INTEGER NOT NULL, output_tokens INTEGER NOT NULL,
    cached_tokens INTEGER NOT NULL, cost INTEGER NOT NULL);
CREATE INDEX purchases_key ON purchases (key);
CREATE INDEX purchases_state ON purchases (scope, state);
CREATE TABLE jobs (job TEXT PRIMARY KEY, spent INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE tickets (
    id INTEGER PRIMARY KEY, scope INTEGER NOT NULL, job TEXT NOT NULL, owner TEXT NOT NULL,
    state TEXT NOT NULL, ticket TEXT NOT NULL, time TEXT NOT NULL);
CREATE TABLE capabilities (
    endpoint TEXT NOT NULL, model TEXT NOT NULL, found TEXT NOT NULL, time TEXT NOT NULL,
    PRIMARY KEY (endpoint, model)) WITHOUT ROWID;
"""
_NEW_SCOPE: Final = (
    "INSERT INTO scopes (prompt, version, digest, model, parameters) VALUES (?, ?, ?, ?, ?) "
    "ON CONFLICT DO NOTHING"
)
_FIND_SCOPE: Final = "SELECT id FROM scopes WHERE digest = ? AND model = ? AND parameters = ?"


class AnswerStore:
    """The store of one file; open it with `AnswerStore.open`, in a `with` block."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    @classmethod
    def open(cls, path: Path) -> AnswerStore:
        """Open or make a store."""
        require_regular(path, refuse=SpecError).parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None)
        try:
            connection.execute("PRAGMA synchronous = FULL")
            connection.row_factory = sqlite3.Row
            _prepare(connection, path)
            _log_ahead(connection)
        except sqlite3.DatabaseError as error:
            connection.close()
            raise SpecError(
                f"--store {path}: cannot be opened: {error}", fix="name a store, or a new file"
            ) from error
        except SpecError:
            connection.close()
            raise
        return cls(path, connection)

    def __enter__(self) -> AnswerStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def hold(self, scope: int, observer: Observer) -> AbstractContextManager[None]:
        """Be the only process that buys in a scope, once the one before has ended."""
        return wait_for_lock(self.path.with_name(f"{self.path.name}.{scope}.lock"), observer)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A transaction; it waits for those of other processes."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield self._connection
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def select(self, query: str, *values: Any) -> list[sqlite3.Row]:
        """What a query finds."""
        with closing(self._connection.execute(query, values)) as cursor:
            return cursor.fetchall()

    def find_scope(self, scope: Scope) -> int:
        """The number of a scope; made where it is new."""
        parameters = canonical_json({**scope.parameters, "endpoint": scope.endpoint})
        values = (scope.prompt, str(scope.version), scope.digest, scope.model, parameters)
        with self.transaction() as connection:
            connection.execute(_NEW_SCOPE, values)
            (row,) = self.select(_FIND_SCOPE, *values[2:])
            return int(row["id"])

    def read_capabilities(self, endpoint: str, model: str) -> str | None:
        """What an endpoint was found to be capable of, as JSON."""
        query = "SELECT found FROM capabilities WHERE endpoint = ? AND model = ?"
        rows = self.select(query, endpoint, model)
        return rows[0]["found"] or None if rows else None

    def keep_capabilities(self, endpoint: str, model: str, capabilities: str) -> None:
        """Remember what an endpoint is capable of; with "" find out anew, next time."""
        with self.transaction() as connection:
            connection.execute(
                "INSERT OR REPLACE INTO capabilities VALUES (?, ?, ?, ?)",
                (endpoint, model, capabilities, format_now()),
            )


def format_now() -> str:
    """The time, in UTC."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _prepare(connection: sqlite3.Connection, path: Path) -> None:
    """Make the tables of a new file; refuse what is not ours, or not of this version."""
    connection.execute("BEGIN IMMEDIATE")
    application, version, tables = (
        connection.execute(query).fetchone()[0]
        for query in (
            "PRAGMA application_id",
            "PRAGMA user_version",
            "SELECT count(*) FROM sqlite_master",
        )
    )
    if not tables and not application:
        for statement in _TABLES.split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        connection.execute(f"PRAGMA user_version = {STORE_VERSION}")
    elif application != _APPLICATION:
        raise SpecError(
            f"--store {path}: the database of another program", fix="name a store, or a new file"
        )
    elif version != STORE_VERSION:
        raise SpecError(
            f"--store {path}: written in version {version} of the format, this program reads "
            f"version {STORE_VERSION}",
            fix="use the program that wrote it, or name a new file",
        )
    connection.execute("COMMIT")


def _log_ahead(connection: sqlite3.Connection) -> None:
    """Switch to a write-ahead log.

    Of two that switch at once SQLite refuses one without waiting, as both read already.
    """
    until = time.monotonic() + _BUSY_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
        else:
            return
        connection.execute("BEGIN IMMEDIATE")  # this does wait for the other
        connection.execute("COMMIT")


# What the store keeps: requests, replies, items and what became of them.


class Status(StrEnum):
    """What became of an item."""

    OPEN = "open"
    ANSWERED = "answered"
    FAILED = "failed"


class RequestState(StrEnum):
    """What became of a request."""

    SENT = "sent"
    UNREAD = "unread"
    READ = "read"
    FAULT = "fault"
    LOST = "lost"


@dataclass(frozen=True, slots=True)
class Scope:
    """What an answer depends on besides its item.

    Args:
        parameters: What else is sent: temperature, seed.
        endpoint: Who answers: its address, without what may hold a key.
    """

    prompt: str
    version: int
    digest: str
    model: str
    parameters: Mapping[str, Any]
    endpoint: str


@dataclass(frozen=True, slots=True)
class ItemState:
    """How far an item has come.

    Args:
        reason: Why it failed; of an open item, what went wrong last.
        attempts: How often its answer was judged.
        together: At most so many items in its next request; 0: as many as the prompt takes.
    """

    status: Status = Status.OPEN
    answer: Mapping[str, Any] | None = None
    reason: str = ""
    attempts: int = 0
    complaints: tuple[str, ...] = ()
    together: int = 0


@dataclass(frozen=True, slots=True)
class TaskItem(PromptItem):
    """A row of the input or, in a request, what it is asked as: then its id is a short one.

    Its digest is its name in the store: equal fields are one item, whatever their ids.
    """

    digest: str
