"""Which builds are Prefect flows: those with a server of one's own, and those that ask for it."""

from __future__ import annotations

from pathlib import Path

import pytest
from prefect.settings import Settings

from pipelines.cli.make.build import run_build
from pipelines.config.prefect_server import find_server
from pipelines.config.spec import Spec
from synth.base.errors import SegueError
from synth.base.progress import UNOBSERVED
from tests.kit.cases import cases
from tests.kit.tables import read_data

NIGHT = "http://127.0.0.1:4200/api"
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


def test_where_a_server_is_configured(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    assert not find_server()
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:4200/api")
    assert find_server()
    monkeypatch.delenv("PREFECT_API_URL")
    (home / "profiles.toml").write_text(PROFILES)
    assert find_server()
    monkeypatch.setenv("PREFECT_PROFILE", "empty")
    assert not find_server()
    monkeypatch.delenv("PREFECT_PROFILE")
    monkeypatch.setenv("PREFECT_API_URL", "")  # the environment outranks the profile
    assert not find_server()


@cases(("files", "address"), read_data("cli/prefect_files.yaml"))
def test_files_are_read_as_prefect_does(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, files: dict[str, str], address: str
) -> None:
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    assert find_server() == (Settings().api.url or "") == address


def test_profiles_that_name_no_server_configure_none(home: Path) -> None:
    for text in ("", "[profiles.night]", 'active = "gone"'):
        (home / "profiles.toml").write_text(text)
        assert not find_server(), text


def test_profiles_that_cannot_be_read_are_an_error_that_names_the_file(home: Path) -> None:
    # A server that it names would be passed over without a word.
    path = home / "profiles.toml"
    for data in (b"[", b"profiles = 1", b'active = "a"\nprofiles.a = 1', b"active = []", b"\xff"):
        path.write_bytes(data)
        with pytest.raises(SegueError, match="Prefect's settings cannot be read") as caught:
            find_server()
        assert str(path) in caught.value.message
        assert "--no-prefect" in caught.value.fix
    path.unlink()
    path.mkdir()
    with pytest.raises(SegueError, match="Is a directory"):
        find_server()


def test_a_build_says_so_before_it_begins(home: Path, tmp_path: Path) -> None:
    (home / "profiles.toml").write_text("[")
    spec = Spec.model_validate(
        {"corpus": "c", "source": "foley", "recipe": {"triplets": {}}, "splits": {"train": 1.0}}
    )
    out = tmp_path / "out"
    with pytest.raises(SegueError, match="profiles"):
        run_build(spec, out, 0, None, UNOBSERVED)
    assert not out.exists()
