"""Specs: what is wrong is told with file, line, key and mend."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.spec_file import read_spec
from synth.errors import SpecError

GOOD = """\
corpus: mine
source: foley
recipe: triplets
"""


def read(tmp_path: Path, text: str) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text(text)
    read_spec(path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "expected keys and values"),
        ("- 1\n", "expected keys and values"),
        ("corpus: [\n", "not YAML"),
        (GOOD.replace("mine", "Mine"), "line 1: corpus: "),
        (GOOD + "seed: -1\n", "line 4: seed: "),
        (GOOD + "sede: 1\n", "line 4: sede: there is no such key .*'seed'"),
        (GOOD + "seed: 1\nseed: 2\n", "line 5: 'seed' is given twice"),
        (GOOD + "audio: {lenght: natural}\n", "line 4: audio.lenght: .*'length'"),
        (
            GOOD + "audio:\n  length: 10 s\n",
            "line 5: audio.length: expected 'natural', 'padded 10 s' or 'exact",
        ),
        (GOOD + "audio:\n  sample_rate: 44.1k\n", "line 5: audio.sample_rate: "),
        (
            GOOD + "audio: {length: exact inf s}\n",
            "line 4: audio.length: expected 'natural', 'padded",
        ),
        (GOOD + "audio: {length: exact 1e300 s}\n", "line 4: audio.length: expected 'natural'"),
        (GOOD + "audio: {sample_rate: 65537}\n", "line 4: audio.sample_rate"),
        (GOOD + "licences: CC0\n", r"line 4: licences: expected a list, as in \[CC0\]$"),
        (GOOD + "block: a.txt\n", r"line 4: block: expected a list, as in \[a.txt\]$"),
        (GOOD + "splits: {train: one}\n", r"line 4: splits.train: expected a list, as in \[one\]$"),
        (
            GOOD.replace("foley", "{vocabulary: {labels: dog}}"),
            r"line 2: source.vocabulary.labels: expected a list, as in \[dog\] or 'audioset' or",
        ),
        (
            GOOD.replace("triplets", "{scenes: {background: {of: weather}}}"),
            r"line 3: recipe.scenes.background.of: expected a list, as in \[weather\]$",
        ),
        (GOOD + "version: latest\n", "line 4: version: 'latest' is the name of the pointer"),
        (GOOD + "audio: {format: mp3}\n", "line 4: audio.format: "),
        (GOOD + "splits: {train: 0.9, test: 0.2}\n", "line 4: splits: .*add up to 1"),
        (GOOD + "splits: {train: 0.9, test: [5]}\n", "line 4: splits: .*every split"),
        (GOOD + "splits: {train: [1], test: [1]}\n", "line 4: splits: source split 1 is in two"),
        (GOOD + "splits: {training: 1.0}\n", "line 4: splits"),
        (
            GOOD.replace("triplets", "triplet"),
            "line 3: recipe: there is no 'triplet'; did you mean 'triplets'",
        ),
        (
            GOOD.replace("foley", "folley"),
            "line 2: source: there is no 'folley'; did you mean 'foley'",
        ),
        ("corpus: mine\nrecipe: triplets\n", "source: Field required"),
        (
            GOOD.replace("foley", "{foley: {takez: 3}}"),
            "line 2: source.foley.takez: there is no such key .*'takes'",
        ),
        (
            GOOD.replace("foley", "{foley: {classes: [dog, dragon]}}"),
            "line 2: source.foley.classes: no class dragon",
        ),
        (
            GOOD.replace("triplets", "\n  acba:\n    relations: [while]"),
            "line 5: recipe.acba.relations: acba joins sounds in order",
        ),
        (
            GOOD.replace("triplets", "\n  acba:\n    pairs: 0"),
            "line 5: recipe.acba.pairs",
        ),
    ],
)
def test_errors_name_line_and_key(tmp_path: Path, text: str, expected: str) -> None:
    with pytest.raises(SpecError, match=f"(?s){expected}"):
        read(tmp_path, text)


def test_missing_file_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match=r"nowhere\.yaml: cannot be read: No such file"):
        read_spec(tmp_path / "nowhere.yaml")


def test_relative_paths_are_taken_from_the_specs_folder(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text(GOOD.replace("foley", "{folder: {root: sounds}}"))
    assert read_spec(path).source.chosen.root == tmp_path / "sounds"


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
