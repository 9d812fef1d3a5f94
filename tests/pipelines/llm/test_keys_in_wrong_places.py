"""A key given where a name or an address belongs is repeated nowhere."""

from __future__ import annotations

import asyncio
import traceback
from pathlib import Path

import pytest
import typer
from llm_tasks import captions, settings, write_rows
from typer.testing import CliRunner

from pipelines.checks.doctor.packages import check_endpoint, check_prefect
from pipelines.cli.app import present
from pipelines.cli.texts import llm
from pipelines.flows.schedule import EnrichSettings
from pipelines.llm.run import estimate
from pipelines.llm.wire.endpoint import Endpoint, EndpointSettings, identify_endpoint
from synth.base.errors import SegueError, SpecError

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


def _show(error: SegueError) -> str:
    behind = [each for each in (error.__cause__, error.__context__) if each is not None]
    told = [*traceback.format_exception(error), repr(error), *map(repr, behind)]
    return "".join([*told, error.message, error.fix])


@pytest.mark.parametrize(
    "name", [SECRET, SECRET.lower(), f"{SECRET}-", "AbCdEf0123456789", "schlüssel", "ABC\nDEF", ""]
)
def test_a_key_as_a_name_is_not_repeated(name: str) -> None:
    error = _open(URL, name)
    assert not name or name not in _show(error)
    assert "environment variable" in error.message
    assert error.fix


def test_a_name_is_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MY_KEY_2", raising=False)
    assert "MY_KEY_2" in _open(URL, "MY_KEY_2").message
    monkeypatch.setenv("MY_KEY_2", "two words")
    assert "MY_KEY_2" in _open(URL, "MY_KEY_2").message


def test_a_variable_in_lower_case_serves_and_is_not_repeated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def enter() -> None:
        async with Endpoint(EndpointSettings(URL, "tiny", "my_key")):
            pass

    monkeypatch.setenv("my_key", "a-good-key")
    asyncio.run(enter())
    monkeypatch.setenv("my_key", "two words")
    assert "my_key" not in _show(_open(URL, "my_key"))


@pytest.mark.parametrize("url", ADDRESSES)
def test_a_key_in_an_address_is_not_repeated(url: str, tmp_path: Path) -> None:
    error = _open(url, "none")
    assert SECRET not in _show(error)
    assert error.fix
    with pytest.raises(SpecError) as caught:
        estimate(settings(tmp_path, url, captions(3)))
    assert SECRET not in _show(caught.value)
    assert not (tmp_path / "store.sqlite").exists()
    (check,) = check_endpoint(url)
    assert SECRET not in repr(check)


def test_an_address_is_repeated() -> None:
    assert "ftp://localhost:80/v1" in _open("ftp://localhost:80/v1?a=b", "none").message


@pytest.mark.parametrize("variable", [SECRET, "NO_SUCH_VARIABLE"])
def test_the_command_keeps_quiet(variable: str, tmp_path: Path) -> None:
    app = typer.Typer()
    app.command()(present(llm.llm_run_command))
    (tmp_path / "p.yaml").write_text("tiny: {input: 1.0, output: 4.0}\n")
    source = write_rows(tmp_path / "rows.jsonl", captions(2))
    paths = ["--out", str(tmp_path / "o.parquet"), "--store", str(tmp_path / "s.sqlite")]
    given = ["paraphrase", str(source), *paths, "--model", "tiny", "--local"]
    done = CliRunner().invoke(app, [*given, "--base-url", URL, "--key-variable", variable])
    assert isinstance(done.exception, SegueError)
    assert (variable in done.output + _show(done.exception)) is (variable != SECRET)
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or SECRET.encode() not in path.read_bytes(), path


def test_settings_do_not_show_what_may_hold_a_key(tmp_path: Path) -> None:
    endpoint = EndpointSettings(f"{URL}?key={SECRET}", "tiny", SECRET)
    assert SECRET not in repr(endpoint)
    night = EnrichSettings(
        task="t", out=tmp_path, model="tiny", base_url=f"{URL}?key={SECRET}", key_variable=SECRET
    )
    assert SECRET not in repr(night) + str(night)


def test_prefects_address_is_shown_without_its_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    told = f"http://127.0.0.1:9/api?key={SECRET}#{SECRET}"
    monkeypatch.setattr("pipelines.checks.doctor.packages.run_module", lambda _: told)
    (check,) = check_prefect()
    assert SECRET not in repr(check)
    assert "http://127.0.0.1:9/api" in repr(check)
    monkeypatch.setattr("pipelines.checks.doctor.packages.run_module", lambda _: "secret-word")
    (check,) = check_prefect()
    assert "secret-word" not in repr(check)


@pytest.mark.parametrize(
    ("url", "same"),
    [
        ("https://API.OpenAI.com:443/v1/", "https://api.openai.com/v1"),
        (f"http://me:{SECRET}@[::1]:80/v1?key={SECRET}#{SECRET}", "http://[::1]/v1"),
        ("http://localhost:11434/v1", "http://localhost:11434/v1"),
        (f"http://localhost/{SECRET}/v1", "http://localhost/[key]/v1"),
    ],
)
def test_an_endpoints_identity_holds_no_key(url: str, same: str) -> None:
    assert identify_endpoint(url) == identify_endpoint(same) == same
