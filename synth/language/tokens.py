"""A sentence as tokens: words and marks, which a rewrite may move but not lose."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

_TOKEN: Final = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*['’]?|[^\w\s]|_")
_CLOSING: Final = frozenset(".,;:!?)]}%”…")
_OPENING: Final = frozenset("([{“$#")
STOPS: Final = frozenset(".!?…")


@dataclass(frozen=True, slots=True)
class Token:
    """One word or one mark of a sentence.

    Args:
        text: As it is written.
        word: Its 0-based position among the words; None for a mark.
    """

    text: str
    word: int | None

    @property
    def lower(self) -> str:
        """The text in lower case, its apostrophes plain."""
        return self.text.lower().replace("’", "'")


Piece: TypeAlias = Token | str
"""A part of a rewritten sentence: a token of the source, or text put in."""


def tokenize(sentence: str) -> tuple[Token, ...]:
    """Split a sentence; hyphens, dots and apostrophes inside a word stay in it."""
    tokens: list[Token] = []
    words = 0
    for found in _TOKEN.finditer(sentence):
        text = found.group()
        is_word = text[0].isalnum()
        tokens.append(Token(text, words if is_word else None))
        words += is_word
    return tuple(tokens)


def join(pieces: Iterable[Piece]) -> str:
    """Pieces as running text, with single spaces where English has them."""
    text = ""
    for piece in pieces:
        part = piece if isinstance(piece, str) else piece.text
        glued = not text or part[0] in _CLOSING or text[-1] in _OPENING
        text += part if glued else f" {part}"
    return text


def sentence_like(pieces: Sequence[Piece], source: Sequence[Token]) -> str:
    """Pieces as a sentence: capital and final stop as the source has them.

    A word that opened the source loses its capital where it moves inside, unless the source writes
    it so for its own sake: "I", an acronym.
    """
    opened = bool(source) and source[0].text[:1].isupper()
    inner = [
        _lower_initial(piece) if index and piece is source[0] else piece
        for index, piece in enumerate(pieces)
    ]
    text = join(inner)
    if source and source[-1].text in STOPS and text[-1:] not in STOPS:
        text += source[-1].text
    return text[:1].upper() + text[1:] if opened else text


def order_of(pieces: Iterable[Piece]) -> str:
    """Pieces as word positions of the source, marks and put-in text as they are."""
    parts = (
        piece if isinstance(piece, str) else piece.text if piece.word is None else str(piece.word)
        for piece in pieces
    )
    return " ".join(parts)


def _lower_initial(piece: Piece) -> str:
    text = piece if isinstance(piece, str) else piece.text
    if text == "I" or text.startswith(("I'", "I’")) or any(map(str.isupper, text[1:])):
        return text
    return text[:1].lower() + text[1:]
