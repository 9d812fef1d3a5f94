"""Answers belong to the endpoint that gave them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from llm_server import LlmServer
from llm_tasks import KEY, KEY_VARIABLE, captions, items_of, obliging, settings

from pipelines.llm.run import GenerateSummary, generate
from synth.base.progress import Silent


@pytest.fixture(autouse=True)
def _key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(KEY_VARIABLE, KEY)


def _run(folder: Path, url: str, **changes: Any) -> GenerateSummary:
    return generate(settings(folder, url, captions(5), **changes), Silent())


def _asked(server: LlmServer) -> int:
    return sum(bool(items_of(body)) for body in server.bodies)


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
