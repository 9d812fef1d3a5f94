"""The store: steps that outlive their process, claims, the account, and files that are no store."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines.llm.money.ledger import DoesNotFitError, Ledger
from pipelines.llm.money.records import ItemState, Member, Order, Paid, Scope, State, Status
from pipelines.llm.money.store import STORE_VERSION, Store
from pipelines.llm.money.tickets import Tickets, owner_of
from synth.base.errors import SpecError

SCOPE = Scope("say", "1", "digest", "tiny", {"temperature": 0.5, "seed": None})


def _ledger(store: Store, job: str = "job", limit: int | None = None) -> Ledger:
    return Ledger(store, store.scope(SCOPE), job, limit)


def _order(*digests: str, worst: int = 10) -> Order:
    members = tuple(Member(each, str(at), {"caption": each}) for at, each in enumerate(digests))
    return Order("key", members, {"model": "tiny"}, [["user", "Say it."]], worst)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "store.sqlite"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store.open(path) as opened:
        yield opened


def test_a_scope_has_one_number(store: Store, path: Path) -> None:
    other = Scope("say", "1", "digest", "tiny", {"temperature": 0.7, "seed": None})
    assert store.scope(SCOPE) == store.scope(SCOPE) != store.scope(other)
    with Store.open(path) as again:
        assert again.scope(SCOPE) == store.scope(SCOPE)


def test_items_are_claimed_by_one(store: Store, path: Path) -> None:
    with Store.open(path) as second:
        mine, theirs = _ledger(store), _ledger(second)
        assert mine.claim(["a", "b"]).keys() == {"a", "b"}
        assert theirs.claim(["b", "c"]).keys() == {"c"}
        assert mine.claim(["a"]).keys() == {"a"}
        mine.release(["b"])
        assert theirs.claim(["b"]).keys() == {"b"}
        mine.judged({"a": ItemState(Status.ANSWERED, {"texts": []}, attempts=1)})
        assert theirs.claim(["a"]) == {}
        assert theirs.states(["a", "z"]) == {"a": ItemState(Status.ANSWERED, {"texts": []}, "", 1)}
    assert mine.claim(["b", "c"]).keys() == {"b", "c"}  # the other one is gone


def test_a_reply_waits_until_it_is_read(store: Store, path: Path) -> None:
    with Store.open(path) as dies:
        ledger = _ledger(dies)
        ledger.claim(["a"])
        (number,) = ledger.reserve([_order("a")])
        ledger.paid(number, State.UNREAD, Paid(7, "the reply", "stop", tokens=(3, 4, 1)))
        assert _ledger(store).unread() == []  # it lives, and will read it
    (left,) = _ledger(store).unread()
    assert (left.text, left.finish) == ("the reply", "stop")
    assert left.members == (Member("a", "0", {"caption": "a"}),)
    _ledger(store).judged({"a": ItemState(Status.FAILED, reason="bad")}, left.purchase)
    with Store.open(path) as third:
        assert _ledger(third).unread() == []


def test_what_was_on_its_way_stays_paid_for(store: Store, path: Path) -> None:
    with Store.open(path) as dies:
        _ledger(dies).reserve([_order("a", worst=10), _order("b", worst=5)])
        assert _ledger(store).bury() == 0
    ledger = _ledger(store)
    assert (ledger.bury(), ledger.bury()) == (2, 0)
    assert ledger.spent() == 15


def test_the_account_of_a_job(store: Store) -> None:
    ledger = _ledger(store, limit=25)
    first, second = ledger.reserve([_order("a"), _order("b")])
    assert (ledger.spent(), ledger.room()) == (20, 5)
    with pytest.raises(DoesNotFitError):
        ledger.reserve([_order("c", worst=6)])
    assert ledger.spent() == 20
    ledger.paid(first, State.UNREAD, Paid(3))
    ledger.paid(second, State.FAULT, Paid(0, reason="server"))
    assert (ledger.spent(), ledger.room()) == (3, 22)
    assert _ledger(store, "another job").spent() == 0


def test_failed_items_can_be_opened_again(store: Store) -> None:
    ledger = _ledger(store)
    ledger.claim(["a", "b"])
    states = {
        "a": ItemState(Status.FAILED, None, "bad", 2, ("bad",), 1),
        "b": ItemState(Status.ANSWERED, {"texts": ["b"]}, "", 1),
    }
    ledger.judged(states)
    assert ledger.states(["a", "b"]) == states
    ledger.reopen(["a", "b"])
    assert ledger.states(["a", "b"]) == {"a": ItemState(reason="bad"), "b": states["b"]}


def test_what_travels_in_a_batch_is_held_until_it_is_collected(store: Store, path: Path) -> None:
    with Store.open(path) as dies:
        tickets, ledger = Tickets(dies, _ledger(dies)), _ledger(dies)
        number = tickets.new()
        ledger.claim(["a"], owner_of(number))
        ledger.reserve([_order("a")], owner_of(number))
        tickets.keep(number, "batch 7")
        assert Tickets(store, _ledger(store)).open_ones() == []
    ledger = _ledger(store)
    tickets = Tickets(store, ledger)
    assert (ledger.bury(), ledger.claim(["a"]), ledger.travelling(["a", "b"])) == (0, {}, 1)
    assert tickets.open_ones() == [(number, "batch 7")]
    assert [sent.members[0].digest for sent in tickets.sent(number)] == ["a"]
    tickets.close(number)
    assert (tickets.open_ones(), ledger.travelling(["a"])) == ([], 0)
    assert ledger.claim(["a"]).keys() == {"a"}


def test_capabilities(store: Store) -> None:
    assert store.capabilities("http://a/v1", "tiny") is None
    store.keep_capabilities("http://a/v1", "tiny", '{"seed": true}')
    assert store.capabilities("http://a/v1", "tiny") == '{"seed": true}'
    assert store.capabilities("http://b/v1", "tiny") is None


def _foreign(path: Path, *statements: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path)
    for statement in statements:
        connection.execute(statement)
    connection.commit()
    connection.close()


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda path: path.write_text("not a database at all" * 100), "cannot be opened"),
        (lambda path: _foreign(path, "CREATE TABLE a (b)"), "another program's database"),
        (lambda path: _other_version(path), f"this program reads version {STORE_VERSION}"),
    ],
)
def test_what_is_no_store_is_left_alone(path: Path, spoil: Any, said: str) -> None:
    path.parent.mkdir(parents=True)
    spoil(path)
    with pytest.raises(SpecError, match=said):
        Store.open(path)


def _other_version(path: Path) -> None:
    Store.open(path).close()
    _foreign(path, f"PRAGMA user_version = {STORE_VERSION + 1}")
