"""A caption as words, marks and tags, some of the tags to be denied; and the words' roles."""

from __future__ import annotations

import csv
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, TypeAlias

from synth.base.shipped import shipped_path
from synth.text.tags.tags import TagForm, TagMatch, phrase_tag

LISTING: Final = "lexicons/mending_words.csv"
SEPARATORS: Final = frozenset({",", "and", "&"})
STOPS: Final = frozenset({".", "!", "?", ";", ":"})
_TOKEN: Final = re.compile(r"[^\W_]+(?:[-'’./&][^\W_]+)*|[^\w\s]")  # noqa: RUF001
_ADJECTIVE: Final = re.compile(
    r"(?i)(?:\w{2,}(?:ing|ed|ic|al|ful|ous|ive|ant|ent|less|able|ible|ary|ish|esque)|low|high|poor|"
    r"slow|fast|medium|quality|tempo|mid|live|short|long|simple|wide|old|new|modern|heavenly|raw|"
    r"female|male|flat|dry|tight|clean|rich|full|big|small|young|human|complex|unique|dense|subtle|"
    r"(?!\w*(?:ody|ony|rgy|try|ity|ncy|ory|phy|lly|day|joy|play)$)\w{3,}y|\w+-\w+)"
)


@cache
def words(role: str) -> frozenset[str]:
    """The listed words of a role: "music" nouns, "verb", "function" words, "sound" nouns ..."""
    text = shipped_path(LISTING).read_text(encoding="utf-8")
    return frozenset(
        row["word"] for row in csv.DictReader(text.splitlines()) if row["role"] == role
    )


@cache
def closed_words() -> frozenset[str]:
    """Words that end a noun phrase: function words and finite verbs."""
    return words("function") | words("verb")


def is_closed(word: str) -> bool:
    """Whether a word, or the one it is contracted with ("that's"), ends a noun phrase."""
    return word in closed_words() or re.split("['’]", word)[0] in closed_words()  # noqa: RUF001


def is_adverb(word: str) -> bool:
    """Whether a word grades the one behind it: "very", "incredibly"."""
    return word in words("adverb") or (word.endswith("ly") and word not in {"lively", "lovely"})


@dataclass(frozen=True, slots=True)
class MarkedToken:
    """A word, a mark or a whole tag.

    Args:
        lower: Its text in lower case.
        start: First character, from 0.
        end: One past the last.
        match: The tag, None for a word or a mark.
    """

    lower: str
    start: int
    end: int
    match: TagMatch | None


@dataclass(frozen=True, slots=True)
class Wordings:
    """The negators drawn for one caption: for a quality ("not"), for a thing ("without")."""

    quality: str
    thing: str


@dataclass(frozen=True, slots=True)
class MarkedCaption:
    """A caption in tokens.

    Args:
        text: The caption.
        tokens: Its tokens, in order.
        denied: Positions of the tags to deny.
        negators: The negators to deny them with.
    """

    text: str
    tokens: tuple[MarkedToken, ...]
    denied: frozenset[int]
    negators: Wordings

    @classmethod
    def of(
        cls,
        caption: str,
        matches: Sequence[TagMatch],
        denied: Collection[TagMatch],
        negators: Wordings,
    ) -> MarkedCaption:
        """From a caption and the tags in it, in order."""
        tokens = _tokens(caption, matches)
        wanted = frozenset(at for at, token in enumerate(tokens) if token.match in denied)
        return cls(caption, tokens, wanted, negators)

    def at(self, index: int) -> str:
        """The token in lower case; a stop before the first and behind the last."""
        return self.tokens[index].lower if 0 <= index < len(self.tokens) else "."

    def is_form(self, index: int, *forms: TagForm) -> bool:
        """Whether the token is a tag of one of the forms."""
        if not 0 <= index < len(self.tokens):
            return False
        match = self.tokens[index].match
        return match is not None and phrase_tag(match.tag).form in forms

    def is_premodifier(self, index: int) -> bool:
        """Whether the token may stand between an article and its noun."""
        word = self.at(index)
        after = self.at(index + 1)
        if word in {"tempo", "quality"} and (after in SEPARATORS or after.endswith("ing")):
            return False  # "a slow tempo and soft tones"
        return self.is_form(index, TagForm.ADJECTIVE) or (
            _ADJECTIVE.fullmatch(word) is not None
            and word not in closed_words()
            and word not in words("music")
        )

    def spelling(self, index: int) -> str:
        """The token as the caption has it."""
        token = self.tokens[index]
        return self.text[token.start : token.end]

    def run(self, indices: Sequence[int]) -> str:
        """Some tokens, with spaces between."""
        return " ".join(map(self.spelling, indices))


@dataclass(frozen=True, slots=True)
class TextEdit:
    """Text to put in place of a stretch of the caption, in characters from 0."""

    start: int
    end: int
    text: str


Place: TypeAlias = tuple[TextEdit, frozenset[int]] | None
"""An edit and the positions of the tags it denies; None where none is safe."""


def _tokens(caption: str, matches: Sequence[TagMatch]) -> tuple[MarkedToken, ...]:
    tokens: list[MarkedToken] = []
    at = 0
    for match in (*matches, None):
        end = match.start if match else len(caption)
        tokens.extend(
            MarkedToken(found.group().lower(), found.start(), found.end(), None)
            for found in _TOKEN.finditer(caption, at, end)
        )
        if match:
            tokens.append(MarkedToken(match.text.lower(), match.start, match.end, match))
            at = match.end
    return tuple(tokens)
