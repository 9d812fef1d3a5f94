"""Specs: what is wrong is told with file, line, key and fix."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import Result

from pipelines.builder.build import plan_library
from pipelines.cli.make.new import new_command
from pipelines.config.file import parse_spec, read_spec
from pipelines.config.meanings import read_meanings
from pipelines.config.new import LibraryFacts, choose_splits, find_start, list_starts, render_spec
from pipelines.config.spec import Spec
from synth.base.errors import PlanError, SourceError, SpecError
from synth.base.progress import UNOBSERVED
from synth.base.yaml_file import parse_yaml
from synth.recipes import recipe_names
from synth.sources import SOURCES, source_class
from synth.truth.ear import Ear
from tests.kit.builds import invoke
from tests.kit.cases import cases as table
from tests.kit.tables import read_data

GOOD = """\
corpus: mine
source: foley
recipe: triplets
"""


def read(tmp_path: Path, text: str) -> Spec:
    path = tmp_path / "spec.yaml"
    path.write_text(text)
    return read_spec(path)


ADDED = read_data("spec/added_lines.yaml")
"""Fourth lines of a spec, and what is told of them."""
CHOSEN = read_data("spec/chosen.yaml")
OTHERS = read_data("spec/others.yaml")


def test_errors_name_line_and_key(tmp_path: Path) -> None:
    cases = [*OTHERS, *((f"{GOOD}{line}\n", f":4:[0-9]+: {told}") for line, told in ADDED)]
    for part, chosen, told in CHOSEN:
        text = re.sub(f"{part}: .*", f"{part}: {chosen}", GOOD)
        cases.append((text, f":{2 + (part == 'recipe')}:[0-9]+: {told}"))
    faults = []
    for text, told in cases:
        with pytest.raises(SpecError) as caught:
            read(tmp_path, text)
        if not re.search(f"(?s){told}", str(caught.value)):
            faults.append((text, told, str(caught.value)))
    assert faults == []


@table(
    ("recipe", "said"),
    [
        ("{moments: {pause_s: 0.01}}", r"yaml:3:20: recipe.moments.pause_s: a pause"),
        ("{moments: {sounds: 50, pause_s: 2}}", r"yaml:3:10: recipe.moments: 60 s leave no room"),
        ("edits", r"yaml:3:1: edits need samples of one length"),
    ],
)
def test_what_a_recipe_refuses_has_its_place(tmp_path: Path, recipe: str, said: str) -> None:
    with pytest.raises(PlanError, match=said) as caught:
        read(tmp_path, re.sub("recipe: .*", f"recipe: {recipe}", GOOD))
    assert caught.value.fix


def test_what_is_no_spec_is_told_with_those_there(tmp_path: Path) -> None:
    with pytest.raises(SpecError) as folder:
        read_spec(tmp_path)
    assert f"segue new triplets --source folder:{tmp_path}" in folder.value.fix
    with pytest.raises(SpecError) as nothing:
        read_spec(tmp_path / "nope.yaml")
    assert "segue new RECIPE" in nothing.value.fix
    (tmp_path / "birds.yaml").write_text(GOOD)
    with pytest.raises(SpecError) as other:
        read_spec(tmp_path / "nope.yaml")
    assert "birds.yaml" in other.value.fix
    with pytest.raises(SpecError, match=r"nowhere\.yaml: cannot be read: No such file"):
        read_spec(tmp_path / "nowhere.yaml")


def test_relative_paths_are_taken_from_the_specs_folder(tmp_path: Path) -> None:
    spec = read(tmp_path, GOOD.replace("foley", "{folder: {root: sounds}}"))
    assert spec.source.chosen.root == tmp_path / "sounds"


def test_thresholds_of_the_ear_are_checked_and_part_of_the_digest(tmp_path: Path) -> None:
    plain = read(tmp_path, GOOD)
    assert plain.truth.ear == plain.setting.ear == plain.intake.ear == Ear()
    other = read(tmp_path, GOOD + "truth: {clear_db: 20, blip_s: 0.2}\n")
    assert other.setting.ear == other.intake.ear == Ear(clear_db=20.0, blip_s=0.2)
    assert other.build_digest("clips") != plain.build_digest("clips")
    with pytest.raises(SpecError, match=r"clear_db at most leave_db.* got 25, 20 and 35"):
        read(tmp_path, GOOD + "truth: {leave_db: 20}\n")
    for wrong in ("faint_db: 121", "pause_s: -1", "masked_db: 6", "clear_db: 0"):
        with pytest.raises(SpecError, match=rf"truth\.{wrong.partition(':')[0]}"):
            read(tmp_path, GOOD + f"truth: {{{wrong}}}\n")


def test_digest_follows_what_matters_alone(tmp_path: Path) -> None:
    def digests(text: str) -> tuple[str, str]:
        spec = read(tmp_path, text)
        return spec.plan_digest("clips"), spec.build_digest("clips")

    plain = digests(GOOD)
    assert digests(GOOD + "seed: 0\n") == plain
    assert digests("# a comment\n" + GOOD) == plain
    assert digests(GOOD + "version: '1'\n") == plain
    assert digests(GOOD + "seed: 1\n")[0] != plain[0]
    other_format = digests(GOOD + "audio: {format: wav}\n")
    assert other_format[0] == plain[0]
    assert other_format[1] != plain[1]
    # Which sounds are heard where they cross depends on how they do.
    assert digests(GOOD + "audio: {fade: equal_power}\n")[0] != plain[0]


def test_all_faults_are_told_at_once_a_line_each_in_the_files_order(tmp_path: Path) -> None:
    text = """\
