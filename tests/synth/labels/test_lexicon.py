"""Phrases: shipped ones complete, clean and as built, serviceable ones for all else; kinship."""

from __future__ import annotations

import csv
import hashlib
import json
import re
import subprocess
import sys
import unicodedata
from collections.abc import Callable
from itertools import combinations, permutations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks import lexicon as lexicon_build
from benchmarks.lexicon import (
    BARRED,
    BUILT,
    CATEGORIES,
    COLUMNS,
    SOURCES,
    build,
    format_table,
    lexicon_folder,
    make_inflector,
    read_sources,
)
from synth.base.errors import LexiconError
from synth.labels.lexicon import (
    OTHER,
    Phrase,
    Tag,
    are_confusable,
    are_kin,
    are_related,
    category,
    could_be_called,
    families,
    find_treatment,
    heard_tags,
    other_families,
    shipped_phrases,
    wordings,
)
from synth.labels.words import APOSTROPHES, COMPOUND, plain_words, tokenize, words_of
from synth.sources.procedural.foley import CLASSES
from synth.sources.sounds.esc50 import ESC50_NAMES
from tests.kit.cases import cases
from tests.kit.tables import read_data, read_rows

CASES = read_data("texts/lexicon.yaml")

ORDER = {"second", "later"}
# The standard wordings: label, noun, clause and gerund of ESC-50's labels.
ESC50_FORMS = "90d26e06bbb79aac9042f5a9889066db4e02f8764de779df24cf1f3a0b23ebb1"


def labels_of(name: str) -> list[str]:
    """The labels of one vocabulary, as its source file lists them."""
    rows = csv.DictReader(read_sources(lexicon_folder())[name].splitlines())
    return list(dict.fromkeys(row["label"] for row in rows))


VOCABULARIES = {name: labels_of(name) for name in SOURCES}
AUDIOSET, ESC50 = VOCABULARIES["audioset.csv"], VOCABULARIES["esc50.csv"]
URBANSOUND8K = [*VOCABULARIES["urbansound8k.csv"], "car_horn", "siren"]
LISTED = sorted(shipped_phrases())


def test_the_labels_of_the_real_libraries_are_covered(shared_data: Callable[[str], Path]) -> None:
    names = json.loads(shared_data("labels/audioset_527.json").read_text(encoding="utf-8"))
    assert sorted(names) == AUDIOSET
    with (shared_data("ESC-50") / "meta" / "esc50.csv").open() as file:
        assert {row["category"] for row in csv.DictReader(file)} <= {*ESC50}


def test_the_forms_of_esc50_are_as_they_were() -> None:
    forms = [Phrase.of_label(label) for label in ESC50]
    text = "".join(f"{p.plain}|{p.noun}|{p.clause}|{p.gerund}\n" for p in forms)
    assert hashlib.sha256(text.encode()).hexdigest() == ESC50_FORMS
    assert (len(AUDIOSET), len(ESC50), len(set(URBANSOUND8K))) == (527, 50, 10)


def test_shipped_phrases_are_plain_words_of_which_none_orders() -> None:
    every = [(label, wording) for label in LISTED for wording in wordings(label)]
    assert [wording for label, wording in every if not _is_clean(label, wording)] == []
    assert all(len(set(wordings(label))) == len(wordings(label)) for label in LISTED)


def _is_clean(label: str, phrase: Phrase) -> bool:
    return phrase.plain == label.replace("_", " ") and all(
        re.fullmatch(r"([a-z']+|[A-Z][a-z]+)([ -]([a-z']+|[A-Z][a-z]+))*", form)
        and not {*BARRED, *ORDER}.intersection(re.split("[ -]", form))
        for form in (phrase.noun, phrase.clause, phrase.gerund)
    )


def test_no_clause_is_said_inside_that_of_a_label_that_is_not_kin() -> None:
    for labels in VOCABULARIES.values():
        for form in ("clause", "gerund"):
            forms = [(f" {text} ", label) for label in labels for text in _words(label, form)]
            inside = [pair for pair in permutations(forms, 2) if pair[0][0] in pair[1][0]]
            assert [pair for pair in inside if not are_kin(pair[0][1], pair[1][1])] == []


def test_labels_that_are_said_alike_are_kin() -> None:
    for form in ("noun", "clause", "gerund"):
        said: dict[str, str] = {}
        pairs = [(label, text) for label in LISTED for text in _words(label, form)]
        alike = [(label, said.setdefault(text, label)) for label, text in pairs]
        assert [pair for pair in alike if not are_kin(*pair)] == []
        for labels in VOCABULARIES.values():
            assert [pair for pair in alike if pair[0] != pair[1] and {*pair} <= {*labels}] == []


