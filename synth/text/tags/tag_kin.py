"""Which tags one recording may bear at once, by their words alone."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from synth.labels.tag import Tag
from synth.text.grammar.words import content_words
from synth.text.tags.tag_words import spell
from synth.text.tags.tags import are_same_words, words_of


@lru_cache(maxsize=65_536)
def explain_nearness(first: str, second: str) -> str:
    """Why two names cannot stand for contraries, "" where their words allow it.

    "rock" is implied by "alternative rock", "vocals" is "vocal" by its stem, and "acoustic guitar"
    and "electric guitar" share their last word: one recording often has both.
    """
    ours, theirs = _keys(first), _keys(second)
    if ours == theirs or are_same_words(first, second):
        return "same name"
    if not ours or not theirs:
        return "no word in it"
    if set(ours) <= set(theirs) or set(theirs) <= set(ours):
        return "one holds the other"
    if ours[-1] == theirs[-1]:
        return "shared last word"
    return ""


def is_implied(tag: Tag, known: Iterable[Tag]) -> bool:
    """Whether a tag is among the known ones, or too near one to be called absent."""
    return any(explain_nearness(tag.name, other.name) for other in known)


def holds_words(name: str, other: str) -> bool:
    """Whether a name holds every word of another: "pop rock" holds "rock", not "pop punk"."""
    return bool(_keys(other)) and set(_keys(other)) <= set(_keys(name))


def is_named_in(tag: Tag, caption: str) -> bool:
    """Whether every word of a tag, by its stem, stands somewhere in a caption."""
    words = set(_keys(tag.name))
    return bool(words) and words <= set(_stems(caption))


@lru_cache(maxsize=65_536)
def _keys(name: str) -> tuple[str, ...]:
    """The stems of a name's words, in order, as it is spelled in a sentence."""
    return _stems(spell(name))


@lru_cache(maxsize=1024)
def _stems(text: str) -> tuple[str, ...]:
    """A function word ("soft", "in") and a number stand as they are."""
    words = (word.key for word in words_of(text))
    return tuple(
        next(iter(content_words(word)), word) if word.isalpha() else word for word in words
    )