corpus: mine
source: {fooley: {takes: 3}}
recipe:
  acba:
    pair: 3
    relations: [befor, after]
    style: naturall
audio: {sample_rate: 44, lenght: 3}
splits: {train: 0.5, tets: 1}
shards: 5
clips:
  max_s: long
zzz: 1
"""
    with pytest.raises(SpecError) as caught:
        read(tmp_path, text)
    told = caught.value.message.replace(f"{tmp_path}/spec.yaml:", "").splitlines()
    assert told[:2] == [
        "2:10: source.fooley: there is no 'fooley'; did you mean 'foley'?",
        "5:5: recipe.acba has no setting 'pair'; did you mean 'pairs'?",
    ]
    assert told[2:4] == [
        "6:17: recipe.acba.relations.0: there is no 'befor'; did you mean 'before'?",
        "7:5: recipe.acba.style: there is no 'naturall'; did you mean 'natural'?",
    ]
    assert told[4].startswith("8:9: audio.sample_rate: should be 8000, ")
    assert ", got " in told[4]
    assert told[5:9] == [
        "8:26: audio has no setting 'lenght'; did you mean 'length'?",
        "9:22: splits.tets: there is no 'tets'; did you mean 'test'?",
        "10:1: shards: expected settings, as in {name: value}",
        "12:3: clips.max_s: expected a number, got 'long'",
    ]
    assert told[9].startswith("13:1: unknown setting 'zzz'; there are corpus, version, ")
    assert len(told) == 10


def test_a_value_of_several_forms_is_told_once(tmp_path: Path) -> None:
    for pairs, told in (
        (
            "few",
            "recipe.acba.pairs: expected a whole number or settings, as in {name: value}, "
            "got 'few'",
        ),
        ("{train: 0}", "recipe.acba.pairs.train: should be greater than 0, got 0"),
    ):
        with pytest.raises(SpecError) as caught:
            read(tmp_path, GOOD.replace("triplets", f"{{acba: {{pairs: {pairs}}}}}"))
        assert told in caught.value.message
        assert len(caught.value.message.splitlines()) == 1


# `segue new`: specs in which every setting stands, and which are right as they are.


FEW: dict[str, dict[str, Any]] = {
    "acba": {"pairs": 4},
    "attributes": {"pairs": 40},
    "edits": {"pairs": 8},
    "moments": {"pairs": 6, "sounds": 1},
    "scenes": {"scenes": 4},
    "jam": {"tracks": 10},
    "foley": {"takes": 5, "classes": ["cat", "dog", "rain"]},
}


def new(*arguments: str | Path) -> Result:
    return invoke(new_command, *arguments)


def make_esc50(
    root: Path, folds: Iterable[int], labels: Sequence[str] = ("dog", "rain"), audio: bool = True
) -> Path:
    """ESC-50's layout, with a clip of each label in each of some folds."""
    (root / "audio").mkdir(parents=True)
    (root / "meta").mkdir()
    rows = ["filename,fold,target,category,esc10,src_file,take"]
    for fold in folds:
        for number, label in enumerate(labels):
            name = f"{fold}-{fold}{number}-A-{number}.wav"
            rows.append(f"{name},{fold},{number},{label},False,{fold}{number},A")
            if audio:
                (root / "audio" / name).touch()
    (root / "meta" / "esc50.csv").write_text("\n".join(rows) + "\n")
    return root


