"""No key ever reaches a message, a log, a traceback or a stored value."""

from __future__ import annotations

import asyncio
import logging
import sys
import traceback
from pathlib import Path

import pytest

from pipelines.checks.doctor.packages import check_endpoint, check_prefect
from pipelines.cli.texts import llm
from pipelines.llm.run import estimate
from pipelines.llm.settings import AskSettings
from pipelines.llm.wire.endpoint import Endpoint, EndpointSettings, identify_endpoint
from pipelines.llm.wire.errors import redact
from pipelines.llm.wire.request import Request
from synth.base.errors import SegueError, SpecError
from tests.kit.builds import invoke
from tests.kit.llm_server import LlmServer
from tests.kit.llm_tasks import captions, settings, write_rows

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


def show(error: BaseException | None) -> str:
    """All that may be printed of an error and of those behind it."""
    if error is None:
        return ""
    behind = show(error.__cause__) + show(error.__context__)
    fix = getattr(error, "fix", "")
    return "".join(traceback.format_exception(error)) + repr(error) + str(error) + fix + behind


@pytest.mark.parametrize(
    "name",
    [
        *("", "auth", "rate_limit", "connection", "drop", "html", "stream_error"),
        pytest.param("timeout", marks=pytest.mark.slow),
    ],
)
def test_no_key_in_any_message_log_or_traceback(
    name: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    for logger in ("openai", "httpx", "httpx2", "httpcore", "httpcore2", "asyncio"):
        caplog.set_level(logging.DEBUG, logger)
    monkeypatch.setenv("SEGUE_TEST_KEY", KEY + "\n")
    with LlmServer(script=[name], key=KEY) as server:
        shown = show(asyncio.run(outcome(server, 5.0 if name == "timeout" else 60.0)))
        assert sum(server.requests.values()) == 1
    assert bool(shown) is bool(name)
    assert caplog.records
    text = shown + caplog.text + "".join(str(vars(record)) for record in caplog.records)
    assert KEY not in text
    assert "Bearer" not in text


def test_what_looks_like_a_key_is_hidden_and_ordinary_words_are_not() -> None:
    for text in (
        f"Incorrect API key provided: {KEY}.",
        "Incorrect API key provided: sk-proj-abcdef123456.",
        "Incorrect API key provided: abcdef****wxyz.",
        "Authorization: Bearer abc.def.ghi",
        "gsk_-like: gsk-abcdefgh",
        f"cannot reach https://me:{KEY}@host/v1 with hf_abcdefgh12345678abcdefgh",
        "cannot reach 'https://host/v1?api_key=abcdefgh12345678', [key]",
        "wrong key AIzaSyabcdefgh12345678abcdefgh12345678",
    ):
        clean = redact(text, KEY)
        assert "[key]" in clean
        assert [part for part in (KEY, "abcdef", "abc.def", "wxyz") if part in clean] == []
    text = "none of these: a key-value store, task-force, risk-averse listeners"
    assert redact(text, "none") == text
    assert len(redact("x" * 10_000, "")) < 500


def test_keys_and_openai_that_are_not_there_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SEGUE_TEST_KEY", raising=False)
    assert "SEGUE_TEST_KEY has no key" in _open(URL, "SEGUE_TEST_KEY").message
    for value in ("  ", "schlüssel-geheim", "two words"):
        monkeypatch.setenv("SEGUE_TEST_KEY", value)
        told = str(_open(URL, "SEGUE_TEST_KEY"))
        assert "SEGUE_TEST_KEY" in told
        assert ("does not hold a key" if value.strip() else "has no key") in told
        assert not value.strip() or value not in told
    monkeypatch.setitem(sys.modules, "openai", None)
    assert "pip install" in _open(URL, "none").fix


# A key given where a name or an address belongs is repeated nowhere.


SECRET = "gsk_x7Qb0123456789abcdefABCDEF"
URL = "http://127.0.0.1:9/v1"
ADDRESSES = [
    SECRET,
    f"http://me:{SECRET}@localhost/v1",
    f"ftp://me:{SECRET}@localhost/v1",
    f"ftp://localhost/v1?key={SECRET}",
    f"ftp://localhost/v1#{SECRET}",
    f"http://localhost:{SECRET}/v1",
    f"http://[{SECRET}/v1",
    f"localhost:8000/v1?key={SECRET}",
    f"{SECRET}@localhost:8000/v1",
    f"//{SECRET}",
    f"http:///{SECRET}",
    f"ftp://localhost/{SECRET}/v1",
    f"https://{SECRET}/v1 and more",
    f"http://localhost/v1\n{SECRET}",
]


def _open(url: str, variable: str) -> SegueError:
    async def enter() -> None:
        async with Endpoint(EndpointSettings(url, "tiny", variable)):
            pass

    with pytest.raises(SpecError) as caught:
        asyncio.run(enter())
    return caught.value


def test_a_variables_name_is_not_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    names = [SECRET, SECRET.lower(), f"{SECRET}-", "AbCdEf0123456789", "schlüssel", "ABC\nDEF", ""]
    for name in names:
        error = _open(URL, name)
        assert not name or name not in show(error)
        assert "environment variable" in error.message
        assert error.fix

    async def enter() -> None:
        async with Endpoint(EndpointSettings(URL, "tiny", "my_key")):
            pass

    monkeypatch.setenv("my_key", "a-good-key")
    asyncio.run(enter())
    monkeypatch.setenv("my_key", "two words")
    assert "my_key" not in show(_open(URL, "my_key"))


@pytest.mark.parametrize("url", ADDRESSES)
def test_a_key_in_an_address_is_not_repeated(url: str, tmp_path: Path) -> None:
    error = _open(url, "none")
    assert SECRET not in show(error)
    assert "base_url" in error.message
    assert error.fix
    with pytest.raises(SpecError) as caught:
        estimate(settings(tmp_path, url, captions(3)))
    assert SECRET not in show(caught.value)
    assert not (tmp_path / "store.sqlite").exists()
    (check,) = check_endpoint(url)
    assert SECRET not in repr(check)


def test_an_address_is_repeated() -> None:
    assert "base_url" in _open("", "none").message
    assert "ftp://localhost:80/v1" in _open("ftp://localhost:80/v1?a=b", "none").message


@pytest.mark.parametrize("variable", [SECRET, "NO_SUCH_VARIABLE"])
def test_the_command_keeps_quiet(variable: str, tmp_path: Path) -> None:
    source = write_rows(tmp_path / "rows.jsonl", captions(2))
    paths = ("--out", tmp_path / "o.parquet", "--store", tmp_path / "s.sqlite")
    given = ("paraphrase", source, *paths, "--model", "tiny", "--local", "--base-url", URL)
    done = invoke(llm.llm_run_command, *given, "--key-variable", variable)
    assert isinstance(done.exception, SegueError)
    assert (variable in done.output + show(done.exception)) is (variable != SECRET)
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes(), path


def test_settings_do_not_show_what_may_hold_a_key(tmp_path: Path) -> None:
    endpoint = EndpointSettings(f"{URL}?key={SECRET}", "tiny", SECRET)
    assert SECRET not in repr(endpoint)
    night = AskSettings(
        task="t", out=tmp_path, model="tiny", base_url=f"{URL}?key={SECRET}", key_variable=SECRET
    )
    assert SECRET not in repr(night) + str(night)


def test_addresses_are_shown_without_their_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    told = f"http://127.0.0.1:9/api?key={SECRET}#{SECRET}"
    monkeypatch.setattr("pipelines.checks.doctor.packages.find_server", lambda: told)
    (check,) = check_prefect()
    assert SECRET not in repr(check)
    assert "http://127.0.0.1:9/api" in repr(check)
    monkeypatch.setattr("pipelines.checks.doctor.packages.find_server", lambda: "secret-word")
    (check,) = check_prefect()
    assert "secret-word" not in repr(check)
    for url, same in (
        ("https://API.OpenAI.com:443/v1/", "https://api.openai.com/v1"),
        (f"http://me:{SECRET}@[::1]:80/v1?key={SECRET}#{SECRET}", "http://[::1]/v1"),
        ("http://localhost:11434/v1", "http://localhost:11434/v1"),
        (f"http://localhost/{SECRET}/v1", "http://localhost/[key]/v1"),
    ):
        assert identify_endpoint(url) == identify_endpoint(same) == same
