"""No key ever reaches a message, a log, a traceback or a stored value."""

from __future__ import annotations

import asyncio
import logging
import sys
import traceback

import pytest
from llm_server import LlmServer

from pipelines.llm.wire.endpoint import Endpoint, EndpointSettings
from pipelines.llm.wire.errors import AttemptError, FaultKind, redact
from pipelines.llm.wire.request import Request
from synth.base.errors import SpecError

KEY = "segue-test-0123456789abcdef"
ASKED = Request("caption", 1, "tiny", (("user", "A dog barks."),), "", 50, 0.7, None)


async def ask(server: LlmServer, timeout_s: float = 60.0) -> None:
    settings = EndpointSettings(server.base_url, "tiny", "SEGUE_TEST_KEY", timeout_s)
    async with Endpoint(settings) as endpoint:
        assert KEY not in repr(endpoint)
        assert KEY not in repr(endpoint.settings)
        await endpoint.ask(ASKED)


async def outcome(server: LlmServer, timeout_s: float) -> BaseException | None:
    (end,) = await asyncio.gather(ask(server, timeout_s), return_exceptions=True)
    return end


def shown_of(error: BaseException | None) -> str:
    """All that may be printed of an error and of those behind it."""
    if error is None:
        return ""
    behind = shown_of(error.__cause__) + shown_of(error.__context__)
    return "".join(traceback.format_exception(error)) + repr(error) + str(error) + behind


@pytest.mark.parametrize(
    "name", ["", "auth", "rate_limit", "connection", "drop", "html", "stream_error", "timeout"]
)
def test_no_key_in_any_message_log_or_traceback(
    name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for logger in ("openai", "httpx", "httpx2", "httpcore", "httpcore2", "asyncio"):
        caplog.set_level(logging.DEBUG, logger)
    monkeypatch.setenv("SEGUE_TEST_KEY", KEY + "\n")
    with LlmServer(script=[name], key=KEY) as server:
        shown = shown_of(asyncio.run(outcome(server, 5.0 if name == "timeout" else 60.0)))
        assert sum(server.requests.values()) == 1
    assert bool(shown) is bool(name)
    assert caplog.records
    text = shown + caplog.text + "".join(str(vars(record)) for record in caplog.records)
    assert KEY not in text
    assert "Bearer" not in text


def test_a_wrong_key_is_final_and_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = "segue-test-wrong-key-000000"
    monkeypatch.setenv("SEGUE_TEST_KEY", wrong)
    with LlmServer(key=KEY) as server, pytest.raises(AttemptError) as caught:
        asyncio.run(ask(server))
    assert caught.value.kind is FaultKind.AUTH
    assert wrong not in str(caught.value)
    assert "[key]" in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        f"Incorrect API key provided: {KEY}.",
        "Incorrect API key provided: sk-proj-abcdef123456.",
        "Incorrect API key provided: abcdef****wxyz.",
        "Authorization: Bearer abc.def.ghi",
        "gsk_-like: gsk-abcdefgh",
        f"cannot reach https://me:{KEY}@host/v1 with hf_abcdefgh12345678abcdefgh",
        "cannot reach 'https://host/v1?api_key=abcdefgh12345678', [key]",
        "wrong key AIzaSyabcdefgh12345678abcdefgh12345678",
    ],
)
def test_what_looks_like_a_key_is_hidden(text: str) -> None:
    clean = redact(text, KEY)
    assert "[key]" in clean
    for secret in (KEY, "abcdef", "abc.def", "wxyz"):
        assert secret not in clean


def test_ordinary_words_are_left_alone_and_long_ones_cut() -> None:
    text = "none of these: a key-value store, task-force, risk-averse listeners"
    assert redact(text, "none") == text
    assert len(redact("x" * 10_000, "")) < 500


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, "holds no key"),
        ("  ", "holds no key"),
        ("schlüssel-geheim", "does not hold a key"),
        ("two words", "does not hold a key"),
    ],
)
def test_a_missing_or_broken_key_is_named_by_its_variable(
    value: str | None, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SEGUE_TEST_KEY", raising=False)
    if value is not None:
        monkeypatch.setenv("SEGUE_TEST_KEY", value)
    with LlmServer() as server, pytest.raises(SpecError, match=expected) as caught:
        asyncio.run(ask(server))
    assert "SEGUE_TEST_KEY" in str(caught.value)
    assert value is None or not value.strip() or value not in str(caught.value)


@pytest.mark.parametrize("url", ["", "localhost:8000/v1", "ftp://a/v1", "https://me:pass@a/v1"])
def test_an_address_that_is_none_or_holds_a_password_is_refused(url: str) -> None:
    async def enter() -> None:
        async with Endpoint(EndpointSettings(url, "tiny", "none")):
            pass

    with pytest.raises(SpecError, match="base_url") as caught:
        asyncio.run(enter())
    assert "me:pass" not in str(caught.value)


def test_without_openai_the_install_line_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    async def enter() -> None:
        async with Endpoint(EndpointSettings("http://127.0.0.1:9/v1", "tiny", "none")):
            pass

    monkeypatch.setitem(sys.modules, "openai", None)
    with pytest.raises(SpecError, match="pip install"):
        asyncio.run(enter())


def test_an_endpoint_that_was_not_opened_says_so() -> None:
    endpoint = Endpoint(EndpointSettings("http://127.0.0.1:9/v1", "tiny", "none"))
    with pytest.raises(SpecError, match="not open"):
        asyncio.run(endpoint.ask(ASKED))
