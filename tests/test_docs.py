"""What README and docs say of commands, tasks and services is so."""

from __future__ import annotations

import re
import shlex
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from pipelines.cli.app import load_command
from pipelines.cli.commands import COMMANDS, GROUPS
from pipelines.config.file import read_spec
from synth.llm.prompt import load_prompt, shipped_files
from synth.recipes import recipe_class, recipe_names
from synth.sources import SOURCES, source_class
from synth.sources.reading.base import find_origin
from train.config.run import parse_config

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
CODE = ("synth", "pipelines", "train", "experiments")


@pytest.fixture(scope="module")
def compose() -> dict[str, dict[str, dict[str, object]]]:
    return yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def test_every_task_is_documented() -> None:
    page = (ROOT / "docs" / "llm.md").read_text(encoding="utf-8")
    for name in shipped_files():
        assert f"| `{name}` |" in page
        assert load_prompt(name).file.about


def test_the_llm_profile_serves_a_model(
    compose: dict[str, dict[str, dict[str, object]]],
) -> None:
    named = {name for name, one in compose["services"].items() if one.get("profiles") == ["llm"]}
    assert named == {"ollama", "ollama-model"}
    assert "healthcheck" in compose["services"]["ollama"]
    page = (ROOT / "docs" / "llm.md").read_text(encoding="utf-8")
    assert "docker compose --profile llm up -d" in page


SOURCES_PAGE = ROOT / "docs" / "sources.md"


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_is_documented_with_all_of_its_settings(name: str) -> None:
    lines = SOURCES_PAGE.read_text(encoding="utf-8").splitlines()
    row = next((line for line in lines if line.startswith(f"| `{name}` |")), "")
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert len(cells) == 5, f"docs/sources.md has no row on {name}"
    assert re.findall(r"`(\w+)`", cells[4]) == list(source_class(name).model_fields)
    origin = find_origin(source_class(name))
    if origin is not None:
        assert cells[2].split("/")[0] in origin.url or "zenodo" in cells[2]


PAGES = sorted(
    path
    for path in (ROOT / "docs").rglob("*.md")
    if not path.is_relative_to(ROOT / "docs" / "results")
)
_COMMAND = re.compile(r"^ {4}(?:\$ )?(segue (?:[^\\\n]|\\\n)*)", re.M)
_SPEC = re.compile(r"^```yaml\n(# triplets\.yaml\n.*?)^```", re.M | re.S)
_LINK = re.compile(r"\]\((?!https?:)([^)#]+)[^)]*\)")
_YAML = re.compile(r"^```yaml[^\n]*\n# train\.yaml.*?\n```", re.M | re.S)


_INLINE = re.compile(r"`segue\s+([a-z][a-z-]*)(?:\s+([a-z][a-z-]*))?")

parser = cache(load_command)


@pytest.mark.parametrize("page", [README, *PAGES], ids=lambda page: page.stem)
def test_every_command_of_a_page_is_one_that_segue_takes(page: Path) -> None:
    for line in _COMMAND.findall(page.read_text(encoding="utf-8")):
        for command in line.replace("\\\n", " ").replace("...", "").split(" && "):
            _, *given = shlex.split(re.split(r" [|<] ", command)[0], comments=True)
            if given[0] == "--install-completion":  # typer's own
                continue
            words = " ".join(given[: 2 if given[0] in GROUPS else 1])
            # Raises where an option does not exist, an argument is missing or a value is wrong.
            parser(words).make_context(words, given[len(words.split()) :])


def test_every_command_that_is_named_anywhere_is_one() -> None:
    code = [path for name in CODE for path in (ROOT / name).rglob("*.py")]
    assert len(code) > 100
    for path in [README, *PAGES, *code]:
        for first, second in _INLINE.findall(path.read_text(encoding="utf-8")):
            words = f"{first} {second}" if first in GROUPS and second else first
            assert words in {*GROUPS, *COMMANDS}, f"{path}: segue {words}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_training_settings_of_a_page_are_read(page: Path) -> None:
    for block in _YAML.findall(page.read_text(encoding="utf-8")):
        values: dict[str, Any] = yaml.safe_load(block.partition("\n")[2].removesuffix("```"))
        assert parse_config({"corpus": "c", "out": "o"} | values, page.name)


@pytest.mark.parametrize("path", sorted((ROOT / "docs/examples").glob("*.yaml")), ids=str)
def test_every_spec_of_the_pages_is_read(path: Path) -> None:
    assert read_spec(path).corpus


@pytest.mark.parametrize(("page", "example"), [("tutorial", "tutorial"), ("own-sounds", "mine")])
def test_a_page_shows_the_example_itself(page: str, example: str) -> None:
    shown = (ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8")
    spec = (ROOT / "docs" / "examples" / f"{example}.yaml").read_text(encoding="utf-8")
    assert f'.yaml"\n{spec}```' in shown
    assert "--8<--" not in shown


def test_the_spec_of_the_readme_is_read(tmp_path: Path) -> None:
    (spec,) = _SPEC.findall(README.read_text(encoding="utf-8"))
    (tmp_path / "triplets.yaml").write_text(spec, encoding="utf-8")
    assert read_spec(tmp_path / "triplets.yaml").corpus == "triplets"
    comments = [line.partition("#")[2] for line in spec.splitlines()]
    assert not any("{" in comment for comment in comments)  # it would be taken for a setting


def test_every_link_of_the_readme_leads_to_a_file() -> None:
    links = _LINK.findall(README.read_text(encoding="utf-8"))
    assert "docs/tutorial.md" in links
    assert [link for link in links if not (ROOT / link).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_begins_with_what_it_is_for(page: Path) -> None:
    title, blank, first, *_ = page.read_text(encoding="utf-8").splitlines()
    assert title.startswith("# ")
    assert not blank
    assert first[0].isalpha()


@pytest.mark.parametrize("name", recipe_names())
def test_every_recipe_has_a_page_with_its_settings_and_an_example(name: str) -> None:
    page = (ROOT / "docs" / "recipes" / f"{name.replace('_', '-')}.md").read_text(encoding="utf-8")
    model = recipe_class(name)
    assert f"<!-- settings: {model.__module__}:{model.__name__} -->" in page
    assert "<!-- example: " in page
    assert "**Paper.**" in page
