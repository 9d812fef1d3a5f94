"""What a word is, to everything that reads words."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from synth.labels.words import APOSTROPHES, COMPOUND, plain_words, tokenize, words_of

SENTENCES = {
    "The dogs' clip-clop, then L.A.": ["The", "dogs'", "clip-clop", "then", "L.A"],
    "It's a goose\u2019s 80's R&B": ["It's", "a", "goose\u2019s", "80's", "R", "&", "B"],
    "a 'loud' sound'": ["a", "loud", "sound"],
    "hot_dog and/or cafe\u0301": ["hot", "dog", "and", "or", "cafe\u0301"],
    "": [],
}
NAMES = (
    ("Hip-Hop", "hip hop"),
    ("drum'n'bass", "drumnbass"),
    ("Drum & Bass", "drum and bass"),
    ("80's", "80s"),
    ("STRASSE", "stra\u00dfe"),
    ("Café", "cafe\u0301"),
    ("\uff44\uff4f\uff47", "dog"),
)


def test_words_of_sentences() -> None:
    words = {text: [word.text for word in words_of(text, COMPOUND)] for text in SENTENCES}
    assert words == SENTENCES


def test_a_word_is_parted_at_what_does_not_join() -> None:
    text = "l'homme clip-clops"
    assert [word.text for word in words_of(text, "")] == ["l", "homme", "clip", "clops"]
    assert [word.text for word in words_of(text)] == ["l'homme", "clip", "clops"]
    assert [word.text for word in words_of("R&B", f"{COMPOUND}&")] == ["R&B"]


def test_spellings_of_a_name_compare_equal() -> None:
    assert [pair for pair in NAMES if plain_words(pair[0]) != plain_words(pair[1])] == []
    assert plain_words("rock") != plain_words("rocks")


@given(st.text(max_size=60), st.sampled_from(["", APOSTROPHES, COMPOUND]))
def test_tokens_hold_every_visible_letter(text: str, joints: str) -> None:
    tokens = tokenize(text, joints)
    assert "".join(token.text for token in tokens) == "".join(text.split())
    assert all(text[token.start : token.end] == token.text for token in tokens)
    words = [token.word for token in tokens if token.word is not None]
    assert words == list(range(len(words)))
