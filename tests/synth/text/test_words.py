"""Content words: what two sentences must not share."""

from __future__ import annotations

import pytest

from synth.text.grammar.tokens import content_words, function_words


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("A dog barks", "dogs barking loudly"),
        ("Rain falls", "it is raining"),
        ("A man's voice", "the MAN speaks"),
    ],
)
def test_forms_of_one_word_meet(one: str, other: str) -> None:
    assert content_words(one) & content_words(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [("The train arrives", "Rain falls"), ("A dog barks", "a cat is on the mat"), ("", "rain")],
)
def test_other_words_do_not(one: str, other: str) -> None:
    assert not content_words(one) & content_words(other)


def test_function_words_carry_no_content() -> None:
    assert {"a", "the", "is", "of", "and"} <= function_words()
    assert content_words("A the IS of and") == frozenset()
    assert not {"dog", "rain"} & function_words()


def test_words_of_any_script_are_words() -> None:
    assert content_words("собака лает") & content_words("собака лает громко")
    assert content_words("Café") == content_words("cafe\u0301")