# A spec's parts are written apart: each source need not meet each recipe.
@pytest.mark.parametrize(("source", "name"), zip(SOURCES, cycle(list_starts()), strict=False))
def test_every_recipe_and_source_makes_a_spec(source: str, name: str, tmp_path: Path) -> None:
    read = parse_spec(parse_yaml(render_spec(name, "mine", source), "new.yaml"), tmp_path)
    start = find_start(name)
    given = {"root": f"/data/{source}"} if "root" in source_class(source).model_fields else {}
    plain = {
        "corpus": "mine",
        "source": {source: given},
        "recipe": {start.recipe: dict(start.settings)},
        "audio": dict(start.audio),
        "splits": choose_splits(source).splits,
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
    _, places, samples = plan_library(spec, tmp_path, 0, UNOBSERVED)
    assert samples
    assert places.manifests.is_dir()


def test_it_writes_a_file_and_overwrites_none(tmp_path: Path) -> None:
    out = tmp_path / "specs" / "My first.yaml"
    root = make_esc50(tmp_path / "ESC-50", folds=range(1, 6))
    done = new("triplets", "--source", f"esc50:{root}", "--out", out, "--json")
    told = json.loads(done.stdout)
    assert (told["spec"], told["recipe"], told["source"]) == (str(out), "triplets", "esc50")
    assert told["clips"] == told["listed"]
    assert told["notes"] == []
    spec = read_spec(out)
    assert spec.corpus == "my-first"
    assert spec.source.chosen.root == root  # type: ignore[attr-defined]
    before = out.read_bytes()
    refused = new("scenes", "--out", out)
    assert isinstance(refused.exception, SpecError)
    assert out.read_bytes() == before


def test_a_folder_of_sounds_has_its_index_and_splits_to_test_on(tmp_path: Path) -> None:
    (tmp_path / "sounds").mkdir()
    (tmp_path / "sounds" / "index.csv").write_text("path,label\na.wav,dog\n")
    (tmp_path / "sounds" / "a.wav").touch()
    out = tmp_path / "specs" / "mine.yaml"
    done = new("triplets", "--source", f"folder:{tmp_path / 'sounds'}", "--out", out)
    assert "index: index.csv" in done.stdout
    spec = read_spec(out)
    assert spec.source.chosen.index == Path("index.csv")  # type: ignore[attr-defined]
    assert spec.splits == {"train": 0.7, "val": 0.15, "test": 0.15}


def test_a_relative_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "sounds" / "dog").mkdir(parents=True)
    (tmp_path / "sounds" / "dog" / "a.wav").touch()
    monkeypatch.chdir(tmp_path)
    new("triplets", "--source", "folder:sounds", "--out", "specs/mine.yaml")
    assert read_spec(Path("specs/mine.yaml")).source.chosen.root == tmp_path / "sounds"  # type: ignore[attr-defined]


def test_splits_are_of_the_folds_that_are_there(tmp_path: Path) -> None:
    for folds, splits in (
        ([1, 2, 3, 4, 5], {"train": [1, 2, 3], "val": [4], "test": [5]}),
        ([1, 2, 4, 5], {"train": [1, 2], "val": [4], "test": [5]}),
        ([2, 3, 5], {"train": [2], "val": [3], "test": [5]}),
        ([1, 4], {"train": [1], "test": [4]}),
        ([4], {"train": [4]}),
    ):
        root, out = tmp_path / f"E{folds}", tmp_path / f"{folds}.yaml"
        done = new("triplets", "--source", f"esc50:{make_esc50(root, folds)}", "--out", out)
        assert read_spec(out).splits == splits
        absent = ", ".join(str(fold) for fold in range(1, 6) if fold not in folds)
        told = f"no clips of fold{'s' * (',' in absent)} {absent}"
        assert (told in done.stdout) is bool(absent)
        written = " ".join(out.read_text().replace("\n#", "").split())
        assert (told.replace("no", "No", 1) in written) is bool(absent)


