"""Specs: what is wrong is told with file, line, key and fix."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pipelines.config.file import read_spec
from pipelines.config.spec import Spec
from synth.base.errors import PlanError, SpecError
from synth.truth.ear import Ear
from tests.kit.cases import cases as table

GOOD = """\
corpus: mine
source: foley
recipe: triplets
"""


def read(tmp_path: Path, text: str) -> Spec:
    path = tmp_path / "spec.yaml"
    path.write_text(text)
    return read_spec(path)


ADDED = [
    ("seed: -1", "seed: "),
    ("sede: 1", "unknown setting 'sede'; did you mean 'seed'"),
    ("licences: [CCBYX]", r"licences: 'CCBYX' .*a version \(CC-BY-4.0\)"),
    ("licences: CC0", r"licences: expected a list, as in \[CC0\] \("),
    ("block: a.txt", r"block: expected a list, as in \[a.txt\] \("),
    ("version: latest", "version: 'latest' is the name of the pointer"),
    ("audio: {lenght: natural}", "audio has no setting 'lenght'; did you mean 'length'"),
    ("audio: {length: 10 s}", "audio.length: expected 'natural', 'padded 10 s' or 'exact"),
    ("audio: {length: exact inf s}", "audio.length: expected 'natural', 'padded"),
    ("audio: {length: exact 1e300 s}", "audio.length: expected 'natural'"),
    ("audio: {sample_rate: 44.1k}", "audio.sample_rate: "),
    ("audio: {sample_rate: 65537}", "audio.sample_rate"),
    ("audio: {format: mp3}", "audio.format: "),
    ("splits: {train: 70, test: 30}", r"splits: .*did you mean \{train: 0.7, test: 0.3\}\?"),
    ("splits: {train: one}", r"splits.train: expected a list, as in \[one\] \("),
    ("splits: {train: 0.9, test: 0.2}", "splits: .*add up to 1"),
    ("splits: {train: 0.9, test: [5]}", "splits: .*every split"),
    ("splits: {train: [1], test: [1]}", "splits: source split 1 is in two"),
    ("splits: {training: 1.0}", "splits.training: there is no 'training'; did you mean 'train'"),
]
"""Fourth lines of a spec, and what is told of them."""
CHOSEN = [
    ("recipe", "{moments: {length_s: 60}}", r"recipe.moments.length_s: .* as in \[60, 60\]"),
    ("source", "folley", "source: there is no 'folley'; did you mean 'foley'"),
    ("source", "{foley: {takez: 3}}", "source.foley has no setting 'takez'; did you mean 'takes'"),
    ("source", "{foley: {classes: [dog, dragon]}}", "source.foley.classes: no class dragon"),
    (
        "source",
        "{vocabulary: {labels: dog}}",
        r"source.vocabulary.labels: expected a list, as in \[dog\] or 'audioset' or",
    ),
    ("recipe", "triplet", "recipe: there is no 'triplet'; did you mean 'triplets'"),
    ("recipe", "{acba: {relations: [while]}}", "recipe.acba.relations: acba joins sounds in order"),
    ("recipe", "{acba: {pairs: 0}}", "recipe.acba.pairs"),
    (
        "recipe",
        "{scenes: {background: {of: weather}}}",
        r"recipe.scenes.background.of: expected a list, as in \[weather\] \(",
    ),
]
OTHERS = [
    ("", "expected keys and values"),
    ("- 1\n", "expected keys and values"),
    ("corpus: [\n", "not YAML"),
    (GOOD.replace("mine", "Mine_1"), r":1:[0-9]+: corpus: expected lower.*try 'mine-1'"),
    (GOOD + "seed: 1\nseed: 2\n", r":5:[0-9]+: 'seed' is given twice, first in line 4"),
    (GOOD + "audio:\n  length: 10 s\n", r":5:[0-9]+: audio.length: expected 'natural'"),
    ("corpus: mine\nrecipe: triplets\n", "source: is missing"),
    (GOOD.replace("triplets", "\n  acba:\n    pairs: 0"), r":5:[0-9]+: recipe.acba.pairs"),
]


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
def test_what_a_recipe_refuses_is_told_with_its_place(
    tmp_path: Path, recipe: str, said: str
) -> None:
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
