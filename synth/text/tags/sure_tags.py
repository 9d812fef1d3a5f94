"""Which words of a caption surely mean a tag, by where they stand.

A quality stands before a noun for the music ("a rock song") or behind "is"; a thing is no part of a
longer name. "World" in "a whole new world" means no genre.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

from synth.base.shipped import shipped_path
from synth.text.grammar.tagger import POS, possible_pos_tags
from synth.text.tags.tags import TagForm, TagMatch, find_category, phrase_tag

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
        start: First character, from 0.
        end: One past the last.
        match: The tag, None for a word or a mark.
    """

    lower: str
    start: int
    end: int
    match: TagMatch | None


@dataclass(frozen=True, slots=True)
class MarkedCaption:
    """A caption in tokens, in which tags are tokens of their own."""

    text: str
    tokens: tuple[MarkedToken, ...]

    @classmethod
    def of(cls, caption: str, matches: Sequence[TagMatch]) -> MarkedCaption:
        """From a caption and the tags in it, in order."""
        return cls(caption, _tokens(caption, matches))

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


_JOINTS: Final = frozenset("/&-")


def find_sure(
    caption: str, matches: Sequence[TagMatch], *, bare: bool = False
) -> tuple[TagMatch, ...]:
    """The matches that surely mean their tag, by where they stand.

    A quality stands before a noun for the music, or behind "is"; a thing is no part of a longer
    name, as "bass" is in "synth bass", and "guitar" in "electric guitar". Nothing is sure in a
    quotation or beside a slash, nor is "world" in "a whole new world".

    Args:
        bare: Whether a thing must stand in a list of things by itself, and nothing may tell how
            it is played or by how many: nothing else is strummed as a guitar is.
    """
    marked = MarkedCaption.of(caption, matches)
    return tuple(
        token.match
        for at, token in enumerate(marked.tokens)
        if token.match and not _is_named(marked, at) and _means_music(marked, at)
        if not bare or _is_bare(marked, at)
    )


def _opens_item(word: str) -> bool:
    return word in SEPARATORS | STOPS | words("opens list")


def _is_bare(caption: MarkedCaption, index: int) -> bool:
    if not caption.is_form(index, TagForm.MASS, TagForm.COUNT):
        return True
    before = index - 2 if caption.at(index - 1) in words("determiner") else index - 1
    return (
        _opens_item(caption.at(before))
        and caption.at(index + 1) in SEPARATORS | STOPS | {"in"}
        and words("playing").isdisjoint(token.lower for token in caption.tokens)
    )


def _is_named(caption: MarkedCaption, index: int) -> bool:
    """Whether a tag stands in a quotation, or has a capital that is not its own."""
    token = caption.tokens[index]
    if caption.text.count('"', 0, token.start) % 2:
        return True
    match = token.match
    own = match is not None and phrase_tag(match.tag).words[0].isupper()
    if _JOINTS & {*caption.text[token.start - 1 : token.start], *caption.text[token.end :][:1]}:
        return True
    text = caption.spelling(index)
    first = index == 0 or caption.at(index - 1) in STOPS
    return text[0].isupper() and not (first or own or text.isupper())


def _means_music(caption: MarkedCaption, index: int) -> bool:
    if caption.is_form(index, TagForm.MASS, TagForm.COUNT):
        before, own = caption.at(index - 1), caption.at(index)
        if find_category(f"{before} {own}") or find_category(f"{before} {own.split()[0]}"):
            return False  # "electric guitar", also in a "guitar solo", whatever tags there are
        if own in words("part") and not _opens_item(before):
            return False  # the "badly tuned strings" of a banjo
        free = (
            not _names(caption, index - 1)
            or caption.is_premodifier(index - 1)
            or POS.ADJ in possible_pos_tags(before)
        )
        after = caption.at(index + 1)
        parting = SEPARATORS | words("opens list") | words("follows music")
        parted = not after[0].isalnum() or is_closed(after) or after in parting
        return free and parted and after != "of"
    if caption.is_form(index, TagForm.THEME):
        last = index
        while caption.is_form(last, TagForm.THEME) or caption.at(last) in SEPARATORS:
            last += 1
        return caption.at(last) in {"theme", "themes"}
    if caption.is_form(index, TagForm.ERA):
        return True
    head = _edge(caption, index, +1)
    last = _end_of_noun(caption, head)
    if head <= last and caption.at(last) in words("music"):
        return True
    opening = index - 1
    while caption.is_form(opening, TagForm.ADJECTIVE) or caption.at(opening) in SEPARATORS:
        opening -= 1
    behind = STOPS | {",", "with"} | words("verb")
    return caption.at(opening) in {"is", "are"} and caption.at(head) in behind


def _end_of_noun(caption: MarkedCaption, head: int) -> int:
    """The last word of a noun of up to three words: "song", "bass line"; `head - 1` for none."""
    last = head - 1
    while last < head + 2 and _names(caption, last + 1):
        last += 1
    return head - 1 if _names(caption, last + 1) else last


def _names(caption: MarkedCaption, index: int) -> bool:
    word = caption.at(index)
    participle = word.endswith(("ed", "ing")) and word not in words("music")
    others = SEPARATORS | words("follows music")
    return word[0].isalpha() and not (participle or is_closed(word) or word in others)


def _edge(caption: MarkedCaption, index: int, step: int) -> int:
    """The first token on one side that is no premodifier."""
    at = index + step
    while (
        caption.is_premodifier(at)
        or caption.at(at) in SEPARATORS
        or (step < 0 and is_adverb(caption.at(at)))
    ):
        at += step
    return at
