"""Words of a sentence, down to their stems."""

from __future__ import annotations

import re
from functools import cache, lru_cache
from importlib.resources import files
from typing import Final

import snowballstemmer

_WORD: Final = re.compile(r"[a-z]+(?:'[a-z]+)?")


@cache
def function_words() -> frozenset[str]:
    """Closed-class words, and words that an audio caption may hold whatever it describes."""
    listing = files("data_manifests").joinpath("lexicons/function_words.txt")
    return frozenset(listing.read_text(encoding="utf-8").split())


@lru_cache(maxsize=65_536)
def content_words(sentence: str) -> frozenset[str]:
    """Stems (Snowball English) of the words of a sentence that carry its content."""
    words = (word for word in _WORD.findall(sentence.lower()) if word not in function_words())
    return frozenset(_stem(word) for word in words)


@lru_cache(maxsize=65_536)
def _stem(word: str) -> str:
    return str(snowballstemmer.stemmer("english").stemWord(word))
