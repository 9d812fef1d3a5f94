"""What a word of a text is: the one tokenizer of everything that reads words.

A word is a run of letters and digits, with the apostrophes inside it or behind its s: "80s",
"dog's", "dogs'". In sentences what hyphens and dots join is one word, too: "clip-clop", "L.A".
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field
from functools import cache, lru_cache
from typing import Final

APOSTROPHES: Final = "'\u2019\uff07"
COMPOUND: Final = f"{APOSTROPHES}.-"
_RUN: Final = r"[^\W_]+(?:[\u0300-\u036f]+[^\W_]*)*"
_NO_APOSTROPHE: Final = str.maketrans("", "", f"{APOSTROPHES}\u02bc")
_AND: Final = frozenset({"and", "n", "&"})


@dataclass(frozen=True, slots=True)
class Token:
    """One word or one mark of a text.

    Args:
        start: Where it starts in the text, in characters.
        word: Its 0-based position among the words; None for a mark.
        lower: The text in lower case, its apostrophes plain.
    """

    text: str
    start: int
    word: int | None
    lower: str = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "lower", self.text.lower().replace("\u2019", "'"))

    @property
    def end(self) -> int:
        """One past its last character."""
        return self.start + len(self.text)

    @property
    def bare(self) -> str:
        """The text without an apostrophe behind its s, which may close a quotation."""
        return self.text.rstrip(APOSTROPHES)

    @property
    def key(self) -> str:
        """By which spellings compare: NFKC, no case, no apostrophes; "and", "&" and "n" are one."""
        return _key(self.text)


@lru_cache(maxsize=1024)
def tokenize(text: str, joints: str = APOSTROPHES) -> tuple[Token, ...]:
    """The words and marks of a text; `joints` may join two runs of letters to a word."""
    tokens: list[Token] = []
    words = 0
    for match in _pattern(joints).finditer(text):
        is_word = match.group()[0].isalnum()
        tokens.append(Token(match.group(), match.start(), words if is_word else None))
        words += is_word
    return tuple(tokens)


def words_of(text: str, joints: str = APOSTROPHES) -> list[Token]:
    """The words of a text; "&" is one."""
    return [
        token for token in tokenize(text, joints) if token.word is not None or token.text == "&"
    ]


@lru_cache(maxsize=65_536)
def plain_words(text: str) -> str:
    """The words of a text as they compare, a space between two: spellings of a name are equal."""
    return " ".join(word.key for word in words_of(text))


@cache
def _pattern(joints: str) -> re.Pattern[str]:
    joined = rf"(?:[{re.escape(joints)}]{_RUN})*" if joints else ""
    return re.compile(rf"{_RUN}{joined}(?:(?<=[sS])['\u2019](?!\w))?|[^\w\s]|_")


@lru_cache(maxsize=65_536)
def _key(word: str) -> str:
    plain = unicodedata.normalize("NFKC", word).casefold().translate(_NO_APOSTROPHE)
    return "&" if plain in _AND else plain
