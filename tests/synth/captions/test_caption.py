"""Captions state their claims and nothing else, checked by a naive reader; measures in words."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.base.shipped import read_shipped_rows
from synth.captions.caption import (
    Fit,
    Frame,
    Style,
    frames,
    read_frames,
    realize,
)
from synth.captions.measuring import (
    MEASURES,
    Measure,
    can_say,
    claim_background,
    say_measures,
    say_value,
)
from synth.labels.connective import Connective
from synth.labels.lexicon import Phrase, shipped_phrases, wordings
from synth.scene.claim import Count, Measured, Part, Quantity
from synth.scene.scene import Concat, Event, Overlay, Scene
from tests.kit.cases import cases
from tests.kit.tables import read_data
from tests.synth.truth.cases import read_claim

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


# Measures in words: every sentence is of the table, and fits what it is said of.


CASES = read_data("texts/measures.yaml")

RATE = 16_000
DOG, RAIN = Event("dog"), Event("rain")


def tell(quantity: Quantity, value: int, *sounds: Event) -> Measured:
    """A claim on one or two sounds."""
    return Measured(quantity, sounds[: quantity.arity], value)


def draw(*claims: Measure, most: int = 500) -> Iterator[list[str]]:
    """What is said of claims, again and again."""
    rng = np.random.default_rng(0)
    for _ in range(most):
        yield [caption.text for caption in say_measures(claims, Style.NATURAL, RATE, rng)]


def test_every_measure_has_frames_that_name_its_sounds_and_its_values() -> None:
    rows = read_shipped_rows(MEASURES)
    for measure in ("count", "background", *Quantity):
        own = [row for row in rows if row["measure"] == measure]
        quantity = Quantity(measure) if measure in tuple(Quantity) else None
        sounds = "ab" if measure == "background" or (quantity and quantity.arity == 2) else "a"
        is_number = quantity is None or quantity.is_time
        values = 1 if measure == "background" else 3 if measure == "position" else 2
        assert [row["style"] for row in own[:5]] == ["paper", *["natural"] * 4]
        for row in own:
            slots = re.findall(r"{(\w+)", row["frame"])
            assert {*slots} == {*sounds, "value"} or row == own[0]
            said = row["values"].split(" | ") if row["values"] else []
            assert len(said) == (0 if is_number and measure != "background" else values)


@cases(("claim", "sentence"), CASES["sentences"])
def test_sentences_that_people_write(claim: str, sentence: str) -> None:
    measure = read_claim(claim)
    assert isinstance(measure, Count | Measured)
    assert [sentence] in draw(measure, most=20_000)


def test_what_is_in_the_background_is_told_as_people_write() -> None:
    sentence = "A dog barks, and in the background rain patters down"
    assert [sentence] in draw(claim_background("dog", "rain"), most=20_000)


def test_claims_of_a_group_are_told_alike() -> None:
    told = list(draw(*(tell(Quantity.TREND, value, RAIN) for value in (1, -1))))
    assert len({more for more, _ in told}) > 20
    for more, less in told:
        changed = more.replace("louder", "quieter").replace("volume rises", "volume falls")
        assert changed == less


@cases(("claim", "is_fit"), CASES["sense"])
def test_what_makes_sense_of_a_sound(claim: str, is_fit: bool) -> None:
    measure = read_claim(claim)
    assert isinstance(measure, Count | Measured)
    assert can_say(measure) is is_fit


def test_no_bark_is_let_out_for_three_seconds() -> None:
    texts = draw(tell(Quantity.DURATION, 3 * RATE, DOG))
    assert not any("lets out" in text or "giving" in text for (text,) in texts)


def test_every_label_can_be_placed_and_valued() -> None:
    for label in shipped_phrases():
        claim = tell(Quantity.POSITION, Part.END, Event(label))
        (caption,) = say_measures([claim], Style.PAPER, RATE, np.random.default_rng(0))
        assert caption.text == f"{wordings(label)[0].plain} at the end"
        assert caption.connective == say_value(claim, RATE) == "at the end"
