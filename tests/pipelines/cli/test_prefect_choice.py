"""Which builds are Prefect flows: those with a server of one's own, and those that ask for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.cli.common.prefect_settings import is_server_configured

PROFILES = """\
active = "night"

[profiles.night]
PREFECT_API_URL = "http://127.0.0.1:4200/api"

[profiles.empty]
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("PREFECT_API_URL", "PREFECT_PROFILE", "PREFECT_PROFILES_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path))
    return tmp_path


def test_a_server_is_configured_by_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_server_configured()
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:4200/api")
    assert is_server_configured()


def test_a_server_is_configured_by_the_active_profile(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (home / "profiles.toml").write_text(PROFILES)
    assert is_server_configured()
    monkeypatch.setenv("PREFECT_PROFILE", "empty")
    assert not is_server_configured()
    monkeypatch.delenv("PREFECT_PROFILE")
    monkeypatch.setenv("PREFECT_API_URL", "")  # the environment outranks the profile
    assert not is_server_configured()


@pytest.mark.parametrize("text", ["[", "active = 3", "profiles = 1", ""])
def test_profiles_that_cannot_be_read_configure_nothing(home: Path, text: str) -> None:
    (home / "profiles.toml").write_text(text)
    assert not is_server_configured()
