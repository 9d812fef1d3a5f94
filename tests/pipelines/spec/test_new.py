"""`segue new`: specs in which every setting stands, and which are right as they are."""

from __future__ import annotations

import json
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from typer.testing import CliRunner, Result

from pipelines.build.build import plan_library
from pipelines.cli.make.new import new_command
from pipelines.cli.make.sources import sources_command
from pipelines.spec.file import parse_spec, read_spec
from pipelines.spec.new.docstrings import read_meanings
from pipelines.spec.new.recipes import find_start, list_starts
from pipelines.spec.new.template import choose_splits, render_spec
from pipelines.spec.spec import Spec
from synth.base.errors import SourceError, SpecError
from synth.base.progress import Silent
from synth.base.yaml_file import parse_yaml
from synth.recipes import RECIPES
from synth.sources import SOURCES, source_class

APP = typer.Typer()
APP.command()(new_command)
FEW: dict[str, dict[str, Any]] = {
    "acba": {"pairs": 4},
    "scenes": {"scenes": 4},
    "jam": {"tracks": 10},
    "foley": {"takes": 5, "classes": ["cat", "dog", "rain"]},
}


def new(*arguments: str | Path) -> Result:
    return CliRunner().invoke(APP, [str(each) for each in arguments])


# A spec's parts are written apart: each source need not meet each recipe.
@pytest.mark.parametrize(("source", "name"), zip(SOURCES, cycle(list_starts()), strict=False))
def test_recipes_and_sources_make_specs_with_the_defaults(
    source: str, name: str, tmp_path: Path
) -> None:
    read = parse_spec(parse_yaml(render_spec(name, "mine", source), "new.yaml"), tmp_path)
    start = find_start(name)
    given = {"root": f"/data/{source}"} if "root" in source_class(source).model_fields else {}
    plain = {
        "corpus": "mine",
        "source": {source: given},
        "recipe": {start.recipe: dict(start.settings)},
        "splits": choose_splits(source),
    }
    assert read == Spec.model_validate(plain)


@pytest.mark.parametrize("name", list_starts())
def test_every_setting_stands_there_with_its_meaning(name: str) -> None:
    text = render_spec(name, "mine")
    written = yaml.safe_load(text)
    comments = " ".join(
        line.strip().lstrip("# ") for line in text.splitlines() if line.strip().startswith("#")
    )
    start = find_start(name)
    parts = [
        (Spec, written),
        (source_class(start.source), written["source"][start.source]),
        (start.model, written["recipe"][start.recipe]),
    ]
    for model, values in parts:
        assert set(values) == set(model.model_fields)
        for key, told in read_meanings(model).items():
            assert told, f"{model.__name__}.{key} has no meaning"
            nested = key in ("audio", "clips", "truth", "shards")
            assert nested or told in comments
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize("name", list_starts())
def test_every_recipe_can_be_planned_as_it_is_written(name: str, tmp_path: Path) -> None:
    values = yaml.safe_load(render_spec(name, "mine"))
    for part in ("source", "recipe"):
        ((chosen, settings),) = values[part].items()
        settings |= FEW.get(chosen, {})
    if "jam" in values["source"]:
        values["splits"] = {"train": [1]}  # ten loops, one a genre, are of the first fold
    spec = Spec.model_validate(values)
    _, places, samples = plan_library(spec, tmp_path, 0, Silent())
    assert samples
    assert places.manifests.is_dir()


def test_it_writes_a_file_and_overwrites_none(tmp_path: Path) -> None:
    out = tmp_path / "specs" / "My first.yaml"
    done = new("triplets", "--source", "esc50:/data/ESC-50", "--out", out, "--json")
    assert json.loads(done.stdout) == {"spec": str(out), "recipe": "triplets", "source": "esc50"}
    spec = read_spec(out)
    assert spec.corpus == "my-first"
    assert spec.source.chosen.root == Path("/data/ESC-50")  # type: ignore[attr-defined]
    before = out.read_bytes()
    refused = new("scenes", "--out", out)
    assert isinstance(refused.exception, SpecError)
    assert out.read_bytes() == before


def test_a_folder_of_sounds_has_its_index_and_splits_to_test_on(tmp_path: Path) -> None:
    (tmp_path / "sounds").mkdir()
    (tmp_path / "sounds" / "index.csv").write_text("path,label\na.wav,dog\n")
    out = tmp_path / "specs" / "mine.yaml"
    done = new("triplets", "--source", f"folder:{tmp_path / 'sounds'}", "--out", out)
    assert "index: index.csv" in done.stdout
    spec = read_spec(out)
    assert spec.source.chosen.index == Path("index.csv")  # type: ignore[attr-defined]
    assert spec.splits == {"train": 0.7, "val": 0.15, "test": 0.15}


def test_a_relative_folder_is_found_from_the_spec(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sounds").mkdir()
    monkeypatch.chdir(tmp_path)
    new("triplets", "--source", "folder:sounds", "--out", "specs/mine.yaml")
    assert read_spec(Path("specs/mine.yaml")).source.chosen.root == tmp_path / "sounds"  # type: ignore[attr-defined]


def test_without_a_name_the_recipes_are_listed() -> None:
    listed = new().stdout
    assert all(f"{name} " in listed for name in (*RECIPES, "stage_a"))
    assert set(json.loads(new("--json").stdout)) == set(list_starts())
    assert isinstance(new("--source", "foley").exception, SpecError)


def test_wrong_names_are_told_with_what_was_meant(tmp_path: Path) -> None:
    misspelt = new("triplet", "--out", tmp_path / "x.yaml").exception
    assert isinstance(misspelt, SpecError)
    assert misspelt.fix == "did you mean 'triplets'?"
    unknown = new("triplets", "--source", "esc-50", "--out", tmp_path / "x.yaml").exception
    assert isinstance(unknown, SourceError)
    assert unknown.fix == "did you mean 'esc50'?"
    assert list(tmp_path.iterdir()) == []


def test_sources_tell_the_same_meanings() -> None:
    app = typer.Typer()
    app.command()(sources_command)
    told = json.loads(CliRunner().invoke(app, ["jam", "--json"]).stdout)["jam"]["about"]
    assert told == read_meanings(source_class("jam"))
