"""What README and docs say of commands, tasks and services is so."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from synth.llm.prompt import load_prompt, shipped_prompts

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def compose() -> dict[str, dict[str, dict[str, object]]]:
    return yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def test_every_task_is_documented() -> None:
    page = (ROOT / "docs" / "llm.md").read_text(encoding="utf-8")
    for name in shipped_prompts():
        assert f"| `{name}` |" in page
        assert load_prompt(name).file.about


def test_services_are_heard_on_this_machine_only_and_hold_no_secret(
    compose: dict[str, dict[str, dict[str, object]]],
) -> None:
    for service in compose["services"].values():
        assert all(str(port).startswith("127.0.0.1:") for port in service.get("ports", []))  # type: ignore[attr-defined]
    text = (ROOT / "docker-compose.yml").read_text(encoding="utf-8").lower()
    assert not any(word in text for word in ("password", "secret", "api_key", "token"))


def test_the_llm_profile_serves_a_model(
    compose: dict[str, dict[str, dict[str, object]]],
) -> None:
    named = {name for name, one in compose["services"].items() if one.get("profiles") == ["llm"]}
    assert named == {"ollama", "ollama-model"}
    assert "healthcheck" in compose["services"]["ollama"]
    assert "docker compose --profile llm up -d" in (ROOT / "README.md").read_text(encoding="utf-8")
