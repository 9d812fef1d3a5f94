"""Captions: each sentence states its claim and nothing else, checked by a naive reader."""

from __future__ import annotations

import re
import unicodedata
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.captions.caption import (
    Fit,
    Frame,
    Style,
    frames,
    read_frames,
    realize,
)
from synth.labels.connective import Connective
from synth.labels.lexicon import Phrase, shipped_phrases
from synth.scene.scene import Concat, Event, Overlay, Scene
from tests.kit.cases import cases

A, B = Event("a"), Event("b")
WORDS = {"a": "aaa", "b": "bbb"}


def nonsense(label: str) -> Phrase:
    """Phrases whose only words are the label's, so that the rest of a sentence is its frame."""
    word = WORDS.get(label, label)
    return Phrase(f"{word}p", f"{word}n", f"{word}c", f"{word}g")


def claim(word: Connective, first: Scene = A, second: Scene = B) -> Concat | Overlay:
    return Concat(first, second) if word.is_order else Overlay(first, second)


def read(text: str) -> tuple[str, str, str]:
    """(relation, first heard, last heard) as a reader takes it, from word positions alone."""
    words = re.findall(r"[a-z]+", text.lower())
    at = {name: next(i for i, w in enumerate(words) if w.startswith(name * 3)) for name in "ab"}
    ((word, place),) = [(w, i) for i, w in enumerate(words) if w in RELATIONS]
    left, right = sorted(at, key=at.__getitem__)
    if word in ("then", "followed") or words[place : place + 2] == ["after", "that"]:
        assert at[left] < place < at[right]
        return "order", left, right
    if words[place : place + 2] == ["before", "that"]:
        return "order", right, left
    if word not in ("before", "after"):
        return "together", "", ""
    # What follows the connective at once is its object; the other one is the main clause.
    following = min((name for name in "ab" if at[name] > place), key=at.__getitem__)
    main = "b" if following == "a" else "a"
    return ("order", main, following) if word == "before" else ("order", following, main)


RELATIONS = {"before", "after", "then", "followed", "while", "meanwhile", "as", "with", "same"}


@cases(
    ("style", "says", "frame"),
    [
        (style, says, frame)
        for style in Style
        for says in ("order", "together")
        for frame in read_frames(says, style)
    ],
)
def test_a_frame_states_its_claim(style: Style, says: str, frame: Frame) -> None:
    text = frame.text.format(a=nonsense("a"), b=nonsense("b"))
    assert read(text) == (("order", "a", "b") if says == "order" else ("together", "", ""))
    assert frame.connective is not None
    assert frame.connective.is_order is (says == "order")
    word = "mean" if "meanwhile" in text else ""
    assert f"{word}{frame.connective.value}" in text
    for name in ("aaa", "bbb"):
        assert text.count(name) == 1


@cases("says", ["order 3", "order 4"])
def test_more_sounds_are_named_as_they_are_heard(says: str) -> None:
    for frame in read_frames(says, Style.NATURAL):
        names = re.findall(r"\{(\w)\.", frame.text)
        assert names == sorted(names)
        assert len(names) == int(says[-1])


@cases("says", ["order", "order 3", "together", "together 3", "sound", "during"])
def test_every_place_can_be_filled(says: str) -> None:
    assert {max(Fit.OPENING, frame.fit) for frame in read_frames(says, Style.NATURAL)} >= (
        {Fit.OPENING, Fit.SENTENCE} if says == "during" else {Fit.CLAUSE}
    )


@cases("style", Style)
@cases(
    ("word", "twin"),
    list(product((Connective.BEFORE, Connective.AFTER, Connective.WHILE), repeat=2)),
)
def test_word_twins_differ_in_the_connective_alone(
    style: Style, word: Connective, twin: Connective
) -> None:
    for frame in range(frames(style)):
        text = realize(claim(word), word, nonsense, style, frame)
        twins = {
            realize(claim(twin, *sounds), twin, nonsense, style, frame).lower()
            for sounds in ((A, B), (B, A))
        }
        assert text.lower().replace(word.value, twin.value) in twins


@cases("style", Style)
def test_captions_of_libraries_fit_every_frame_of_a_pair(style: Style) -> None:
    for word in Connective:
        texts = {realize(claim(word), word, nonsense, style, k) for k in range(frames(style))}
        assert len(texts) == frames(style)


@cases("word", Connective)
def test_natural_sentences_of_shipped_labels_start_with_a_capital(word: Connective) -> None:
    labels = sorted(shipped_phrases())[::7]
    for (a, b), frame in product(product(labels, labels), range(frames(Style.NATURAL))):
        if a != b:
            said = claim(word, Event(a), Event(b))
            text = realize(said, word, Phrase.of_label, Style.NATURAL, frame)
            assert text[0].isupper()
            assert "_" not in text
            assert "  " not in text


@cases("word", Connective)
def test_a_connective_cannot_make_the_other_kind_of_claim(word: Connective) -> None:
    order = "rain after dog" if word is Connective.AFTER else f"dog {word.value} rain"
    if word is Connective.AT_ONCE:
        order = "dog and rain at the same time"
    said = claim(word, Event("dog"), Event("rain"))
    assert realize(said, word, Phrase.of_label, Style.PAPER) == order
    wrong = Overlay(A, B) if word.is_order else Concat(A, B)
    with pytest.raises(ValueError, match="cannot say"):
        realize(wrong, word, nonsense, Style.PAPER)
    with pytest.raises(ValueError, match="pair of events"):
        realize(Concat(Overlay(A, B), A), Connective.BEFORE, nonsense, Style.PAPER)


@given(st.text(min_size=1, max_size=8).filter(lambda text: text.strip() != ""))
def test_braces_in_labels_are_no_template(label: str) -> None:
    said = Concat(Event("{a.plain}" + label), Event("{0}"))
    text = realize(said, Connective.BEFORE, Phrase.of_label, Style.PAPER)
    plain = unicodedata.normalize("NFC", label).replace("_", " ")
    assert text == "{a.plain}" + plain + " before {0}"
