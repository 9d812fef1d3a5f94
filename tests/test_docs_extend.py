"""What docs/extend.md shows is found and works as it says."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import torch
import yaml
from torch.nn.functional import normalize

from pipelines.builder.build import build, plan_library
from pipelines.config.file import read_spec
from pipelines.config.spec import Spec
from synth.base.errors import PlanError, SourceError, SpecError
from synth.base.progress import UNOBSERVED
from synth.recipes import recipe_class, recipe_names
from synth.sources import source_class
from tests.kit.builds import segue_here
from tests.kit.libraries import check, sound, write_csv
from tests.kit.loss_batches import make_batch, make_distinct
from train.config.loss import CustomLoss, Role
from train.config.run import TrainConfig, parse_config
from train.engine.loop import train
from train.engine.run_folder import load_run
from train.export.files import ModelFormat
from train.export.read import load_exported
from train.losses.batch import Ragged, World
from train.losses.captions import apply_loss
from train.model.clap import build_model
from train.report.publish import CARD_FILE, publish

DOCS = Path(__file__).resolve().parents[1] / "docs"
MODULES = ("bird_sounds", "together", "margin", "patches", "my_clap")
SHORT = {"stages": [{"steps": 2}], "batch": 4, "tensorboard": False}
BROKEN = """
[segue.recipes]
gone = no_such_module:X
other = together:Pairs
renamed = together:Together
triplets = together:Together
[segue.losses]
gone = no_such_module:X
[segue.towers]
gone = no_such_module:X
small = patches:Patches
"""


@pytest.fixture(autouse=True)
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The page's package, and a broken one, as if they were installed."""
    page = (DOCS / "extend.md").read_text(encoding="utf-8")
    toml = tomllib.loads(page.partition("```toml")[2].partition("\n")[2].partition("```")[0])
    named = "".join(
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in points.items())
        for group, points in toml["project"]["entry-points"].items()
    )
    for package, points in (("page", named), ("broken", BROKEN)):
        info = tmp_path / f"{package}-1.0.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(points)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.syspath_prepend(str(DOCS / "examples"))
    yield
    for module in MODULES:
        sys.modules.pop(module, None)


def test_the_page_shows_the_files_that_are_tested() -> None:
    page = (DOCS / "extend.md").read_text(encoding="utf-8")
    assert all(f'--8<-- "examples/{module}.py"' in page for module in MODULES)


def test_the_source_reads_its_library(tmp_path: Path) -> None:
    rows = [("a.wav", "robin", "wood", "Me"), ("b.wav", "wren", "wood", "You")]
    root = tmp_path / "birds"
    write_csv(root / "calls.csv", ("file", "species", "place", "recordist"), rows)
    for seed, (file, *_) in enumerate(rows):
        sound(root / "audio" / file, seed)
    found = source_class("birds")
    robin, wren = check(found(root=root))  # type: ignore[call-arg]
    assert (robin.labels, robin.recording) == (("robin",), wren.recording)
    assert len(found(root=root).load(wren).audio) == 1600  # type: ignore[attr-defined, call-arg]
    (only,) = found(root=root, species="wren").refs()  # type: ignore[attr-defined, call-arg]
    assert only == wren
    (root / "calls.csv").write_text("file,species,place,recordist\na.wav,robin\n")
    with pytest.raises(SourceError, match=r"calls\.csv: line 2: expected 4 fields"):
        list(found(root=root).refs())  # type: ignore[attr-defined, call-arg]


