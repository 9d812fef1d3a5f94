"""Own labels: what a spec says of a label goes with it, and decides what is said and denied."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from pipelines.builder.build import build, plan_library
from pipelines.builder.findings import Findings
from pipelines.checks.audit import audit
from pipelines.config.spec import Spec
from synth.base.errors import SpecError
from synth.base.own_label import OwnLabel, name_of, read_own
from synth.base.progress import UNOBSERVED
from synth.corpus.corpus import Corpus
from synth.labels.lexicon import (
    Phrase,
    are_kin,
    could_be_called,
    families,
    fold_spelling,
    is_countable,
    shipped_phrases,
    spell_listed,
)
from synth.text.label_search import guess_words, search_labels, suggest_words
from tests.kit.cases import cases
from tests.kit.libraries import write_foley
from tests.kit.tables import read_data

CASES = read_data("texts/own_labels.yaml")

BUDGIE = {"noun": "a budgie", "clause": "a budgie chirps", "gerund": "a budgie chirping"}
WORDS = st.text("abc '-", min_size=1).map(lambda text: " ".join(text.split())).filter(bool)
LISTS = st.lists(WORDS, max_size=3).map(tuple)


@given(
    st.text(min_size=1).filter(lambda text: text == text.strip()),
    st.none() | WORDS,
    st.none() | st.tuples(WORDS, WORDS, WORDS),
    st.none() | st.booleans(),
    LISTS,
    LISTS,
)
def test_a_label_carries_what_is_said_of_it(
    name: str,
    like: str | None,
    forms: tuple[str, str, str] | None,
    countable: bool | None,
    also: tuple[str, ...],
    excludes: tuple[str, ...],
) -> None:
    words = dict(zip(("noun", "clause", "gerund"), forms or (), strict=False))
    told = OwnLabel(like=like, countable=countable, also=also, excludes=excludes, **words)
    label = told.label(name)
    expected = (name, told) if told != OwnLabel() else read_own(name)
    assert read_own(label) == expected


@cases(("label", "clause", "paths", "countable"), CASES["words"])
def test_words_and_kin(label: str, clause: str, paths: list[str], countable: bool) -> None:
    assert Phrase.of_label(label).clause == clause
    assert ([*families(label)], is_countable(label)) == (paths, countable)


@cases(("sound", "name", "called"), CASES["called"])
def test_what_a_sound_could_be_called(sound: str, name: str, called: bool) -> None:
    assert could_be_called(sound, name) is called
    assert are_kin(sound, name) is are_kin(name, sound)


@cases(("label", "listed"), CASES["listed"])
def test_case_and_separators_do_not_count(label: str, listed: str | None) -> None:
    assert spell_listed(label) == listed


def test_how_letters_are_composed_does_not_count() -> None:
    assert fold_spelling("Cafe\u0301_Noir") == fold_spelling("caf\xe9 noir")


def test_listed_labels_are_themselves() -> None:
    assert [label for label in shipped_phrases() if spell_listed(label) != label] == []


@cases(("label", "clause"), CASES["guessed"])
def test_words_are_guessed(label: str, clause: str) -> None:
    assert guess_words(label).clause == clause


def test_what_is_suggested_can_be_pasted() -> None:
    labels = ["budgie", "a; {b}: c", "yes", "puppy bark", "#1"]
    lines = suggest_words(labels)
    pasted = yaml.safe_load("\n".join(lines))["labels"]
    assert {label: OwnLabel(**told) for label, told in pasted.items()} == {
        label: guess_words(label) for label in labels
    }
    assert lines[4].endswith("# or {like: Bark}")


def test_search() -> None:
    assert search_labels("DOG")[:2] == ["Dog", "dog"]
    assert "Vehicle horn, car horn, honking" in search_labels("honk")
    assert search_labels("zorble") == []


@cases(("settings", "said"), CASES["refused"])
def test_wrong_settings_are_refused(settings: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        make_spec(Path(), {"budgie": settings})


def make_spec(root: Path, labels: dict[str, Any] | None, **changes: Any) -> Spec:
    recipe = {"scenes": {"scenes": 16, "expressions": {"budgie + RAIN": 1.0, "any * any": 1.0}}}
    return Spec.model_validate(
        {
            "corpus": "own",
            "source": {"folder": {"root": root}},
            "recipe": recipe,
            "audio": {"sample_rate": 16_000},
            "labels": labels,
            **changes,
        }
    )


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three sounds under names that the lexicon lacks, or spells otherwise."""
    names = {"crow": "budgie", "rain": "RAIN", "siren": "klaxon"}
    return write_foley(tmp_path_factory.mktemp("library"), names, takes=3)


