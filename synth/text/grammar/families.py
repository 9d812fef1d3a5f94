"""Families of words: which words of two sentences could be said of one sound."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Final

from synth.base.shipped import shipped_path
from synth.text.grammar.words import content_words

FAMILIES: Final = "lexicons/families.csv"


def share_family(first: str, second: str) -> bool:
    """Whether two sentences could tell of one sound, by their content words.

    They could where they share a word, or a family of words: "a dog barks" and "a puppy yaps",
    "someone sneezes" and "a man coughs". A word that is not listed is a family of its own.
    """
    if _family_bits(first) & _family_bits(second):
        return True
    return not content_words(first).isdisjoint(content_words(second))


def names_sound(sentence: str) -> bool:
    """Whether a sentence has a word that belongs to a family: whatever is heard, or makes it."""
    return _family_bits(sentence) != 0


@cache
def listed_words() -> Mapping[str, tuple[str, ...]]:
    """The shipped words, each with its family paths; none for a word that stands alone."""
    text = shipped_path(FAMILIES).read_text(encoding="utf-8")
    return {
        row["word"]: tuple(row["family"].split(";")) if row["family"] else ()
        for row in csv.DictReader(text.splitlines())
    }


@lru_cache(maxsize=65_536)
def _family_bits(sentence: str) -> int:
    """The families of a sentence's words: a set as a number, to keep tens of thousands of them."""
    listed, bits = _listed_stems(), 0
    for stem in content_words(sentence):
        bits |= listed.get(stem, 0)
    return bits


@cache
def _listed_stems() -> Mapping[str, int]:
    """A bit for each family of a stem, and for each family below one of these."""
    paths = sorted({path for families in listed_words().values() for path in families})
    below = {
        path: sum(1 << bit for bit, each in enumerate(paths) if f"{each}/".startswith(f"{path}/"))
        for path in paths
    }
    found: dict[str, int] = {}
    for word, families in listed_words().items():
        for stem in content_words(word):
            found[stem] = 0
            for path in families:
                found[stem] |= below[path]
    return found