def _words(label: str, form: str) -> set[str]:
    return {getattr(wording, form) for wording in wordings(label)}


def test_further_wordings() -> None:
    assert wordings("dog")[:2] == (
        Phrase("dog", "a dog", "a dog barks", "a dog barking"),
        Phrase("dog", "a barking dog", "a dog lets out a bark", "a dog letting out a bark", False),
    )
    assert wordings("theremin") == (Phrase.of_label("theremin"),)
    named = {*ESC50, *URBANSOUND8K}
    assert [label for label in named if not 3 <= len(wordings(label)) <= 8] == []


@cases(("label", "said", "clauses"), CASES["said"])
def test_what_can_be_said_by_each_wording(label: str, said: list[str], clauses: list[str]) -> None:
    found = [wording.clause for wording in wordings(label, said)]
    subject = "a cat " if label == "Meow" else "the sound of theremin "
    assert [clause.removeprefix(subject) for clause in found] == clauses


@cases(("noun", "definite", "bare", "sound"), CASES["nouns"])
def test_nouns_in_sentences(noun: str, definite: str, bare: str, sound: str) -> None:
    phrase = Phrase("", noun, "", "")
    assert (phrase.definite, phrase.bare) == (definite, bare)
    assert phrase.sound == (sound or f"the sound of {noun}")


@given(st.text(min_size=1, max_size=12).filter(lambda text: text.strip() != ""))
def test_any_label_can_be_said(label: str) -> None:
    phrase = Phrase.of_label(label)
    for form in (phrase.plain, phrase.noun, phrase.clause, phrase.gerund):
        assert form.strip()
    assert Phrase.of_label(unicodedata.normalize("NFD", "Türklingel")) == Phrase.of_label(
        "Türklingel"
    )


def test_a_label_that_is_not_listed_gets_a_serviceable_phrase() -> None:
    nouns = CASES["not_listed"]
    assert {label: Phrase.of_label(label) for label in nouns} == {
        label: Phrase(label.replace("_", " "), noun, f"{noun} is heard", noun)
        for label, noun in nouns.items()
    }


def test_a_caption_becomes_a_part_of_a_longer_one() -> None:
    inside = CASES["inside"]
    phrases = {caption: Phrase.of_caption(caption) for caption in inside}
    assert {caption: phrase.noun for caption, phrase in phrases.items()} == inside
    for phrase in phrases.values():
        assert phrase.noun == phrase.clause == phrase.gerund
        assert phrase.plain.casefold() == phrase.noun.casefold()
        assert not phrase.plain.endswith(".")


def test_every_listed_label_has_families_below_a_category() -> None:
    path = re.compile(rf"({'|'.join(CATEGORIES)})(/[a-z]+){{0,2}}")
    assert [
        label
        for label in LISTED
        if not families(label)
        or category(label) not in CATEGORIES
        or not all(map(path.fullmatch, families(label)))
    ] == []


def test_families_and_category() -> None:
    expected = {
        "dog": (("animal/dog",), "animal"),
        "Howl": (("animal/dog", "animal/wolf"), "animal"),
        "Domestic animals, pets": (("animal",), "animal"),
        "Pop music": (("music",), "music"),
        "Silence": (("none",), "none"),
        "Echo": (("ambience",), "ambience"),
        "theremin": ((), OTHER),
        "": ((), OTHER),
    }
    assert {label: (families(label), category(label)) for label in expected} == expected


def test_the_labels_of_a_library_exclude_one_another() -> None:
    for labels in ({*ESC50, *CLASSES, *ESC50_NAMES.values()}, URBANSOUND8K):
        assert set(labels) <= shipped_phrases().keys()
        assert [pair for pair in combinations(sorted(labels), 2) if are_kin(*pair)] == []
    assert OTHER not in map(category, URBANSOUND8K)
    assert are_kin("dog_bark", "dog")
    assert are_kin("engine_idling", "Engine")
    alone = [label for label in ESC50 if not any(are_kin(label, other) for other in AUDIOSET)]
    assert alone == ["drinking_sipping"]


LABELS = st.sampled_from([*LISTED, "rock", "rain on a roof", "theremin", "_", ""])


