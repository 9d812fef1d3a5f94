"""Checks of any text: its make, length, language, and whether it is new."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import ClassVar, Final

from pydantic import Field

from synth.base.shipped import shipped_table
from synth.labels.words import COMPOUND, tokenize, words_of
from synth.llm.checks.check import (
    Case,
    Check,
    ComparingCheck,
    NeededField,
    SettingRole,
    TextCheck,
    quote,
)

# Which language a sentence is in: English, German, French, Italian or Spanish, by common words.
#
# A word counts 1 for a language that has it alone, and a share for each of those that have it in
# common ("in" is English, German and Italian); a letter that only one of them writes counts a
# half. The language with the most wins. Captions are short: where two are level both are named,
# and a text without any of the words names none. The lists are ours: articles, prepositions,
# conjunctions, pronouns and auxiliaries, and the few words that captions of sound and music have
# in every sentence.


LANGUAGES: Final[Mapping[str, str]] = {
    "en": "English",
    "de": "German",
    "fr": "French",
    "it": "Italian",
    "es": "Spanish",
}

_LETTERS: Final[Mapping[str, str]] = {"de": "äß", "fr": "çœêëîûèâ", "it": "ìò", "es": "ñ¿¡"}


def detect_languages(text: str) -> frozenset[str]:
    """The codes of the languages that a text may be in: one, several that are level, or none."""
    plain = unicodedata.normalize("NFC", unicodedata.normalize("NFKC", text).casefold())
    scores = dict.fromkeys(LANGUAGES, 0.0)
    for word in words_of(plain, joints=""):
        owners = _owners().get(word.bare, ())
        for code in owners:
            scores[code] += 1 / len(owners)
    lowered = unicodedata.normalize("NFC", text).lower()
    for code, letters in _LETTERS.items():
        scores[code] += 0.5 * sum(lowered.count(letter) for letter in letters)
    best = max(scores.values())
    return frozenset(code for code, score in scores.items() if best and score > best - 1e-9)


@cache
def _owners() -> Mapping[str, tuple[str, ...]]:
    """By word, the languages that have it."""
    codes: dict[str, tuple[str, ...]] = {}
    for code, words in shipped_table("languages").items():
        for word in dict.fromkeys(words.split()):
            codes[word] = (*codes.get(word, ()), code)
    return codes


_MARKUP: Final = re.compile(r"\A\s*(?:[-*#>\u2022]|\d+[.)])\s|[`{}]|\*\*|<[a-z/]|\A[a-z]+:\s", re.I)
_QUOTES: Final = "\"'“”„«»‘’"  # noqa: RUF001
_UNDECIDED: Final = 4
"""Words up to which a text may show no language at all: "Jazz", "Piano solo"."""


def normalise(text: str) -> str:
    """A text as compared: NFKC, no case, no marks, single spaces."""
    plain = unicodedata.normalize("NFKC", text).casefold()
    tokens = tokenize(plain, COMPOUND)
    return " ".join(token.lower.rstrip("'") for token in tokens if token.word is not None)


def word_count(text: str) -> int:
    """The number of words; hyphens and apostrophes do not part them."""
    return sum(token.word is not None for token in tokenize(text, COMPOUND))


class OneLine(Check):
    """Each text is one line of running text: no list marks, quotes around it, or markup."""

    name: ClassVar[str] = "plain"

    def _find_faults(self, texts: Sequence[str], case: Case) -> Iterator[str]:
        for text in texts:
            if not words_of(text):
                yield "a text is empty"
            elif text != " ".join(text.split()):
                yield f"{quote(text)} must be one line, single-spaced"
            elif _MARKUP.search(text):
                kinds = "list marks, names before it or code"
                yield f"{quote(text)} must be plain text, without {kinds}"
            elif text[0] in _QUOTES and text[-1] in _QUOTES:
                yield f"{quote(text)} must not stand in quotes"


class Differs(ComparingCheck):
    """No text repeats the original, whatever its case, marks and Unicode form."""

    name: ClassVar[str] = "differs"

    def _explain(self, text: str, case: Case) -> Iterator[str]:
        if normalise(text) == normalise(self.original(case)):
            yield "is the original itself"


class Distinct(Check):
    """No two texts of an answer read alike."""

    name: ClassVar[str] = "distinct"

    def _find_faults(self, texts: Sequence[str], case: Case) -> Iterator[str]:
        seen: set[str] = set()
        for text in texts:
            plain = normalise(text)
            if plain in seen:
                yield f"{quote(text)} is given twice"
            seen.add(plain)


class Words(TextCheck):
    """The length of each text in words.

    Args:
        least: Fewest words.
        most: Most words.
    """

    name: ClassVar[str] = "words"
    main: ClassVar[str] = "most"
    least: int = Field(default=1, ge=0)
    most: int = Field(default=10_000, ge=1)

    def _explain(self, text: str, case: Case) -> Iterator[str]:
        count = word_count(text)
        if count < self.least:
            yield f"has {count} words; at least {self.least} are needed"
        if count > self.most:
            yield f"has {count} words; at most {self.most} are allowed"


class TextCount(Check):
    """How many texts an answer may have.

    Args:
        least: Fewest.
        most: Most.
        field: The item's field that says the most, where it has one; the least is then the smaller.
    """

    name: ClassVar[str] = "count"
    main: ClassVar[str] = "most"
    least: int = Field(default=0, ge=0)
    most: int = Field(default=100, ge=1)
    field: NeededField = ""

    def _find_faults(self, texts: Sequence[str], case: Case) -> Iterator[str]:
        given = case.field(self.field) if self.field else None
        most = given if isinstance(given, int) else self.most
        if len(texts) > most:
            yield f"{len(texts)} texts are given; at most {most} are asked for"
        elif len(texts) < (least := min(self.least, most)):
            yield f"{len(texts)} texts are given; at least {least} are needed"


class Language(TextCheck):
    """The language of each text, told by its commonest words.

    Args:
        code: The language, or "" where the item says it.
        field: The item's field that says it.
    """

    name: ClassVar[str] = "language"
    main: ClassVar[str] = "code"
    code: str = Field(default="", pattern=f"^({'|'.join(LANGUAGES)})?$")
    field: str = "language"

    def named(self, role: SettingRole) -> frozenset[str]:
        """With the field that says the language, where the file does not."""
        said = {self.field} if role is SettingRole.NEEDED and not self.code else set()
        return super().named(role) | said

    def _explain(self, text: str, case: Case) -> Iterator[str]:
        wanted = self.code or str(case.field(self.field))
        languages = detect_languages(text)
        if wanted in languages or (not languages and word_count(text) <= _UNDECIDED):
            return
        read = " or ".join(LANGUAGES[code] for code in sorted(languages)) or "no known language"
        yield f"reads as {read}; {LANGUAGES.get(wanted, wanted)} is asked for"
