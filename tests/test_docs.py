"""What README and docs say of commands, tasks and services is so."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from libraries import check, sound, write_csv

from synth.errors import SourceError
from synth.llm.prompt import load_prompt, shipped_prompts
from synth.sources import SOURCES, source_class

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def compose() -> dict[str, dict[str, dict[str, object]]]:
    return yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def test_every_task_is_documented() -> None:
    page = (ROOT / "docs" / "llm.md").read_text(encoding="utf-8")
    for name in shipped_prompts():
        assert f"| `{name}` |" in page
        assert load_prompt(name).file.about


def test_the_llm_profile_serves_a_model(
    compose: dict[str, dict[str, dict[str, object]]],
) -> None:
    named = {name for name, one in compose["services"].items() if one.get("profiles") == ["llm"]}
    assert named == {"ollama", "ollama-model"}
    assert "healthcheck" in compose["services"]["ollama"]
    assert "docker compose --profile llm up -d" in (ROOT / "README.md").read_text(encoding="utf-8")


SOURCES_PAGE = ROOT / "docs" / "sources.md"


@pytest.mark.parametrize("name", SOURCES)
def test_every_source_is_documented_with_all_of_its_settings(name: str) -> None:
    lines = SOURCES_PAGE.read_text(encoding="utf-8").splitlines()
    row = next((line for line in lines if line.startswith(f"| `{name}` |")), "")
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert len(cells) == 5, f"docs/sources.md has no row on {name}"
    assert re.findall(r"`(\w+)`", cells[4]) == list(source_class(name).model_fields)
    origin = source_class(name).origin
    if origin is not None:
        assert cells[2].split("/")[0] in origin.url or "zenodo" in cells[2]


@pytest.fixture
def birds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The package of the page's example, as if it were installed, and a library for it."""
    text = SOURCES_PAGE.read_text(encoding="utf-8")
    example, entry = (
        text.partition(f"```{kind}\n")[2].partition("```")[0] for kind in ("python", "toml")
    )
    (tmp_path / "bird_sounds.py").write_text(example, encoding="utf-8")
    points = tomllib.loads(entry)["project"]["entry-points"]
    info = tmp_path / "bird_sounds-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bird-sounds\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "".join(
            f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in found.items())
            for group, found in points.items()
        )
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    root = tmp_path / "birds"
    rows = [("a.wav", "robin", "wood", "Me"), ("b.wav", "wren", "wood", "You")]
    write_csv(root / "calls.csv", ("file", "species", "place", "recordist"), rows)
    for seed, (file, *_) in enumerate(rows):
        sound(root / "audio" / file, seed)
    yield root
    sys.modules.pop("bird_sounds", None)


def test_the_source_of_the_page_is_found_and_reads_its_library(birds: Path) -> None:
    found = source_class("birds")
    robin, wren = check(found(root=birds))  # type: ignore[call-arg]
    assert (robin.labels, robin.recording) == (("robin",), wren.recording)
    assert len(found(root=birds).load(wren).audio) == 1600  # type: ignore[attr-defined, call-arg]
    (only,) = found(root=birds, species="wren").refs()  # type: ignore[attr-defined, call-arg]
    assert only == wren
    (birds / "calls.csv").write_text("file,species,place,recordist\na.wav,robin\n")
    with pytest.raises(SourceError, match=r"calls\.csv: line 2: expected 4 fields"):
        list(found(root=birds).refs())  # type: ignore[attr-defined, call-arg]
