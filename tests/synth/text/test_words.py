"""Content words: what two sentences must not share."""

from __future__ import annotations

from synth.text.grammar.tokens import content_words, function_words


def test_forms_of_one_word_meet() -> None:
    pairs = (
        ("A dog barks", "dogs barking loudly"),
        ("Rain falls", "it is raining"),
        ("A man's voice", "the MAN speaks"),
    )
    assert [pair for pair in pairs if not content_words(pair[0]) & content_words(pair[1])] == []


def test_other_words_do_not() -> None:
    pairs = (
        ("The train arrives", "Rain falls"),
        ("A dog barks", "a cat is on the mat"),
        ("", "rain"),
    )
    assert [pair for pair in pairs if content_words(pair[0]) & content_words(pair[1])] == []


def test_function_words_carry_no_content() -> None:
    assert {"a", "the", "is", "of", "and"} <= function_words()
    assert content_words("A the IS of and") == frozenset()
    assert not {"dog", "rain"} & function_words()


def test_words_of_any_script_are_words() -> None:
    assert content_words("собака лает") & content_words("собака лает громко")
    assert content_words("Café") == content_words("cafe\u0301")
