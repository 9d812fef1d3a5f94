"""`segue check` of the machine: what is missing, what it costs, and the fix."""

from __future__ import annotations

import json
import os
import shutil
import threading
import tomllib
from collections.abc import Iterator
from contextlib import nullcontext
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib import metadata
from pathlib import Path
from typing import ClassVar

import pytest
from packaging.requirements import Requirement

from pipelines.checks.doctor import machine, packages
from pipelines.checks.doctor.check import CheckState, DoctorCheck, SilentModuleError
from pipelines.cli.make.check import check_command
from tests.kit.builds import invoke

KEY = "sk-this-is-nobodys-business"


class Models(BaseHTTPRequestHandler):
    """An endpoint that lists two models, to those who have the key where it wants one."""

    key: ClassVar[str] = ""

    def do_GET(self) -> None:
        allowed = not self.key or self.headers["Authorization"] == f"Bearer {self.key}"
        found = {"data": [{"id": "a"}, {"id": "b"}]} if self.path == "/v1/models" else {}
        body = json.dumps(found if allowed else {"error": {"message": f"no: {KEY}"}}).encode()
        self.send_response(200 if allowed else 401)
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def endpoint() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Models) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/v1"
        server.shutdown()


def by_name(checks: Iterator[DoctorCheck]) -> dict[str, DoctorCheck]:
    return {check.name: check for check in checks}


@pytest.mark.slow
def test_what_is_not_well_says_what_it_costs_and_how_to_fix_it() -> None:
    groups = (packages.check_packages(), machine.check_decoders(), machine.check_machine())
    for group in groups:
        for check in group:
            assert check.needed_for
            assert check.found
            assert (check.state is CheckState.OK) == (check.fix == "")


def test_packages_out_of_bounds_or_missing_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    there = metadata.version

    def version(name: str) -> str:
        if name == "torch":
            raise metadata.PackageNotFoundError(name)
        return "0.1" if name == "pyarrow" else there(name)

    monkeypatch.setattr(packages.metadata, "version", version)
    found = by_name(packages.check_packages())
    assert found["packages"].state is CheckState.WRONG
    assert found["pyarrow"].state is CheckState.WRONG
    assert "0.1, but >=" in found["pyarrow"].found
    torch = found["torch"]
    assert (torch.state, torch.found) == (CheckState.MISSING, "not installed")
    assert torch.fix == "pip install -c constraints.txt torch"


def test_programs_that_are_missing_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr(machine, "find_spec", lambda _: None)
    monkeypatch.setattr(machine, "find_version", lambda _: None)
    found = by_name(machine.check_decoders())
    assert found["ffmpeg"].state is CheckState.MISSING
    assert "apt install ffmpeg" in found["ffmpeg"].fix
    assert "segue-audio[nlp]" in found["word tagger"].fix
    assert {found[f"libsndfile {form}"].state for form in ("FLAC", "OGG", "MP3")} == {CheckState.OK}
    monkeypatch.setattr(machine, "find_spec", lambda name: name == "spacy" or None)
    monkeypatch.setattr(machine.metadata, "version", lambda _: "3.8")
    fix = by_name(machine.check_decoders())["word tagger"].fix
    assert fix.startswith("python -m spacy download ")


def test_a_torchcodec_that_does_not_load_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    there = {"torchcodec": "0.13.0"}
    monkeypatch.setattr(machine, "find_version", there.get)
    monkeypatch.setattr(machine, "run_module", lambda _: "")
    loaded = by_name(machine.check_decoders())["torchcodec"]
    assert (loaded.state, loaded.found) == (CheckState.OK, "0.13.0")

    def fail(_: str) -> str:
        raise SilentModuleError("no libavcodec")

    monkeypatch.setattr(machine, "run_module", fail)
    broken = by_name(machine.check_decoders())["torchcodec"]
    assert broken.state is CheckState.MISSING
    assert "apt install ffmpeg" in broken.fix
    there.clear()
    assert "torchcodec" not in by_name(machine.check_decoders())  # the extra is told as missing


@pytest.mark.slow
def test_libraries_that_load_are_those_that_importing_loads() -> None:
    for name in (machine.CODEC, "torchcodec.version"):
        machine.run_module(name)