def test_the_recipe_plans_a_corpus(tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    library = "{foley: {classes: [dog, rain, siren], takes: 3}}"
    spec.write_text(f"corpus: t\nsource: {library}\nrecipe: {{together: {{pairs: 8}}}}\n")
    _, places, samples = plan_library(read_spec(spec), tmp_path / "out", 0, UNOBSERVED)
    rows = pq.read_table(places.manifests / "plan.parquet").to_pylist()
    assert samples == len(rows) == 8
    for row in rows:
        assert row["recipe"] == "together"
        assert row["relation"] == "while"
        assert " * " in row["notation"]
        assert len(set(row["labels"])) == 2
        assert {one["connective"] for one in row["negatives"]} == {"before", "after"}


@pytest.mark.parametrize("name", ["my_clap:make", "my-clap"])
def test_the_model_is_tested(name: str, tmp_path: Path) -> None:
    table = tmp_path / "classes.csv"
    write_csv(table, ("filename", "category"), [("a.wav", "robin"), ("b.wav", "wren")])
    for seed, file in enumerate(("a.wav", "b.wav")):
        sound(tmp_path / file, seed)
    found = segue_here("eval", name, table, "--json")
    assert found.returncode == 0, found.stderr
    assert json.loads(found.stdout.splitlines()[-1])["zero_shot_top1"]["n"] == 2


def test_a_recipe_of_another_package_is_checked_like_ours(tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text("corpus: t\nsource: foley\nrecipe: {together: {pair: 8}}\n")
    with pytest.raises(SpecError, match=r"spec\.yaml:3.*'pair'.*did you mean 'pairs'"):
        read_spec(spec)
    spec.write_text("corpus: t\nsource: foley\nrecipe: togethr\n")
    with pytest.raises(SpecError, match="did you mean 'together'"):
        read_spec(spec)


def test_a_spec_that_was_kept_names_the_recipe_again(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text("corpus: t\nsource: foley\nrecipe: {together: {pairs: 8}}\n")
    spec = read_spec(path)
    assert type(spec).model_validate(spec.model_dump(mode="json")) == spec


def test_a_broken_recipe_is_told_only_where_it_is_used_and_names_of_ours_stay_ours() -> None:
    for name, why in (
        ("gone", "cannot be imported"),
        ("other", "not a subclass"),
        ("renamed", "must be named"),
    ):
        assert name in recipe_names()
        with pytest.raises(PlanError, match=why):
            recipe_class(name)
    assert recipe_class("triplets").__module__ == "synth.recipes.triplets"
    assert len(recipe_names()) == len(set(recipe_names()))
    with pytest.raises(KeyError):
        recipe_class("no such recipe")


def _config(**loss: object) -> TrainConfig:
    values = {"corpus": "c", "out": "o", "stages": [{"steps": 1, "loss": loss}]}
    return parse_config(values, "train.yaml")


def test_the_loss_is_a_setting_like_ours() -> None:
    config = _config(name="margin", margin=0.1)
    assert config.stages[0].roles == {Role.NEGATIVES}
    assert config.model_dump(mode="json")["stages"][0]["loss"] == {"name": "margin", "margin": 0.1}
    assert TrainConfig.model_validate_json(config.model_dump_json()) == config
    assert TrainConfig.model_validate(config.model_dump()) == config
    wrong: list[tuple[dict[str, object], str]] = [
        ({"name": "margin", "margin": 3}, r"margin.*less than or equal to 2"),
        ({"name": "gone"}, "gone"),
        ({"name": "nothing of the kind"}, "nothing of the kind"),
        ({"name": "margn"}, "there is no 'margn'; did you mean 'margin'"),
        ({"name": "modularr"}, "there is no 'modularr'; did you mean 'modular'"),
    ]
    for settings, message in wrong:
        with pytest.raises(SpecError, match=message):
            _config(**settings)


def test_the_loss_falls_as_false_captions_are_pushed_away() -> None:
    torch.manual_seed(0)
    audio, captions, false = (torch.randn(rows, 6, requires_grad=True) for rows in (3, 3, 4))
    (loss_settings,) = (stage.loss for stage in _config(name="margin").stages)
    assert isinstance(loss_settings, CustomLoss)

    def loss() -> torch.Tensor:
        batch = replace(
            make_distinct(make_batch(0, rows=3)),
            audio=normalize(audio, dim=1),
            captions=normalize(captions, dim=1),
            negatives=Ragged(normalize(false, dim=1), torch.tensor([0, 0, 2, 2])),
        )
        return apply_loss(loss_settings, batch, World())

    optimizer = torch.optim.SGD([audio, captions, false], lr=0.5)
    values = []
    for _ in range(40):
        optimizer.zero_grad()
        found = loss()
        found.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        values.append(found.item())
    assert values[0] > values[-1] == 0


def _towers(**model: object) -> TrainConfig:
    values = {"corpus": "c", "out": "o", "model": model}
    return parse_config(values, "train.yaml")


def test_the_towers_learn_and_are_opened_again(tmp_path: Path) -> None:
    spec = {
        "corpus": "t",
        "source": {"foley": {"classes": ["dog", "rain"], "takes": 2}},
        "recipe": {"triplets": {"crossfade_s": 0.25, "max_event_s": 1.0}},
        "audio": {"sample_rate": 16000},
    }
    build(Spec.model_validate(spec), tmp_path, worker_count=0)
    page = (DOCS / "extend.md").read_text(encoding="utf-8")
    model = yaml.safe_load(page[page.index("    model:") :].partition("\n\n")[0])["model"]
    values = {"corpus": tmp_path / "data_manifests" / "t", "out": tmp_path / "run", **SHORT}
    result = train(parse_config(values | {"model": model}, "train.yaml"))
    run = load_run(result.folder)
    assert type(run.model.audio_tower).__name__ == "Patches"
    assert run.model.audio_tower.patch == 400
    noise = torch.rand(2, 8000)
    with torch.no_grad():
        heard = run.model.encode_audio(noise)
    assert heard.shape == (2, 128)
    publish(result.folder, tmp_path / "exported", ModelFormat.SAFETENSORS)
    opened = load_exported(tmp_path / "exported")
    assert torch.equal(opened.encode_audio(noise), heard)
    card = (tmp_path / "exported" / CARD_FILE).read_text()
    assert "| audio tower | `patches`, of a package that must be installed" in card


def test_a_tower_of_another_package_is_checked() -> None:
    with pytest.raises(SpecError, match="there is no 'patchs'; did you mean 'patches'"):
        _towers(audio={"kind": "patchs"})
    with pytest.raises(SpecError, match="another package's tower, not of small"):
        _towers(audio={"settings": {"patch": 3}})
    projection = {"kind": "projection"}
    for model, why in (
        ({"audio": {"kind": "gone"}}, "cannot be imported"),
        ({"audio": {"kind": "bag"}}, "not a subclass"),
        ({"audio": {"kind": "patches"}, "head": projection}, "no summary token"),
    ):
        config = _towers(**model).model
        with pytest.raises(SpecError, match=why):
            build_model(config, 16_000, 10)
    assert _towers().model.audio.kind == "small"
    build_model(_towers().model, 16_000, 10)
