"""Captions: each sentence states its claim and nothing else, checked by a naive reader."""

from __future__ import annotations

import csv
import re
import unicodedata
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.base.errors import SceneError, SpecError
from synth.base.shipped import shipped_path
from synth.captions.caption import Author, Provenance, Style, frames, realize
from synth.captions.measuring import say_seconds
from synth.labels.connective import Connective
from synth.labels.lexicon import Phrase, shipped_phrases
from synth.scene.scene import Concat, Event, Overlay, Scene
from tests.kit.cases import cases

A, B = Event("a"), Event("b")
WORDS = {"a": "aaa", "b": "bbb"}
ALL = [(style, word, k) for style in Style for word in Connective for k in range(frames(style))]


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
    # What follows the connective at once is its object; the other one is the main clause.
    following = min((name for name in "ab" if at[name] > place), key=at.__getitem__)
    main = "b" if following == "a" else "a"
    match word:
        case "before":
            return "order", main, following
        case "after":
            return "order", following, main
        case "then" | "followed":
            assert at[left] < place < at[right]
            return "order", left, right
        case _:
            return "together", "", ""


RELATIONS = {"before", "after", "then", "followed", "while", "as", "with"}


@cases(("style", "word", "frame"), ALL)
def test_a_sentence_states_its_claim(style: Style, word: Connective, frame: int) -> None:
    texts = []
    for first, second in ((A, B), (B, A)):
        text = realize(claim(word, first, second), word, nonsense, style, frame)
        said = ("order", first.label, second.label) if word.is_order else ("together", "", "")
        assert read(text) == said
        for name in ("aaa", "bbb"):
            assert text.lower().count(name) == 1
        texts.append(text.lower())
    # Exchanging the claim's sounds exchanges them in the text.
    swap = {"aaa": "bbb", "bbb": "aaa"}
    assert re.sub("aaa|bbb", lambda found: swap[found[0]], texts[1]) == texts[0]


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
def test_every_connective_has_the_same_number_of_different_frames(style: Style) -> None:
    for word in Connective:
        texts = {realize(claim(word), word, nonsense, style, k) for k in range(frames(style))}
        assert len(texts) == frames(style)
    with pytest.raises(IndexError):
        realize(claim(Connective.BEFORE), Connective.BEFORE, nonsense, style, frames(style))


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


def test_the_shipped_connectives_say_what_the_code_takes_them_for() -> None:
    path = shipped_path("lexicons/connectives.csv")
    for row in csv.DictReader(path.read_text(encoding="utf-8").splitlines()):
        word = Connective(row["connective"])
        assert row["says"] == ("order" if word.is_order else "together")
        assert word.value in row["frame"]


def test_a_provenance_is_read_as_it_is_written() -> None:
    written = {
        Provenance.of_rule("pair", "natural", 3): "rule:pair/natural/3",
        Provenance(Author.SOURCE, "caption").add("no-tags"): "source:caption/no-tags",
        Provenance.of_model("paraphrase", 1, "a/b"): "llm:paraphrase@1/a/b",
    }
    for provenance, text in written.items():
        assert str(provenance) == text
        assert Provenance.parse(text) == provenance
        assert [author for author in Author if author.wrote(text)] == [provenance.author]
    for text in ("", "me:caption"):
        with pytest.raises(SpecError, match="not the provenance"):
            Provenance.parse(text)


# Measures in words


@cases("rate", [8000, 11_025, 22_050, 44_100])
def test_tenths_of_a_second_are_told_at_every_rate(rate: int) -> None:
    said = [say_seconds(tenth * rate // 10, rate) for tenth in (5, 10, 23, 110)]
    assert said == ["0.5 seconds", "one second", "2.3 seconds", "11 seconds"]


def test_a_time_between_two_tenths_is_refused() -> None:
    with pytest.raises(SceneError, match="no whole tenths"):
        say_seconds(11_025 + 500, 11_025)
