"""Content words: what two sentences must not share."""

from __future__ import annotations

from synth.text.grammar.tokens import content_words, function_words
from tests.kit.cases import cases


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
