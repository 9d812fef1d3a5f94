"""Checks that a translation leaves figures and names as they are."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import ClassVar, Final

from synth.base.shipped import shipped_set, shipped_table
from synth.labels.words import COMPOUND, words_of
from synth.llm.checks.check import Case, ComparingCheck, NeededField, quote

_GROUPED: Final = re.compile(
    r"(?<![\d.,])\d{1,3}(?:[.,'\u2019\s\u00a0\u202f]\d{3})+(?![\d]|[.,]\d)"
)
_DECADE: Final = re.compile(r"(?<!\d)(?:18|19|20)(\d0)(?='?s\b|er\b)")
_DIGITS: Final = re.compile(r"\d+")
_STEM: Final = 4
"""Letters by which a name is known again where a language puts its own ending: "Londres"."""


class SameNumerals(ComparingCheck):
    """Each text has the numerals of the original, in whatever way its language writes them.

    "1,000" is "1.000", "3.5" is "3,5" and "the 1980s" are "die 80er".
    """

    name: ClassVar[str] = "figures"
    source: NeededField = "text"

    def _explain(self, text: str, case: Case) -> Iterator[str]:
        wanted, given = find_numerals(self.original(case)), find_numerals(text)
        if lost := sorted((wanted - given).elements()):
            yield f"loses the number {', '.join(lost)}; keep its digits"
        if new := sorted((given - wanted).elements()):
            yield f"adds the number {', '.join(new)}"


def find_numerals(text: str) -> Counter[str]:
    """The runs of digits in a text, thousands written together and decades by their last two."""
    plain = unicodedata.normalize("NFKC", text)
    plain = _GROUPED.sub(lambda found: re.sub(r"\D", "", found.group()), plain)
    plain = re.sub(r"(?i)(ann[ée]es|a[ñn]os|anni) (?:18|19|20)(\d0)\b", r"\1 \2", plain)
    return Counter(_DIGITS.findall(_DECADE.sub(r"\1", plain)))


class SameNames(ComparingCheck):
    """Each text keeps the names of the original, but for the ending that its language gives them.

    A name is an acronym, a word of letters and digits, or a capitalised word that opens no
    sentence; not those that every language has its own word for ("German", "Monday"). A text in
    title case shows no names by its capitals.

    Args:
        field: The item's field that lists further names, to be kept letter by letter.
    """

    name: ClassVar[str] = "names"
    source: NeededField = "text"
    field: str = "names"

    def _explain(self, text: str, case: Case) -> Iterator[str]:
        listed = tuple(map(str, case.field(self.field) or ()))
        plain = unicodedata.normalize("NFKC", text)
        words = {_fold(word.bare) for word in words_of(plain, f"{COMPOUND}&")}
        starts = {word[:_STEM] for word in words}
        lost = [
            name
            for name in find_names(self.original(case))
            if _fold(name) not in words
            and (len(_fold(name)) < _STEM or _fold(name)[:_STEM] not in starts)
        ]
        lost += [name for name in listed if unicodedata.normalize("NFKC", name) not in plain]
        if lost:
            yield f"must keep {', '.join(map(quote, lost))}"


def find_names(text: str) -> tuple[str, ...]:
    """The names in an English text, each once."""
    words = [(word.text, word.start) for word in words_of(text, f"{COMPOUND}&") if word.text != "&"]
    capitals = sum(word[0].isupper() for word, _ in words)
    titled = len(words) > 2 and capitals > len(words) / 2
    names = []
    for word, start in words:
        head = re.sub(r"['\u2019]s?$", "", word)
        if head.split("-")[0].casefold() in shipped_set("translated") or not any(
            map(str.isalpha, head)
        ):
            continue
        mixed = any(letter.isupper() for letter in head[1:])
        opens = not text[:start].strip() or re.search(r"[.!?:]\W*$", text[:start]) is not None
        if mixed or (word[0].isupper() and not opens and not titled):
            names.append(head)
    return tuple(dict.fromkeys(names))


def _fold(word: str) -> str:
    plain = unicodedata.normalize("NFKD", word.casefold())
    return "".join(letter for letter in plain if not unicodedata.combining(letter))


# Checks that a text counts, measures and compares as its original does.


_NUMBERS: Final = (
    *("one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
)
_TIMES: Final = {"once": 1, "twice": 2, "thrice": 3}


@cache
def _measure_pattern() -> re.Pattern[str]:
    said = sorted(shipped_table("measure_words"), key=len, reverse=True)
    return re.compile(
        rf"\b(?:(?P<said>{'|'.join(said)})|(?P<times>once|twice|thrice)(?! more)"
        rf"|(?P<number>\d+(?:\.\d+)?|{'|'.join(_NUMBERS)}|a)(?: single)?"
        r" (?P<unit>times?|seconds?))\b"
    )


class Measures(ComparingCheck):
    """Each text tells the counts, times and comparisons of the original, and no others.

    "Twice" is "two times", "softer" is "quieter". What is compared keeps its side of "than".
    """

    name: ClassVar[str] = "measures"

    def _explain(self, text: str, case: Case) -> Iterator[str]:
        original = self.original(case)
        wanted, given = find_measures(original), find_measures(text)
        if lost := sorted((wanted - given).elements()):
            yield f"does not say {quote(lost[0])}; keep what is measured"
        elif new := sorted((given - wanted).elements()):
            yield f"adds {quote(new[0])}; measure nothing else"
        elif wanted and not _compares_alike(text, original):
            yield "must compare the same two sounds, in the same order"


def find_measures(text: str) -> Counter[str]:
    """What a text counts, measures and compares, in words of its own kind: "2 times", "louder"."""
    measures: Counter[str] = Counter()
    for match in _measure_pattern().finditer(text.casefold()):
        if match["said"]:
            measures[shipped_table("measure_words")[match["said"]]] += 1
        elif match["times"]:
            measures[f"{_TIMES[match['times']]} times"] += 1
        else:
            number = "1" if match["number"] == "a" else match["number"]
            if number in _NUMBERS:
                number = str(_NUMBERS.index(number) + 1)
            measures[f"{float(number):g} {match['unit'].rstrip('s')}s"] += 1
    return measures


def _compares_alike(text: str, original: str) -> bool:
    """Whether what stands on either side of "than" stands there in both, or neither has one."""
    halves, others = (_split_at_than(sentence) for sentence in (text, original))
    if halves is None or others is None:
        return halves is others
    (left, right), (first, second) = halves, others
    return len(left & first) + len(right & second) > len(left & second) + len(right & first)


def _split_at_than(text: str) -> tuple[frozenset[str], frozenset[str]] | None:
    """The words on either side of "than" alone; None without one."""
    first, than, second = text.casefold().partition(" than ")
    if not than:
        return None
    words, others = (frozenset(re.findall(r"\w+", side)) for side in (first, second))
    return words - others, others - words
