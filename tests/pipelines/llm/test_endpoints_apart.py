"""Answers belong to the endpoint that gave them; stores of before that are found, or refused."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from llm_server import LlmServer
from llm_tasks import KEY, KEY_VARIABLE, captions, items_of, obliging, settings

from pipelines.llm.generate import estimate, generate
from pipelines.llm.summary import GenerateSummary
from synth.base.errors import SpecError
from synth.base.progress import Silent


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)


def _run(folder: Path, url: str, **changes: Any) -> GenerateSummary:
    return generate(settings(folder, url, captions(5), **changes), Silent())


def _asked(server: LlmServer) -> int:
    return sum(bool(items_of(body)) for body in server.bodies)


def _make_old(folder: Path, *endpoints: str) -> None:
    """The store as version 1 wrote it, where these endpoints had been asked."""
    with sqlite3.connect(folder / "store.sqlite") as store:
        for number, text in store.execute("SELECT id, parameters FROM scopes").fetchall():
            kept = {name: each for name, each in json.loads(text).items() if name != "endpoint"}
            told = json.dumps(kept, sort_keys=True, separators=(",", ":"))
            store.execute("UPDATE scopes SET parameters = ? WHERE id = ?", (told, number))
        (found,) = store.execute("SELECT max(found) FROM capabilities").fetchone()
        store.execute("DELETE FROM capabilities")
        rows = [(each, "tiny", found, "") for each in endpoints]
        store.executemany("INSERT INTO capabilities VALUES (?, ?, ?, ?)", rows)
        store.execute("DROP TABLE IF EXISTS old_scopes")
        store.execute("PRAGMA user_version = 1")


def test_two_servers_do_not_share_answers(tmp_path: Path) -> None:
    with LlmServer(obliging, key=KEY) as first, LlmServer(obliging, key=KEY) as second:
        _run(tmp_path, first.base_url)
        other = _run(tmp_path, second.base_url)
        again = _run(tmp_path, first.base_url)
        assert (_asked(first), _asked(second)) == (1, 1)
    assert (other.from_store, other.answered) == (0, 5)
    assert (again.from_store, again.account.requests) == (5, 0)


def test_an_address_spelled_otherwise_is_the_same(tmp_path: Path) -> None:
    with LlmServer(obliging, key=KEY) as server:
        _run(tmp_path, server.base_url)
        again = _run(tmp_path, server.base_url.replace("http:", "HTTP:") + "/")
        assert len(server.bodies) == 2
    assert again.from_store == 5


def test_an_old_store_is_found(tmp_path: Path) -> None:
    with LlmServer(obliging, key=KEY) as server, LlmServer(obliging, key=KEY) as other:
        _run(tmp_path, server.base_url)
        _make_old(tmp_path, server.base_url + "/")
        assert estimate(settings(tmp_path, server.base_url, [])).from_store == 5
        assert _run(tmp_path, server.base_url).from_store == 5
        assert (_run(tmp_path, other.base_url).from_store, _asked(other)) == (0, 1)
        assert _run(tmp_path, server.base_url).from_store == 5
        assert _asked(server) == 1


def test_an_old_store_that_does_not_say_is_the_first_ones(tmp_path: Path) -> None:
    with LlmServer(obliging, key=KEY) as server:
        _run(tmp_path, server.base_url)
        _make_old(tmp_path)
        assert _run(tmp_path, server.base_url).from_store == 5
        assert _asked(server) == 1


@pytest.mark.parametrize("others", [("http://a/v1",), ("http://a/v1", "http://b/v1")])
def test_an_old_store_of_others_is_refused_before_anything_is_sent(
    tmp_path: Path, others: tuple[str, ...]
) -> None:
    with LlmServer(obliging, key=KEY) as server:
        _run(tmp_path, server.base_url)
        _make_old(tmp_path, *others)
        sent = len(server.paths)
        for ask in (lambda: _run(tmp_path, server.base_url), lambda: _estimate(tmp_path, server)):
            with pytest.raises(SpecError, match="before endpoints were told apart") as caught:
                ask()
            assert "http://a/v1" in caught.value.message
            assert "--store" in caught.value.fix
            assert ("--base-url http://a/v1" in caught.value.fix) is (len(others) == 1)
        assert len(server.paths) == sent


def test_an_old_store_of_several_is_refused(tmp_path: Path) -> None:
    with LlmServer(obliging, key=KEY) as server:
        _run(tmp_path, server.base_url)
        _make_old(tmp_path, server.base_url, "http://a/v1")
        with pytest.raises(SpecError, match="before endpoints were told apart"):
            _run(tmp_path, server.base_url)


def test_endpoints_that_came_later_make_no_old_answer_doubtful(tmp_path: Path) -> None:
    with LlmServer(obliging, key=KEY) as server, LlmServer(obliging, key=KEY) as other:
        _run(tmp_path, server.base_url)
        _run(tmp_path, server.base_url, seed=1)
        _make_old(tmp_path, server.base_url)
        _run(tmp_path, server.base_url)
        _run(tmp_path, other.base_url)
        assert _run(tmp_path, server.base_url, seed=1).from_store == 5


def _estimate(folder: Path, server: LlmServer) -> object:
    return estimate(settings(folder, server.base_url, []))
