"""Checks of any text: its make, length, language, and whether it is new."""

from __future__ import annotations

import re
import unicodedata
from itertools import chain
from typing import ClassVar, Final

from pydantic import Field

from synth.llm.checks.check import Case, Check, quote
from synth.llm.checks.tongues import LANGUAGES, detect_languages

_WORD: Final = re.compile(r"[^\W_]+(?:['\u2019.,-][^\W_]+)*")
_MARKUP: Final = re.compile(r"\A\s*(?:[-*#>\u2022]|\d+[.)])\s|[`{}]|\*\*|<[a-z/]|\A[a-z]+:\s", re.I)
_QUOTES: Final = "\"'“”„«»‘’"  # noqa: RUF001
_UNDECIDED: Final = 4
"""Words up to which a text may show no language at all: "Jazz", "Piano solo"."""


def normalise(text: str) -> str:
    """A text as compared: NFKC, no case, no marks, single spaces."""
    return " ".join(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))


def word_count(text: str) -> int:
    """The number of words; hyphens and apostrophes do not part them."""
    return len(_WORD.findall(text))


class OneLine(Check):
    """Each text is one line of running text: no list marks, quotes around it, or markup."""

    name: ClassVar[str] = "plain"

    def faults(self, case: Case) -> list[str]:
        """Empty texts, line breaks, spaces at the ends, marks of lists and of code."""
        return [fault for text in self.select_texts(case) for fault in _plain_faults(text)]


def _plain_faults(text: str) -> list[str]:
    if not _WORD.search(text):
        return ["a text is empty"]
    if text != " ".join(text.split()):
        return [f"{quote(text)} must be one line, single-spaced"]
    if _MARKUP.search(text):
        return [f"{quote(text)} must be plain text, without list marks, names before it or code"]
    if text[0] in _QUOTES and text[-1] in _QUOTES:
        return [f"{quote(text)} must not stand in quotes"]
    return []


class Differs(Check):
    """No text repeats the original, whatever its case, marks and Unicode form.

    Args:
        source: The item's field that holds the original.
    """

    name: ClassVar[str] = "differs"
    main: ClassVar[str] = "source"
    source: str = "caption"

    def fields(self) -> frozenset[str]:
        """The original."""
        return frozenset({self.source})

    def faults(self, case: Case) -> list[str]:
        """Texts that read as the original."""
        original = normalise(str(case.field(self.source)))
        return [
            f"{quote(text)} is the original itself"
            for text in self.select_texts(case)
            if normalise(text) == original
        ]


class Distinct(Check):
    """No two texts of an answer read alike."""

    name: ClassVar[str] = "distinct"

    def faults(self, case: Case) -> list[str]:
        """Every text that repeats one before it."""
        seen: set[str] = set()
        found = []
        for text in self.select_texts(case):
            plain = normalise(text)
            if plain in seen:
                found.append(f"{quote(text)} is given twice")
            seen.add(plain)
        return found


class Words(Check):
    """The length of each text in words.

    Args:
        least: Fewest words.
        most: Most words.
    """

    name: ClassVar[str] = "words"
    main: ClassVar[str] = "most"
    least: int = Field(default=1, ge=0)
    most: int = Field(default=10_000, ge=1)

    def faults(self, case: Case) -> list[str]:
        """Texts that are too short or too long."""
        counts = [(text, word_count(text)) for text in self.select_texts(case)]
        return list(
            chain(
                (
                    f"{quote(text)} has {count} words; at least {self.least} are needed"
                    for text, count in counts
                    if count < self.least
                ),
                (
                    f"{quote(text)} has {count} words; at most {self.most} are allowed"
                    for text, count in counts
                    if count > self.most
                ),
            )
        )


class MaxWords(Words):
    """The same under the name by which the upper bound alone is given: `max_words: 30`."""

    name: ClassVar[str] = "max_words"


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
    field: str = ""

    def fields(self) -> frozenset[str]:
        """The field that gives the most."""
        return frozenset({self.field} - {""})

    def faults(self, case: Case) -> list[str]:
        """Too few texts, or too many."""
        given = case.field(self.field) if self.field else None
        most = given if isinstance(given, int) else self.most
        count = len(self.select_texts(case))
        if count > most:
            return [f"{count} texts are given; at most {most} are asked for"]
        least = min(self.least, most)
        return [f"{count} texts are given; at least {least} are needed"] if count < least else []


class Language(Check):
    """The language of each text, told by its commonest words.

    Args:
        code: The language, or "" where the item says it.
        field: The item's field that says it.
    """

    name: ClassVar[str] = "language"
    main: ClassVar[str] = "code"
    code: str = Field(default="", pattern=f"^({'|'.join(LANGUAGES)})?$")
    field: str = "language"

    def fields(self) -> frozenset[str]:
        """The field that says the language, where the file does not."""
        return frozenset() if self.code else frozenset({self.field})

    def faults(self, case: Case) -> list[str]:
        """Texts that read as another language, or, if they have some words, as none."""
        wanted = self.code or str(case.field(self.field))
        found = []
        for text in self.select_texts(case):
            languages = detect_languages(text)
            if wanted in languages or (not languages and word_count(text) <= _UNDECIDED):
                continue
            read = " or ".join(LANGUAGES[code] for code in sorted(languages)) or "no known language"
            name = LANGUAGES.get(wanted, wanted)
            found.append(f"{quote(text)} reads as {read}; {name} is asked for")
        return found
