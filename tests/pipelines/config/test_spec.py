"""Specs: what is wrong is told with file, line, key and fix."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.config.file import read_spec
from pipelines.config.spec import Spec
from synth.base.errors import SpecError
from synth.truth.ear import Ear

GOOD = """\
corpus: mine
source: foley
recipe: triplets
"""


def read(tmp_path: Path, text: str) -> Spec:
    path = tmp_path / "spec.yaml"
    path.write_text(text)
    return read_spec(path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "expected keys and values"),
        ("- 1\n", "expected keys and values"),
        ("corpus: [\n", "not YAML"),
        (GOOD.replace("mine", "Mine_1"), r":1:[0-9]+: corpus: expected lower.*try 'mine-1'"),
        (
            GOOD + "splits: {train: 70, test: 30}\n",
            r":4:[0-9]+: splits: .*did you mean \{train: 0.7, test: 0.3\}\?",
        ),
        (GOOD + "licences: [CCBYX]\n", r":4:[0-9]+: licences: 'CCBYX' .*a version \(CC-BY-4.0\)"),
        (GOOD + "seed: -1\n", r":4:[0-9]+: seed: "),
        (GOOD + "sede: 1\n", r":4:[0-9]+: unknown setting 'sede'; did you mean 'seed'"),
        (GOOD + "seed: 1\nseed: 2\n", r":5:[0-9]+: 'seed' is given twice, first in line 4"),
        (
            GOOD + "audio: {lenght: natural}\n",
            r":4:[0-9]+: audio has no setting 'lenght'; did you mean 'length'",
        ),
        (
            GOOD + "audio:\n  length: 10 s\n",
            r":5:[0-9]+: audio.length: expected 'natural', 'padded 10 s' or 'exact",
        ),
        (GOOD + "audio:\n  sample_rate: 44.1k\n", r":5:[0-9]+: audio.sample_rate: "),
        (
            GOOD + "audio: {length: exact inf s}\n",
            r":4:[0-9]+: audio.length: expected 'natural', 'padded",
        ),
        (GOOD + "audio: {length: exact 1e300 s}\n", r":4:[0-9]+: audio.length: expected 'natural'"),
        (GOOD + "audio: {sample_rate: 65537}\n", r":4:[0-9]+: audio.sample_rate"),
        (GOOD + "licences: CC0\n", r":4:[0-9]+: licences: expected a list, as in \[CC0\] \("),
        (GOOD + "block: a.txt\n", r":4:[0-9]+: block: expected a list, as in \[a.txt\] \("),
        (
            GOOD + "splits: {train: one}\n",
            r":4:[0-9]+: splits.train: expected a list, as in \[one\] \(",
        ),
        (
            GOOD.replace("foley", "{vocabulary: {labels: dog}}"),
            r":2:[0-9]+: source.vocabulary.labels: expected a list, as in \[dog\] or 'audioset' or",
        ),
        (
            GOOD.replace("triplets", "{scenes: {background: {of: weather}}}"),
            r":3:[0-9]+: recipe.scenes.background.of: expected a list, as in \[weather\] \(",
        ),
        (GOOD + "version: latest\n", r":4:[0-9]+: version: 'latest' is the name of the pointer"),
        (GOOD + "audio: {format: mp3}\n", r":4:[0-9]+: audio.format: "),
        (GOOD + "splits: {train: 0.9, test: 0.2}\n", r":4:[0-9]+: splits: .*add up to 1"),
        (GOOD + "splits: {train: 0.9, test: [5]}\n", r":4:[0-9]+: splits: .*every split"),
        (
            GOOD + "splits: {train: [1], test: [1]}\n",
            r":4:[0-9]+: splits: source split 1 is in two",
        ),
        (
            GOOD + "splits: {training: 1.0}\n",
            ":4:10: splits.training: there is no 'training'; did you mean 'train'",
        ),
        (
            GOOD.replace("triplets", "triplet"),
            r":3:[0-9]+: recipe: there is no 'triplet'; did you mean 'triplets'",
        ),
        (
            GOOD.replace("foley", "folley"),
            r":2:[0-9]+: source: there is no 'folley'; did you mean 'foley'",
        ),
        ("corpus: mine\nrecipe: triplets\n", "source: is missing"),
        (
            GOOD.replace("foley", "{foley: {takez: 3}}"),
            r":2:[0-9]+: source.foley has no setting 'takez'; did you mean 'takes'",
        ),
        (
            GOOD.replace("foley", "{foley: {classes: [dog, dragon]}}"),
            r":2:[0-9]+: source.foley.classes: no class dragon",
        ),
        (
            GOOD.replace("triplets", "\n  acba:\n    relations: [while]"),
            r":5:[0-9]+: recipe.acba.relations: acba joins sounds in order",
        ),
        (
            GOOD.replace("triplets", "\n  acba:\n    pairs: 0"),
            r":5:[0-9]+: recipe.acba.pairs",
        ),
    ],
)
def test_errors_name_line_and_key(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(SpecError, match=f"(?s){expected}"):
        read(tmp_path, text)


def test_missing_file_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"nowhere\.yaml: cannot be read: No such file"):
        read_spec(tmp_path / "nowhere.yaml")


def test_what_is_no_spec_is_told_with_those_that_are_there(tmp_path: Path) -> None:
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


def test_relative_paths_are_taken_from_the_specs_folder(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text(GOOD.replace("foley", "{folder: {root: sounds}}"))
    assert read_spec(path).source.chosen.root == tmp_path / "sounds"


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
        path = tmp_path / "spec.yaml"
        path.write_text(text)
        spec = read_spec(path)
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
