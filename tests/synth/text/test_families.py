"""Families of words: which sentences could tell of one sound."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable
from itertools import chain, combinations
from pathlib import Path

import pytest

from synth.base.shipped import shipped_path
from synth.labels.lexicon import Phrase, are_confusable, families, other_families, shipped_phrases
from synth.text.grammar.tokens import (
    FAMILIES,
    content_words,
    function_words,
    listed_words,
    share_family,
)
from tests.kit.cases import cases
from tests.kit.one_sound import PLAIN_PAIRS

ONE_SOUND = (
    *PLAIN_PAIRS,
    ("A man sneezes", "A person coughs"),
    ("An infant wails", "A toddler is crying"),
    ("An animal makes a noise", "Geese fly past"),
    ("A machine runs", "A drill whirs"),
    ("A gun fires", "Fireworks explode"),
    ("Bees swarm", "Insects buzz"),
    ("A child sang", "Music plays"),
    ("A horn honks", "A truck passes"),
    ("A horn plays", "A band performs"),
    ("Mice squeak", "A rodent scurries"),
    ("Hooves clop", "A horse gallops"),
    ("Thunder rumbles", "A storm rages"),
    ("Plates clink", "Cutlery clatters"),
    ("He spoke", "They chatted"),
)
TWO_SOUNDS = (
    ("A dog barks", "Rain falls"),
    ("A dog barks", "A cat meows"),
    ("A man speaks", "Wind blows"),
    ("A woman talks", "An engine idles"),
    ("A baby cries", "A toilet flushes"),
    ("A bell rings", "A frog croaks"),
    ("A woman laughs", "A man walks"),
    ("Rain falls", "Waves crash on the shore"),
    ("A helicopter hovers", "A chainsaw is heard"),
    ("Something glows", "An object is there"),
)
UNSAID = {"Noise", "Mechanisms"}
"""Labels whose clauses ("noise fills the air", "a machine runs") do not tell all they stand for."""


def test_names_of_one_sound_share_a_family() -> None:
    one_sound = [*ONE_SOUND, *((other.upper(), one) for one, other in ONE_SOUND)]
    assert [pair for pair in one_sound if not share_family(*pair)] == []
    two_sounds = [*TWO_SOUNDS, *((other, one) for one, other in TWO_SOUNDS)]
    assert [pair for pair in two_sounds if share_family(*pair)] == []


def test_a_word_that_is_not_listed_is_a_family_of_its_own() -> None:
    assert share_family("A theorbo", "Two theorbos")
    assert not share_family("A theorbo", "A sackbut")
    assert not share_family("", "")


def test_the_list_is_in_order_and_names_each_word_once() -> None:
    with shipped_path(FAMILIES).open(encoding="utf-8", newline="") as file:
        words = [row["word"] for row in csv.DictReader(file)]
    assert words == sorted(words)
    stems = Counter(stem for word in words for stem in content_words(word))
    assert [stem for stem, count in stems.items() if count > 1] == []
    assert all(len(content_words(word)) == 1 for word in words)


def test_family_paths_are_the_lexicons_or_those_of_people() -> None:
    labels = shipped_phrases()
    paths = chain.from_iterable((*families(label), *other_families(label)) for label in labels)
    known = {"/".join(parts[: i + 1]) for parts in (p.split("/") for p in paths) for i in range(3)}
    used = set(chain.from_iterable(listed_words().values()))
    own = {path for path in used - known if not path.startswith("people")}
    assert own == {"body/kiss", "body/spit"}
    for listed in listed_words().values():
        assert list(listed) == sorted(set(listed))
        assert not any(one != two and one.startswith(f"{two}/") for one in listed for two in listed)


def test_labels_that_could_name_one_sound_share_a_family_by_their_words() -> None:
    said = {label: Phrase.of_label(label).clause for label in shipped_phrases()}
    missed = [
        (first, second)
        for first, second in combinations(sorted(said.keys() - UNSAID), 2)
        if are_confusable(first, second) and not share_family(said[first], said[second])
    ]
    assert missed == []


@pytest.mark.slow
def test_the_frequent_words_of_audiocaps_are_all_listed(shared_data: Callable[[str], Path]) -> None:
    found: Counter[str] = Counter()
    for split in ("train", "val", "test"):
        path = shared_data("AudioCaps") / f"{split}.csv"
        with path.open(encoding="utf-8-sig", newline="") as file:
            for row in csv.DictReader(file):
                found.update(content_words(row["caption"]))
    listed = {stem for word in listed_words() for stem in content_words(word)}
    assert {stem for stem, count in found.items() if count >= 20} <= listed


# Content words: what two sentences must not share


@cases(
    ("one", "other", "meet"),
    [
        ("A dog barks", "dogs barking loudly", True),
        ("Rain falls", "it is raining", True),
        ("A man's voice", "the MAN speaks", True),
        ("собака лает", "собака лает громко", True),
        ("Café", "cafe\u0301", True),
        ("The train arrives", "Rain falls", False),
        ("A dog barks", "a cat is on the mat", False),
        ("", "rain", False),
    ],
)
def test_forms_of_one_word_meet(one: str, other: str, meet: bool) -> None:
    assert bool(content_words(one) & content_words(other)) is meet


def test_function_words_carry_no_content() -> None:
    assert {"a", "the", "is", "of", "and"} <= function_words()
    assert content_words("A the IS of and") == frozenset()
    assert not {"dog", "rain"} & function_words()