def test_a_corpus_says_and_proves_its_own_labels(library: Path, tmp_path: Path) -> None:
    labels = {"budgie": BUDGIE | {"like": "Bird"}, "klaxon": {"like": "siren"}}
    summary = build(make_spec(library, labels), tmp_path, 0)
    corpus = Corpus.open(tmp_path / "data_manifests" / "own")
    assert audit(corpus.folder).violations == ()
    rows = pq.read_table(corpus.folder / "samples.parquet").to_pylist()
    captions = " ".join(row["caption"].lower() for row in rows)
    assert "budgie" in captions
    assert "the sound of" not in captions
    assert {name_of(label) for row in rows for label in row["labels"]} == {
        "budgie",
        "rain",
        "klaxon",
    }
    assert not any("{" in row["notation"] for row in rows)
    assert summary.findings.unphrased == []


def test_labels_decide_on_the_plan_and_none_change_nothing(library: Path, tmp_path: Path) -> None:
    plans = []
    for labels in (None, {}, {"budgie": {"like": "Bird"}}):
        spec = make_spec(library, labels)
        _, places, _ = plan_library(spec, tmp_path, 0, UNOBSERVED)
        plans.append(places.version)
        findings = Findings.read(places.manifests, spec.splits)
    assert plans[0] == plans[1] != plans[2]
    assert findings.unphrased == ["klaxon"]
    assert "klaxon: {noun: a klaxon" in findings.notes[-1]


def test_labels_are_those_of_folders_however_they_are_composed(
    library: Path, tmp_path: Path
) -> None:
    folders = {"budgie": "cafe\u0301", "RAIN": "old  rain", "klaxon": "klaxon"}
    for name, folder in folders.items():
        shutil.copytree(library / name, tmp_path / "library" / folder)
    scenes = {"expressions": {"caf\xe9 + any": 1, "any * cafe\u0301": 1}, "scenes": 4}
    recipe = {"scenes": {**scenes, "background": {"of": ["cafe\u0301"], "share": 0.5}}}
    labels = {
        "cafe\u0301": {"like": "Bird"},
        "old  rain": {"like": "rain", "excludes": ["cafe\u0301"]},
    }
    spec = make_spec(tmp_path / "library", labels, recipe=recipe)
    _, places, _ = plan_library(spec, tmp_path, 0, UNOBSERVED)
    assert Findings.read(places.manifests, spec.splits).unphrased == ["klaxon"]


@cases("names", [("caf\xe9", "cafe\u0301"), ("dog", "dog\u200b"), ("\u200b",), ("\u200d",)])
def test_labels_that_are_one_or_none_when_tidied_are_refused(names: tuple[str, ...]) -> None:
    with pytest.raises(ValidationError, match="is empty, or spells another label"):
        make_spec(Path(), {name: {"like": "Bird"} for name in names})


def test_a_label_that_no_clip_has_is_refused(library: Path, tmp_path: Path) -> None:
    with pytest.raises(SpecError) as caught:
        plan_library(make_spec(library, {"budgy": {"like": "Bird"}}), tmp_path, 0, UNOBSERVED)
    assert caught.value.fix == "did you mean 'budgie'?"