@settings(max_examples=500)
@given(LABELS | st.text(max_size=12), LABELS | st.text(max_size=12))
def test_kin_is_symmetric_and_reflexive(first: str, second: str) -> None:
    assert are_kin(first, first)
    assert could_be_called(first, first)
    assert are_kin(first, second) is are_kin(second, first)
    assert could_be_called(first, second) or not are_kin(first, second)


def test_labels_that_one_recording_could_bear_and_names_that_a_sound_could_be_called_by() -> None:
    """Each relation as (kin, could be called the second, could be called the first)."""
    relations = {
        "one recording": (True, True, True),
        "no one recording": (False, None, None),
        "called": (False, True, False),
        "not called": (None, False, None),
    }
    for row in read_rows("texts/kin.csv"):
        pair = row["sound"], row["name"]
        seen = are_kin(*pair), could_be_called(*pair), could_be_called(*pair[::-1])
        assert are_kin(*pair[::-1]) is seen[0]
        assert are_confusable(*pair) is are_confusable(*pair[::-1]) is any(seen[1:])
        for is_so, wanted in zip(seen, relations[row["relation"]], strict=True):
            assert wanted is None or is_so is wanted, row


def test_every_path_that_a_label_is_called_besides_is_that_of_another_label() -> None:
    # A path that nothing lies on or above would be a slip of the pen.
    every = {path for label in LISTED for path in families(label)}
    paths = {path for label in LISTED for path in other_families(label)}
    assert len(paths) > 30
    assert [path for path in paths if not are_related([path], sorted(every))] == []


def test_related_goes_by_whole_segments() -> None:
    assert are_related(["animal"], ["animal/dog"])
    assert are_related(["a/b/c"], ["x", "a/b"])
    assert not are_related(["animal/dog"], ["animal/dogfish"])
    assert not are_related([], ["animal"])


# ---------------------------------------------------------------------------- the builder


def plain_inflect(verb: str, tag: str) -> str:
    """Regular verbs only."""
    return {"VBZ": f"{verb}s", "VBP": verb, "VBG": f"{verb}ing"}[tag]


def source(*rows: str) -> str:
    """A source file's text."""
    return "\n".join([",".join(COLUMNS), *(row and f"{row}," for row in rows)]) + "\n"


DOG = "dog,a dog,a dog,bark,,no,count fast,animal/dog"
PUPPY = "puppy,a puppy,a puppy,yelp,,no,,animal"


@pytest.fixture(scope="module")
def real_inflect() -> lexicon_build.Inflect:
    return make_inflector()


def test_the_shipped_file_is_what_its_sources_make(real_inflect: lexicon_build.Inflect) -> None:
    sources = read_sources(lexicon_folder())
    text = format_table(build(sources, real_inflect))
    assert text == format_table(build(dict(reversed(sources.items())), real_inflect))
    assert text.encode() == (lexicon_folder() / "phrases.csv").read_bytes()


def test_verbs_are_inflected(real_inflect: lexicon_build.Inflect) -> None:
    forms = CASES["forms"]
    tags = ("VBZ", "VBP", "VBG")
    assert {verb: [real_inflect(verb, tag) for tag in tags] for verb in forms} == forms


def test_parts_become_forms() -> None:
    bird = '"Bird, tweet",birdsong,birds,chirp,around,yes,,animal/bird;animal/fowl'
    further = ["dog,a bark,a hound,bark,away,no,fast,", "dog,a hound,a hound,bark,,no,,"]
    text = source(bird, DOG, *further)
    written = format_table(build({"mine.csv": text}, plain_inflect))
    assert written.splitlines() == [
        ",".join(BUILT),
        '"Bird, tweet",birdsong,birds chirp around,birds chirping around,,animal/bird;animal/fowl,',
        "dog,a dog | a bark | a hound,a dog barks | a hound barks away | a hound barks,"
        "a dog barking | a hound barking away | a hound barking,"
        "count fast | fast | count fast,animal/dog,",
    ]


BAD_ROWS = CASES["bad_rows"]


def test_a_bad_row_is_told_with_its_place_and_mend() -> None:
    errors = [refusal("mine.csv", source(*rows)) for rows, _ in BAD_ROWS]
    for (rows, message), error in zip(BAD_ROWS, errors, strict=True):
        assert message in error.message, errors
        assert error.message.startswith(f"mine.csv, line {len(rows) + 1}"), errors
        assert error.fix
        assert "\n" not in str(error)


