"""Checks of order and binding: same words, another composition."""

from __future__ import annotations

from typing import Any

import pytest

from synth.llm.checks.check import Case
from synth.llm.checks.order_checks import lemmas, parse_content, parse_order
from synth.llm.checks.registry import read_checks
from synth.llm.reply import PromptItem


def faults(check: Any, texts: list[str], caption: str) -> list[str]:
    (made,) = read_checks([check])
    return made.faults(Case(PromptItem("i", {"caption": caption}), {}, texts))


ORDERED = "A man speaks before a dog barks"
THREE = "A cup breaks, then a bell rings while two men laugh"
BOUND = "A woman speaks while a baby cries in the background"


@pytest.mark.parametrize(
    ("caption", "text", "fault"),
    [
        (ORDERED, "A man speaks after a dog barks", ""),
        (ORDERED, "A dog barks before a man speaks", ""),
        (ORDERED, "A dog barks, and then a man is speaking", ""),
        (ORDERED, "A man speaking with a dog barking", ""),
        (ORDERED, "A dog barks after a man speaks", "no order that contradicts"),
        (ORDERED, "After a man speaks, a dog barks", "no order that contradicts"),
        (ORDERED, "Before a dog barks, a man speaks", "no order that contradicts"),
        (ORDERED, "The man speaks and then the dog barks!", "no order that contradicts"),
        (ORDERED, "A man speaking, followed by a dog barking", "no order that contradicts"),
        (ORDERED, "A cat barks before a man speaks", 'leaves out "dog" and adds "cat"'),
        (ORDERED, "A dog before a man speaks", 'leaves out "barks"'),
        (ORDERED, "A dog barks and barks before a man speaks", 'adds "barks"'),
        (THREE, "Two men laugh, then a cup breaks while a bell rings", ""),
        (THREE, "A cup breaks, then two men laugh as a bell rings", "no order that contradicts"),
        (THREE, "As a bell rings and two men laugh, a cup breaks", "unclearly"),
        (THREE, "A cup breaks, then a bell rings, then two men laugh", ""),
        (THREE, "A cup breaks, then a bell rings and two men laugh", "no order that contradicts"),
        (ORDERED, "A man speaks later than a dog barks", "unclearly"),
        (ORDERED, "A man speaks and a dog barks", "no order that contradicts"),
        ("A dog barks and a man speaks", "A man speaks, then a dog barks", "tells none"),
        ("A dog barks as a man speaks", "A man speaks, then a dog barks", ""),
        ("As a dog barks, a man speaks", "A man speaks while a dog barks", "no order that contra"),
        ("A dog barks. A man speaks later.", "A dog barks after a man speaks", ""),
        ("Loud and low thuds, then a dog barks", "A dog barks, then loud and low thuds", ""),
        ("Shots occur, then a dog barks", "A dog barks with shots occurring", ""),
        ("Rain falls", "Falling of rain", "single event"),
        (
            "Ein Café — naïve bells ring, then geese honk",
            "Geese honk, then ein café — naïve bells ring",
            "",
        ),
        ("Geese honk, then mice squeak", "A mouse squeaks, then a goose honks", ""),
    ],
)
def test_reordered(caption: str, text: str, fault: str) -> None:
    found = faults({"reordered": {}}, [text], caption)
    assert len(found) == bool(fault), found
    assert all(fault in each for each in found)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("A baby speaks while a woman cries in the background", ""),
        ("A woman cries with a baby speaking in the background", ""),
        ("A woman speaks while a baby cries", "same verb"),
        ("A baby is crying as a woman is speaking", "same verb"),
        ("A woman speaks while a dog cries", 'adds "dog"'),
        ("A woman and a baby cry", 'leaves out "speaks"'),
    ],
)
def test_rebound(text: str, fault: str) -> None:
    found = faults({"rebound": {}}, [text], BOUND)
    assert len(found) == bool(fault), found
    assert all(fault in each for each in found)


@pytest.mark.parametrize("check", ["reordered", "rebound", "same_order"])
def test_no_text_is_no_fault(check: str) -> None:
    assert faults({check: {}}, [], "Rain falls") == []


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("A man talks and then a dog barks", ""),
        ("A dog barks after a man has spoken", ""),
        ("A dog and a man make sounds", ""),
        ("A dog barks before a man speaks", "changes the order"),
        ("A man speaks before no dog barks", "deny"),
    ],
)
def test_same_order(text: str, fault: str) -> None:
    found = faults({"same_order": {}}, [text], ORDERED)
    assert len(found) == bool(fault), found
    assert all(fault in each for each in found)


def test_a_paraphrase_keeps_a_share_of_the_words() -> None:
    assert not faults({"shares": 0.5}, ["A guy speaks while a hound is barking"], ORDERED)
    assert "0 of 4" in faults({"shares": 0.3}, ["A lovely tune"], ORDERED)[0]


@pytest.mark.parametrize(
    ("first", "second"),
    [("barks", "barking"), ("cries", "cry"), ("geese", "goose"), ("clapped", "claps")],
)
def test_forms_of_a_word_share_a_lemma(first: str, second: str) -> None:
    assert lemmas(first) & lemmas(second)


@pytest.mark.parametrize(
    "caption",
    [
        "",
        "…",
        "A man speaks. A dog barks later.",
        "A dog barks after a man speaks after rain falls",
    ],
)
def test_what_is_told_is_left_open_where_words_leave_it_open(caption: str) -> None:
    assert parse_order(parse_content(caption)) is None


def notation_faults(text: str, notation: str, strict: bool = True) -> list[str]:
    (made,) = read_checks([{"notation_told": {"notation": "n", "strict": strict}}])
    return made.faults(Case(PromptItem("i", {}), {"n": [notation]}, [text]))


@pytest.mark.parametrize(
    ("text", "notation", "fault"),
    [
        ("A dog barks after a man speaks", "man speaks + dog barks", ""),
        ("A man speaks as a dog barks", "man speaks * dog barks", ""),
        ("A man speaks while a dog barks", "Male speech, man speaking * Bark", ""),
        ("A dog barks after a man speaks", "dog barks + man speaks", "another order"),
        ("A dog barks, then a man speaks", "dog barks * man speaks", "another order"),
        ("A dog barks", "dog barks + rain", "no word"),
    ],
)
def test_notation_told(text: str, notation: str, fault: str) -> None:
    found = notation_faults(text, notation)
    assert len(found) == bool(fault), found
    assert all(fault in each for each in found)


def test_notation_told_is_lenient_where_asked() -> None:
    assert not notation_faults("A motor runs, then a dog barks", "Engine * Bark", strict=False)
    assert notation_faults("A dog barks, then a man speaks", "man speaks + dog barks", strict=False)
