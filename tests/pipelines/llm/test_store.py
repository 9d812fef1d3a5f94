"""The store, and what tokens cost: steps outlive their process, sums are exact."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from pipelines.llm.money.ledger import DoesNotFitError, FollowUp, Ledger
from pipelines.llm.money.prices import (
    FREE,
    NANOS,
    Price,
    find_price,
    format_cost,
    read_prices,
    to_nanos,
)
from pipelines.llm.money.store import (
    STORE_VERSION,
    AnswerStore,
    ItemState,
    Scope,
    Status,
    TaskItem,
    _log_ahead,
)
from pipelines.llm.wire.errors import AttemptError, FaultKind
from pipelines.llm.wire.request import Capabilities, Reply, Request, Usage
from synth.base.errors import SpecError

HERE = "http://a/v1"
SCOPE = Scope("say", 1, "digest", "tiny", {"temperature": 0.5, "seed": None}, HERE)
PRICE = Price(input=Decimal(0), output=Decimal("0.001"))  # 1 a token
BUSY = AttemptError(FaultKind.SERVER, "busy")


def _ledger(store: AnswerStore, job: str = "job", limit: int | None = None) -> Ledger:
    return Ledger(store, SCOPE, PRICE, job, limit)


def _request(worst: int = 10) -> Request:
    return Request("say", 1, "tiny", (("user", "Say it."),), "", worst, 0.5, None)


def _item(digest: str) -> TaskItem:
    return TaskItem("1", {"caption": digest}, digest)


def _reply(cost: int) -> Reply:
    return Reply("the reply", "stop", Usage(4, cost, 1), "tiny", "r")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "store.sqlite"


@pytest.fixture
def store(path: Path) -> Iterator[AnswerStore]:
    with AnswerStore.open(path) as opened:
        yield opened


def test_a_scope_has_one_number(store: AnswerStore, path: Path) -> None:
    other = replace(SCOPE, parameters={"temperature": 0.7, "seed": None})
    assert store.find_scope(SCOPE) == store.find_scope(SCOPE) != store.find_scope(other)
    assert store.find_scope(replace(SCOPE, endpoint="http://b/v1")) != store.find_scope(SCOPE)
    with AnswerStore.open(path) as again:
        assert again.find_scope(SCOPE) == store.find_scope(SCOPE)


def _open_and_close(path: Path) -> None:
    AnswerStore.open(path).close()


def _switch(path: Path) -> None:
    with closing(sqlite3.connect(path, timeout=60, isolation_level=None)) as connection:
        _log_ahead(connection)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_who_makes_the_store_just_now_is_waited_for(tmp_path: Path) -> None:
    """SQLite waits on its own for who writes, but not to switch the log of a file."""
    for step in (_open_and_close, _switch):
        path = tmp_path / step.__name__
        other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        other.execute("BEGIN IMMEDIATE")
        ends = threading.Timer(0.2, other.close)
        ends.start()
        step(path)
        ends.join()


def test_a_reply_waits_and_what_was_on_its_way_is_paid_for(store: AnswerStore) -> None:
    dies, ledger = _ledger(store), _ledger(store)
    dies.record_reply(dies.reserve(_request(), [_item("a")]), _reply(7))
    for worst in (10, 5):
        dies.reserve(_request(worst))
    (left,) = ledger.list_unread()
    assert (left.text, left.items, left.request) == ("the reply", (_item("a"),), _request())
    ledger.record_states({"a": ItemState(Status.FAILED, reason="bad")}, left.number)
    assert ledger.list_unread() == []
    assert (ledger.mark_lost(), ledger.mark_lost()) == (2, 0)
    assert ledger.compute_spent() == 7 + 15


def test_the_account_of_a_job(store: AnswerStore) -> None:
    ledger = _ledger(store, limit=25)
    first, second, third = (ledger.reserve(_request(worst)) for worst in (10, 8, 7))
    assert ledger.compute_spent() == 25
    with pytest.raises(DoesNotFitError):
        ledger.reserve(_request(1))
    assert ledger.compute_spent() == 25
    ledger.record_reply(first, _reply(3))
    ledger.record_fault(second, BUSY)
    assert ledger.compute_spent() == 3 + 7
    ledger.record_fault(third, AttemptError(FaultKind.TIMEOUT, "silence"))
    assert ledger.compute_spent() == ledger.account.cost == 3 + 7
    assert (ledger.account.requests, ledger.account.uncertain) == (3, 7)
    assert _ledger(store, "another job").compute_spent() == 0


def test_room_is_kept_for_requests_that_are_to_follow(store: AnswerStore) -> None:
    ledger = _ledger(store, limit=25)
    ledger.follow_up = FollowUp(worst=5, items=2, due={"z"})
    ledger.reserve(_request(10), [_item("a")])  # and one about two answers
    with pytest.raises(DoesNotFitError):
        ledger.reserve(_request(6), [_item("b")])
    ledger.reserve(_request(5), [_item("b")])
    assert (ledger.compute_spent(), ledger.follow_up.due) == (15, {"z", "a", "b"})


def test_failed_items_can_be_opened_again(store: AnswerStore) -> None:
    ledger = _ledger(store)
    states = {
        "a": ItemState(Status.FAILED, None, "bad", 2, ("bad",), 1),
        "b": ItemState(Status.ANSWERED, {"texts": ["b"]}, "", 1),
    }
    ledger.record_states(states)
    assert ledger.read_states(["a", "b"]) == states
    ledger.reopen(["a", "b"])
    assert ledger.read_states(["a", "b"]) == {"a": ItemState(reason="bad"), "b": states["b"]}


def test_what_travels_in_a_batch_is_known_until_it_is_collected(store: AnswerStore) -> None:
    dies, ledger = _ledger(store), _ledger(store)
    ticket = dies.create_ticket()
    sent = dies.reserve(_request(), [_item("a")], ticket=ticket)
    dies.keep_ticket(ticket, "batch 7")
    assert (ledger.mark_lost(), ledger.find_travelling()) == (0, {"a"})
    assert ledger.list_tickets() == [(ticket, "batch 7")]
    assert ledger.list_sent(ticket) == [sent]
    ledger.record_fault(sent, BUSY)
    ledger.close_ticket(ticket)
    assert (ledger.list_tickets(), ledger.find_travelling()) == ([], set())
    again = ledger.reserve(_request(), [_item("a")], ticket=ledger.create_ticket())
    assert (sent.attempt, again.attempt) == (0, 1)  # so that it is another batch


def test_capabilities_are_kept_until_they_are_forgotten(store: AnswerStore) -> None:
    able = Capabilities(limit="max_tokens", schema=False, seed=False)
    here, there = ("http://a/v1", "tiny"), ("http://b/v1", "tiny")
    assert store.read_capabilities(*here) is None
    store.keep_capabilities(*here, able.to_json())
    assert Capabilities.from_json(store.read_capabilities(*here) or "") == able
    assert store.read_capabilities(*there) is None
    store.keep_capabilities(*here, "")
    assert store.read_capabilities(*here) is None


def _foreign(path: Path, *statements: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


def test_what_is_no_store_is_left_alone(tmp_path: Path) -> None:
    text, foreign, newer = (tmp_path / name for name in ("text", "foreign", "newer"))
    text.write_text("not a database at all" * 100)
    _foreign(foreign, "CREATE TABLE a (b)")
    AnswerStore.open(newer).close()
    _foreign(newer, f"PRAGMA user_version = {STORE_VERSION + 1}")
    for path, said in (
        (text, "cannot be opened"),
        (foreign, "the database of another program"),
        (newer, f"this program reads version {STORE_VERSION}"),
    ):
        before = path.read_bytes()
        with pytest.raises(SpecError, match=said):
            AnswerStore.open(path)
        assert path.read_bytes() == before


# What tokens cost: exact sums, own prices, models whose price is not known.


def test_prices_are_dated_exact_and_ones_own_stand_above_the_shipped(tmp_path: Path) -> None:
    prices = read_prices()
    assert prices["gpt-4o-mini"].input == Decimal("0.15")
    assert all(price.noted for price in prices.values())
    assert find_price("gpt-4o-mini-2024-07-18") == find_price("gpt-4o-mini")
    price = Price(input=Decimal("0.15"), cached=Decimal("0.075"), output=Decimal("0.6"))
    assert price.compute_cost(1_000_000, 1_000_000) == 0.75 * NANOS
    assert price.compute_cost(1000, 0, cached=400) == 600 * 150 + 400 * 75
    assert Price(input=Decimal("0.0001"), output=Decimal(0)).compute_cost(1, 0) == 1
    halved = Price(input=Decimal(1), output=Decimal(4), batch=Decimal("0.5"))
    assert halved.compute_cost(10, 10, in_batch=True) * 2 == halved.compute_cost(10, 10)
    assert Price(input=Decimal(1), output=Decimal(1)).compute_cost(100, 0, cached=50) == 100_000
    own = tmp_path / "own.yaml"
    own.write_text("gpt-4o-mini: {input: 1, output: 2}\nours: {input: 0, output: 0}\n")
    assert find_price("gpt-4o-mini", own).output == 2
    assert find_price("ours", own).free
    assert find_price("gpt-4o", own) == find_price("gpt-4o")
    with pytest.raises(SpecError, match=r"price of model 'secret' is unknown.*--prices"):
        find_price("secret")
    assert find_price("secret", local=True) is FREE


def test_wrong_prices_are_named(tmp_path: Path) -> None:
    own = tmp_path / "own.yaml"
    with pytest.raises(SpecError, match="no such file"):
        read_prices(own)
    unknown = "own.yaml:1:26: a has no setting 'per'; there are input"
    for text, said in (
        ("a: {input: -1, output: 2}", "a.input"),
        ("a: {input: 1}", "a.output"),
        ("a: {input: 1, output: 2, per: token}", unknown),
        ("a: [", "not YAML"),
        ("- a", "write `MODEL"),
    ):
        own.write_text(text)
        with pytest.raises(SpecError) as caught:
            find_price("a", own)
        assert said in str(caught.value)


def test_sums_for_people() -> None:
    sums = (to_nanos(0), to_nanos(1234.5), to_nanos(0.5), to_nanos(0.00042), to_nanos(0.0000075))
    written = " ".join(format_cost(each) for each in sums)
    assert written == "$0.00 $1,234.50 $0.5 $0.00042 $0.0000075"