def refusal(name: str, text: str) -> LexiconError:
    """Why a source file is refused."""
    with pytest.raises(LexiconError) as caught:
        build({name: text}, plain_inflect)
    return caught.value


def test_what_a_sound_is_called_besides_is_checked() -> None:
    for paths in ("animal/wolf", "animal/wolf;body/breath"):
        (entry,) = build({"esc50.csv": f"{source()}{DOG},{paths}\n"}, plain_inflect)["esc50.csv"]
        assert entry.also == tuple(paths.split(";"))
        assert format_table({"esc50.csv": [entry]}).splitlines()[1].endswith(f",animal/dog,{paths}")
    faults = {
        "animal/wolf;": "the also path '' is malformed",
        "beast/wolf": "the also path 'beast/wolf' has no known category",
        "animal/wolf;animal/wolf/cub": "the also paths 'animal/wolf' and",
        "animal/dog/puppy": "the also path 'animal/dog/puppy' is in its family",
        "animal": "the also path 'animal' is in its family",
    }
    for paths, fault in faults.items():
        error = refusal("esc50.csv", f"{source()}{DOG},{paths}\n")
        assert error.message.startswith("esc50.csv, line 2 ('dog')")
        assert fault in error.message


@cases(
    ("sources", "inflect", "told"),
    [
        ({"mine.csv": ""}, plain_inflect, r"mine\.csv, line 1: a wrong header"),
        ({"mine.csv": "label,noun\ndog,a dog\n"}, plain_inflect, "line 1: a wrong header"),
        ({"mine.csv": source(DOG)}, lambda verb, tag: "", "no VBZ form of 'bark'"),
        (
            {"b.csv": source(DOG), "a.csv": source(DOG)},
            plain_inflect,
            r"b\.csv, line 2 \('dog'\): already in a\.csv, line 2",
        ),
        ({"esc50.csv": source(DOG, PUPPY)}, plain_inflect, r"line 3 \('puppy'\): kin to 'dog'"),
    ],
)
def test_sources_that_cannot_be_built_are_told(
    sources: dict[str, str], inflect: lexicon_build.Inflect, told: str
) -> None:
    with pytest.raises(LexiconError, match=told):
        build(sources, inflect)
    # Only labels that exclude one another may not be kin.
    assert len(build({"audioset.csv": source(DOG, PUPPY)}, plain_inflect)["audioset.csv"]) == 2


# What a clip's tags tell of its treatment


def test_a_treatment_is_no_sound_beside_others() -> None:
    tags = [{"category": "instrument", "name": "guitar"}, {"category": "treatment", "name": "hall"}]
    assert heard_tags(tags) == (Tag("instrument", "guitar"),)
    assert find_treatment(tags) == "hall"


# Lexicons are found wherever a script is run


def test_a_folder_of_corpora_does_not_hide_the_lexicons(tmp_path: Path) -> None:
    (tmp_path / "data_manifests" / "corpus").mkdir(parents=True)
    (tmp_path / "script.py").write_text(
        "from synth.labels.lexicon import are_kin; print(are_kin('Dog', 'Bark'))"
    )
    done = subprocess.run(
        [sys.executable, "script.py"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (done.stdout, done.stderr) == ("True\n", "")


# What a word is, to everything that reads words.


def test_words_of_sentences() -> None:
    for text, words in CASES["sentences"].items():
        assert [word.text for word in words_of(text, COMPOUND)] == words


def test_a_word_is_parted_at_what_does_not_join() -> None:
    text = "l'homme clip-clops"
    assert [word.text for word in words_of(text, "")] == ["l", "homme", "clip", "clops"]
    assert [word.text for word in words_of(text)] == ["l'homme", "clip", "clops"]
    assert [word.text for word in words_of("R&B", f"{COMPOUND}&")] == ["R&B"]


def test_spellings_of_a_name_compare_equal() -> None:
    assert [pair for pair in CASES["spelt"] if plain_words(pair[0]) != plain_words(pair[1])] == []
    assert plain_words("rock") != plain_words("rocks")


@given(st.text(max_size=60), st.sampled_from(["", APOSTROPHES, COMPOUND]))
def test_tokens_hold_every_visible_letter(text: str, joints: str) -> None:
    tokens = tokenize(text, joints)
    assert "".join(token.text for token in tokens) == "".join(text.split())
    assert all(text[token.start : token.end] == token.text for token in tokens)
    words = [token.word for token in tokens if token.word is not None]
    assert words == list(range(len(words)))
