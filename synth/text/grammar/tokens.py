"""A sentence as tokens: words and marks, which a rewrite may move but not lose."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from typing import Final, TypeAlias

from synth.base.shipped import read_shipped_rows, shipped_set, shipped_words
from synth.labels.words import Token, words_of


def word_set(text: str) -> frozenset[str]:
    """The words of a text, as a set."""
    return frozenset(text.split())


_CLOSING: Final = frozenset(".,;:!?)]}%”…")
_OPENING: Final = frozenset("([{“$#")
STOPS: Final = frozenset(".!?…")


Piece: TypeAlias = Token | str
"""A part of a rewritten sentence: a token of the source, or text put in."""


def join(pieces: Iterable[Piece]) -> str:
    """Pieces as running text: tokens that touched still touch, else as English is spaced."""
    text = ""
    before: Piece = ""
    for piece in pieces:
        part = piece if isinstance(piece, str) else piece.text
        gap = _gap(before, piece)
        glued = not text or part[0] in _CLOSING or text[-1] in _OPENING if gap is None else not gap
        text += part if glued else f" {part}"
        before = piece
    return text


def to_sentence(pieces: Sequence[Piece], source: Sequence[Token]) -> str:
    """Pieces as a sentence: capital and final stop as the source has them.

    A word that opened the source loses its capital where it moves inside, unless the source writes
    it so for its own sake: "I", an acronym, a language.
    """
    opener = next((token for token in source if token.word == 0), None)
    moved = bool(pieces) and pieces[0] is not source[0]
    text = join(lower_opener(pieces, source) if moved else pieces)
    if source and source[-1].text in STOPS and text[-1:] not in STOPS:
        text += source[-1].text
    words = [token.text for token in source if token.word is not None]
    if len(words) > 1 and all(map(str.isupper, words)):
        return text.upper()
    opened = opener is not None and opener.text[:1].isupper()
    return text[:1].upper() + text[1:] if opened else text


def lower_opener(pieces: Iterable[Piece], source: Sequence[Token]) -> tuple[Piece, ...]:
    """The pieces, without the capital of the word that opened the source.

    It stays where the source writes the word so for its own sake: "I", an acronym, a language, and
    a name of several words ("Big Ben").
    """
    words = [token for token in source if token.word is not None][:2]
    if not words or any(word.text[:1].isupper() for word in words[1:]):
        return tuple(pieces)
    lowered = replace(words[0], text=_lower_initial(words[0].text))
    return tuple(lowered if piece is words[0] else piece for piece in pieces)


def format_order(pieces: Iterable[Piece]) -> str:
    """Pieces as word positions of the source, marks and put-in text as they are."""
    parts = (
        piece if isinstance(piece, str) else piece.text if piece.word is None else str(piece.word)
        for piece in pieces
    )
    return " ".join(parts)


def _gap(before: Piece, piece: Piece) -> bool | None:
    """Whether a space parts two neighbours of the source; None if they are no neighbours."""
    if isinstance(before, str) or isinstance(piece, str):
        return None
    distance = piece.start - before.start - len(before.text)
    return bool(distance) if distance in {0, 1} else None


def _lower_initial(text: str) -> str:
    own = text in shipped_set("proper") or text[:2] == "I'" or text[1:] != text[1:].lower()
    if len(text) == 1 and text != "A":
        return text
    return text if own else text[:1].lower() + text[1:]


# Whether a text is running text: what holds markup, addresses or file names is not edited.


_MARKUP: Final = re.compile(
    r"(?ix) &\#?\w+; | https?: | www\. | \w@\w | \w+\.(?:com|org|net|wav|mp3|flac|ogg|aiff?)\b"
    r"| [<>{}\[\]|\\_=~^*#@\ufffd] | // | ->"
)
_NO_ONE_SENTENCE: Final = re.compile(r"[.!?…]+[\"”')]*\s+\S|[:;()/\"“”]|\s[-–—]+\s|\d+[.,]\d")  # noqa: RUF001


def has_markup(text: str) -> bool:
    """Whether a text holds entities, addresses, file names or signs that no sentence has."""
    return _MARKUP.search(text) is not None


def is_one_sentence(text: str) -> bool:
    """Whether a text is one sentence, or a fragment of one, in plain words.

    Not so: two sentences, a title in capitals, brackets, quotations, slashes, colons and dashes.
    """
    if has_markup(text) or _NO_ONE_SENTENCE.search(text.strip()):
        return False
    words = [token.text for token in words_of(text) if len(token.text) > 1]
    capitals = sum(word[0].isupper() for word in words[1:])
    return text.isupper() or 2 * capitals <= len(words)


# Words of a sentence, down to their stems.


def function_words() -> frozenset[str]:
    """Closed-class words, and words that an audio caption may hold whatever it describes."""
    return shipped_words("lexicons/function_words.txt")


@lru_cache(maxsize=65_536)
def content_words(sentence: str) -> frozenset[str]:
    """Stems (Snowball English) of the words of a sentence that carry its content."""
    plain = unicodedata.normalize("NFKC", sentence).casefold()
    words = (token.lower for token in words_of(plain) if token.lower[0].isalpha())
    return frozenset(_stem(word) for word in words if word not in function_words())


@lru_cache(maxsize=8)
def whole_words(words: tuple[str, ...]) -> re.Pattern[str] | None:
    """A pattern that finds any of the words as a whole word; None for no words."""
    if not words:
        return None
    return re.compile(rf"\b(?:{'|'.join(map(re.escape, words))})\b", re.IGNORECASE)


@lru_cache(maxsize=65_536)
def _stem(word: str) -> str:
    import snowballstemmer  # 15 ms to those who compare no words

    return str(snowballstemmer.stemmer("english").stemWord(word))


# Families of words: which words of two sentences could be said of one sound.


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
    return {
        row["word"]: tuple(row["family"].split(";")) if row["family"] else ()
        for row in read_shipped_rows(FAMILIES)
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
        path: sum(1 << bit for bit, other in enumerate(paths) if f"{other}/".startswith(f"{path}/"))
        for path in paths
    }
    bits: dict[str, int] = {}
    for word, families in listed_words().items():
        for stem in content_words(word):
            bits[stem] = 0
            for path in families:
                bits[stem] |= below[path]
    return bits
