"""The Compose file, the image's parts, and what keeps a stack private."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load(TEXT)
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
SCHEMA = ROOT / "tests" / "data" / "compose" / "compose-spec.json"
VARIABLE = re.compile(r"\$\{(\w+)(?::?[-?+][^}]*)?\}")
TRAINER = {"torch", "transformers", "tokenizers", "tensorboard"}
WITHOUT_TRAINER = f"""
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {TRAINER}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Absent())
import pipelines.flows
from pipelines.cli.app import main
main()
"""
of_each_service = pytest.mark.parametrize("service", SERVICES.values(), ids=SERVICES)


def test_the_file_keeps_to_the_compose_specification() -> None:
    validator = jsonschema.Draft7Validator(json.loads(SCHEMA.read_text(encoding="utf-8")))
    assert [error.message for error in validator.iter_errors(COMPOSE)] == []
    assert not validator.is_valid({"services": {"one": {"image": "x", "port": ["1:1"]}}})


def test_what_is_named_is_declared() -> None:
    for kind in ("networks", "secrets"):
        named = {name for one in SERVICES.values() for name in one.get(kind, [])} - {"default"}
        assert named == set(COMPOSE[kind])
    mounted = {str(volume).split(":")[0] for volume in _volumes() if volume[0] not in "./$"}
    assert mounted == set(COMPOSE["volumes"])
    for one in SERVICES.values():
        assert set(one.get("depends_on", {})) <= set(SERVICES)


def test_a_profile_starts_all_that_it_depends_on() -> None:
    for one in SERVICES.values():
        for other in one.get("depends_on", {}):
            assert set(one["profiles"]) <= set(SERVICES[other]["profiles"])


@of_each_service
def test_a_service_has_no_more_rights_than_it_needs(service: dict[str, Any]) -> None:
    assert all(str(port).startswith("127.0.0.1:") for port in service.get("ports", []))
    rights = {"privileged", "cap_add", "devices", "pid", "ipc", "userns_mode", "network_mode"}
    assert not rights & set(service)
    assert "docker.sock" not in str(service)


@of_each_service
def test_health_is_checked_or_the_file_says_why_not(service: dict[str, Any]) -> None:
    assert ("healthcheck" in service) != bool(service.get("x-no-healthcheck"))
    for other, how in service.get("depends_on", {}).items():
        if how["condition"] == "service_healthy":
            assert "healthcheck" in SERVICES[other]


@of_each_service
def test_images_are_pinned_by_version(service: dict[str, Any]) -> None:
    image = VARIABLE.sub(lambda found: _default(found[0]), service["image"])
    assert re.search(r":v?\d|:RELEASE\.\d", image), image
    assert "latest" not in image


def test_no_secret_is_in_the_file() -> None:
    assert all(set(secret) == {"environment"} for secret in COMPOSE["secrets"].values())
    for one in SERVICES.values():
        for name, value in one.get("environment", {}).items():
            if re.search("PASSWORD|SECRET|TOKEN|KEY|AUTH", name):
                assert value is None or str(value).startswith("/run/secrets/"), name
    assert not re.search(r"://[^/\s$]+:[^/\s$]+@", TEXT), "a password in an address"


def test_databases_cannot_be_reached_from_outside_their_network() -> None:
    assert COMPOSE["networks"]["state"]["internal"] is True
    for name in ("postgres", "redis"):
        assert SERVICES[name]["networks"] == ["state"]
        assert "ports" not in SERVICES[name]
    assert "networks" not in SERVICES["worker"]


def test_prefect_reports_nothing_home() -> None:
    for name in ("server", "services", "worker"):
        environment = SERVICES[name]["environment"]
        assert environment["PREFECT_SERVER_ANALYTICS_ENABLED"] == "false"
        assert environment["DO_NOT_TRACK"] == "1"


def test_every_prefect_setting_is_one_that_prefect_knows() -> None:
    known = subprocess.run(
        [sys.executable, "-m", "prefect", "config", "view", "--show-defaults"],
        capture_output=True,
        text=True,
        env={**os.environ, "DO_NOT_TRACK": "1", "COLUMNS": "400"},
        check=True,
    ).stdout
    older = {
        "PREFECT_MESSAGING_BROKER": "PREFECT_SERVER_EVENTS_MESSAGING_BROKER",
        "PREFECT_MESSAGING_CACHE": "PREFECT_SERVER_EVENTS_MESSAGING_CACHE",
    }
    for name in ("server", "services", "worker"):
        for variable in SERVICES[name]["environment"]:
            # Redis settings are prefect-redis's; the database's old names are listed.
            setting = older.get(variable, variable).removesuffix("_FILE")
            if setting.startswith("PREFECT_") and "_REDIS_" not in setting:
                listed = setting.replace("_SERVER_DATABASE_", "_API_DATABASE_")
                assert f"{setting}=" in known or f"{listed}=" in known, variable


def test_all_that_is_taken_from_the_environment_is_explained() -> None:
    example = (ROOT / ".env.example").read_text(encoding="utf-8")
    explained = dict(re.findall(r"^#?(\w+)=(.*)$", example, re.MULTILINE))
    taken = {found[1] for found in VARIABLE.finditer(TEXT)}
    taken |= {secret["environment"] for secret in COMPOSE["secrets"].values()}
    taken |= {
        name
        for one in SERVICES.values()
        for name, value in one.get("environment", {}).items()
        if value is None
    }
    assert taken == set(explained)
    for found in VARIABLE.finditer(TEXT):
        if _default(found[0]):
            assert explained[found[1]] == _default(found[0]), "the default is another"


def test_the_example_holds_no_secret() -> None:
    example = (ROOT / ".env.example").read_text(encoding="utf-8")
    for name, value in re.findall(r"^#?(\w+)=(.*)$", example, re.MULTILINE):
        assert not (re.search("PASSWORD|SECRET|TOKEN|KEY|AUTH", name) and value), name


def test_the_page_names_every_profile_and_service() -> None:
    page = (ROOT / "docs" / "deploy.md").read_text(encoding="utf-8")
    for name, one in SERVICES.items():
        assert f"--profile {one['profiles'][0]}" in page
        assert f"`{name}`" in page


def test_the_image_runs_as_an_ordinary_user_on_a_pinned_python() -> None:
    lines = (ROOT / "docker" / "Dockerfile").read_text(encoding="utf-8").splitlines()
    assert [line for line in lines if line.startswith("USER ")] == ["USER segue"]
    assert any(re.fullmatch(r"ARG PYTHON=python:3\.11\.\d+-slim-\w+", line) for line in lines)
    assert sum("-c constraints.txt" in line for line in lines) == 1


def test_all_that_the_image_copies_is_here_and_sent_to_the_builder() -> None:
    sent = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    for line in (ROOT / "docker" / "Dockerfile").read_text(encoding="utf-8").splitlines():
        if line.startswith("COPY ") and "--from" not in line:
            for path in [part for part in line.split()[1:-1] if not part.startswith("--")]:
                assert (ROOT / path).exists(), path
                assert f"!{path.split('/')[0]}" in sent, path


@pytest.fixture
def requirements() -> Callable[[bool], list[str]]:
    path = ROOT / "docker" / "requirements.py"
    spec = importlib.util.spec_from_file_location("image_requirements", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    return lambda trainer: list(module.requirements(project["dependencies"], trainer))


def test_the_image_leaves_out_the_trainer_unless_asked(
    requirements: Callable[[bool], list[str]],
) -> None:
    left_out = {line.split(">=")[0] for line in set(requirements(True)) - set(requirements(False))}
    assert left_out == TRAINER
    assert "prefect>=3.8.8,<3.9" in requirements(False)


@pytest.mark.slow
def test_a_corpus_is_built_where_the_trainer_is_not_installed(tmp_path: Path) -> None:
    spec = {
        "corpus": "bare",
        "source": {"foley": {"classes": ["dog", "rain"], "takes": 2}},
        "recipe": {"triplets": {}},
    }
    (tmp_path / "bare.yaml").write_text(yaml.safe_dump(spec))
    arguments = f"build {tmp_path}/bare.yaml --out {tmp_path}/out --workers 0 --no-prefect --json"
    built = subprocess.run(
        [sys.executable, "-c", WITHOUT_TRAINER, *arguments.split()],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr
    assert json.loads(built.stdout.splitlines()[-1])["samples"] > 0


def test_the_entrypoint_takes_a_secret_from_its_file(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text('it\'s $HOME `x` "é"\n')
    shown = _entrypoint(PREFECT_API_AUTH_STRING_FILE=str(secret))
    assert shown.stdout == 'it\'s $HOME `x` "é"\nno\n'


@pytest.mark.parametrize("content", [None, ""])
def test_the_entrypoint_refuses_a_missing_or_empty_secret(
    content: str | None, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    if content is not None:
        secret.write_text(content)
    refused = _entrypoint(PREFECT_API_AUTH_STRING_FILE=str(secret))
    assert refused.returncode == 78
    assert f"PREFECT_API_AUTH_STRING_FILE is {secret}, which is missing, empty" in refused.stderr


def test_the_health_check_fails_in_one_line_where_nobody_answers() -> None:
    checked = subprocess.run(
        [ROOT / "docker" / "answers", "PORT", "/health"],
        env={"PATH": os.environ["PATH"], "PORT": "9"},
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 1
    assert len(checked.stderr.splitlines()) == 1


def _entrypoint(**environment: str) -> subprocess.CompletedProcess[str]:
    show = 'printf "%s\\n" "$PREFECT_API_AUTH_STRING" "${PREFECT_API_AUTH_STRING_FILE:-no}"'
    return subprocess.run(
        [ROOT / "docker" / "entrypoint.sh", "sh", "-c", show],
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
    )


def _volumes() -> list[str]:
    return [volume for one in SERVICES.values() for volume in one.get("volumes", [])]


def _default(variable: str) -> str:
    found = re.fullmatch(r"\$\{\w+:-([^}]*)\}", variable)
    return found[1] if found else ""
