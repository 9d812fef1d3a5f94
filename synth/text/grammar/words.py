"""Words of a sentence, down to their stems."""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from typing import Final

import snowballstemmer

from synth.base.shipped import shipped_path

_WORD: Final = re.compile(r"[^\W\d_]+(?:'[^\W\d_]+)?")


@cache
def function_words() -> frozenset[str]:
    """Closed-class words, and words that an audio caption may hold whatever it describes."""
    listing = shipped_path("lexicons/function_words.txt")
    return frozenset(listing.read_text(encoding="utf-8").split())


@lru_cache(maxsize=65_536)
def content_words(sentence: str) -> frozenset[str]:
    """Stems (Snowball English) of the words of a sentence that carry its content."""
    plain = unicodedata.normalize("NFKC", sentence).casefold()
    words = (word for word in _WORD.findall(plain) if word not in function_words())
    return frozenset(_stem(word) for word in words)


@lru_cache(maxsize=8)
def whole_words(words: tuple[str, ...]) -> re.Pattern[str] | None:
    """A pattern that finds any of the words as a whole word; None for no words."""
    if not words:
        return None
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, words))})\b", re.IGNORECASE)


@lru_cache(maxsize=65_536)
def _stem(word: str) -> str:
    return str(snowballstemmer.stemmer("english").stemWord(word))