def test_the_extra_that_decodes_an_export_is_one_of_those_checked() -> None:
    project = tomllib.loads(Path("pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    assert set(packages.EXTRAS) <= set(extras)
    asked = next(each for each in extras["hf"] if each.startswith("torchcodec"))
    assert asked in extras["dev"]
    tested = dict(
        line.split("==") for line in packages.CONSTRAINTS.read_text().splitlines() if "==" in line
    )
    assert tested["torchcodec"] in Requirement(asked).specifier


def test_disks_are_tried_and_left_as_they_were_and_stores_are_not_tried(tmp_path: Path) -> None:
    found = by_name(machine.check_disks(tmp_path / "not" / "yet"))
    check = found[f"--out {tmp_path}/not/yet"]
    assert check.state is not CheckState.WRONG
    assert list(tmp_path.iterdir()) == []
    check = by_name(machine.check_disks(Path("s3://bucket/prefix")))["--out s3://bucket/prefix"]
    assert check.state is CheckState.OK


@pytest.mark.skipif(os.name == "nt", reason="locks are of another kind there")
def test_a_disk_without_locks_is_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "hold_lock", lambda *_: nullcontext())
    check = by_name(machine.check_disks(tmp_path))[f"--out {tmp_path}"]
    assert check.state is CheckState.WRONG
    assert "a lock can be taken twice" in check.found


def test_processors_of_a_container_and_gpus_are_told(tmp_path: Path) -> None:
    (tmp_path / "cpu.max").write_text("50000 100000\n")
    check = machine._check_processors(tmp_path)
    assert check.state is CheckState.MISSING
    assert "the container may use only 0.5" in check.found
    (tmp_path / "cpu.max").write_text("max 100000\n")
    assert machine._check_processors(tmp_path).state is CheckState.OK
    gpu = {"device": "cuda:0", "name": "H100", "memory": 80_000_000_000, "bf16": True}
    (check,) = machine._check_found_devices(
        {"torch": "2", "build": "built for CUDA 12", "devices": [gpu]}
    )
    assert check.state is CheckState.OK
    assert check.found == "H100, 80.00 GB, with bf16; torch 2, built for CUDA 12"
    (none,) = machine._check_found_devices({"torch": "2", "build": "built for CPU", "devices": []})
    assert none.state is CheckState.MISSING


def test_a_refused_key_is_never_shown(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(packages.KEY_VARIABLE, raising=False)
    (check,) = packages.check_endpoint(None)
    assert check.state is CheckState.MISSING
    (check,) = packages.check_endpoint(endpoint)
    assert check.state is CheckState.OK
    assert check.found == f"{endpoint} without a key: 2 models"
    monkeypatch.setattr(Models, "key", "another")
    monkeypatch.setenv(packages.KEY_VARIABLE, KEY)
    (check,) = packages.check_endpoint(endpoint)
    assert check.state is CheckState.WRONG
    assert packages.KEY_VARIABLE in check.found
    assert KEY not in str(check)


def test_a_key_and_a_secret_go_to_nobody() -> None:
    assert packages._is_private("https://api.example.org/v1")
    assert packages._is_private("http://127.0.0.1:11434/v1")
    assert not packages._is_private("http://api.example.org/v1")
    check = packages._check_prefect_server("http://user:secret@127.0.0.1:9/api")
    assert check.state is CheckState.WRONG
    assert "secret" not in str(check)
    assert packages._check_prefect_server("").state is CheckState.OK


def test_only_what_is_wrong_ends_with_status_one(monkeypatch: pytest.MonkeyPatch) -> None:
    for state in CheckState:
        check = DoctorCheck("disk", state, "full", "all", "free some")
        monkeypatch.setattr(machine, "run_checks", lambda *_, check=check: iter([check]))
        done = invoke(check_command, "--json")
        assert done.exit_code == (state is CheckState.WRONG)
        assert json.loads(done.stdout)["checks"][0]["state"] == state
        shown = invoke(check_command).stdout
        assert ("fix: free some" in shown) == (state is not CheckState.OK)