def test_a_fold_whose_files_are_gone_is_not_there(tmp_path: Path) -> None:
    root = make_esc50(tmp_path / "E", range(1, 6))
    for path in (root / "audio").glob("5-*.wav"):
        path.unlink()
    out = tmp_path / "new.yaml"
    done = new("triplets", "--source", f"esc50:{root}", "--out", out)
    assert read_spec(out).splits == {"train": [1, 2], "val": [3], "test": [4]}
    assert "found 8 clips of 2 labels; 2 listed clips are missing" in done.stdout


def test_splits_of_an_evaluation_set_or_an_index_of_ones_own_are_kept(tmp_path: Path) -> None:
    alone = choose_splits("fsd50k", LibraryFacts(9, 9, frozenset({"eval"}), ("dog",)))
    assert alone.splits == {"test": ["eval"]}
    assert "no train and no val" in alone.note
    (tmp_path / "index.csv").write_text("path,label,split\na.wav,dog,train\nb.wav,cat,test\n")
    for name in ("a.wav", "b.wav"):
        (tmp_path / name).touch()
    out = tmp_path / "new.yaml"
    new("triplets", "--source", f"folder:{tmp_path}", "--out", out)
    assert read_spec(out).splits == {"train": ["train"], "test": ["test"]}
    others = choose_splits("folder", LibraryFacts(9, 9, frozenset({"fold a", "fold b"}), ("dog",)))
    assert others.splits == choose_splits("folder").splits
    assert "fold a, fold b" in others.note


def test_a_library_that_is_not_there_gets_no_spec(tmp_path: Path) -> None:
    empty = make_esc50(tmp_path / "E", [1, 2], audio=False)
    out = tmp_path / "new.yaml"
    for source, told in (
        ("esc50:/no/such/folder", "/no/such/folder/audio: .* not found"),
        ("esc50:https://github.com/karolpiczak/ESC-50", "got a URL; download"),
        (f"esc50:{empty}", "none of its 4 listed clips exists, such as audio/1-10-A-0.wav"),
        ("folder:", "expected NAME:ROOT"),
    ):
        refused = new("triplets", "--source", source, "--out", out)
        assert isinstance(refused.exception, SourceError | SpecError)
        assert re.search(told, refused.exception.message)
        assert refused.exception.fix
        assert not out.exists()


def test_what_is_still_to_be_named_and_how_labels_are_said_is_told(tmp_path: Path) -> None:
    done = new("triplets", "--source", "esc50", "--out", tmp_path / "new.yaml")
    assert "as source.esc50.root" in done.stdout
    told = new("triplets", "--source", "esc50", "--out", tmp_path / "other.yaml", "--json")
    (note,) = json.loads(told.stdout)["notes"]
    assert "as source.esc50.root" in note
    for label in ("dog", "Tu\u0308rklingel"):  # as macOS decomposes the names of folders
        (tmp_path / "sounds" / label).mkdir(parents=True)
        (tmp_path / "sounds" / label / "a.wav").touch()
    source = f"folder:{tmp_path / 'sounds'}"
    done = new("triplets", "--source", source, "--out", tmp_path / "phrases.yaml")
    assert "1 of the labels" in done.stdout
    assert "'the sound of Türklingel is heard'" in done.stdout


def test_without_a_name_recipes_are_listed_and_wrong_names_are_told(tmp_path: Path) -> None:
    listed = new().stdout
    assert all(f"{name} " in listed for name in (*recipe_names(), "stage_a"))
    assert set(json.loads(new("--json").stdout)) == set(list_starts())
    assert isinstance(new("--source", "foley").exception, SpecError)
    misspelt = new("triplet", "--out", tmp_path / "x.yaml").exception
    assert isinstance(misspelt, SpecError)
    assert misspelt.fix == "did you mean 'triplets'?"
    unknown = new("triplets", "--source", "esc-50", "--out", tmp_path / "x.yaml").exception
    assert isinstance(unknown, SourceError)
    assert unknown.fix == "did you mean 'esc50'?"
    assert list(tmp_path.iterdir()) == []
