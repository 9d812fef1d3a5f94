"""Checks that a text counts, measures and compares as its original does."""

from __future__ import annotations

import re
from collections import Counter
from typing import ClassVar, Final

from synth.llm.checks.check import Case, Check, quote

_NUMBERS: Final = (
    *("one", "two", "three", "four", "five", "six"),
    *("seven", "eight", "nine", "ten", "eleven", "twelve"),
)
_TIMES: Final = {"once": 1, "twice": 2, "thrice": 3}
_SAID: Final = {
    "louder": ("louder", "more loudly"),
    "quieter": ("quieter", "softer", "more quietly", "more softly", "less loud"),
    "quietly": ("quietly", "softly", "faintly"),
    "longer": ("longer",),
    "less long": ("less long", "shorter"),
    "farther": ("farther", "further"),
    "closer": ("closer", "nearer"),
    "larger": ("larger", "bigger"),
    "smaller": ("smaller",),
    "higher": ("higher",),
    "lower": ("lower",),
    "faster": ("faster", "more quickly", "quicker"),
    "slower": ("slower", "more slowly"),
    "at the start": ("at the start", "at the beginning"),
    "in the middle": ("in the middle", "halfway"),
    "at the end": ("at the end",),
    "pause": ("pause", "silence", "gap"),
    "without a pause": ("without a pause", "without any pause", "with no pause", "right away"),
}
_WORDS: Final = {text: kind for kind, texts in _SAID.items() for text in texts}
_FOUND: Final = re.compile(
    r"\b(?:(?P<said>" + "|".join(sorted(_WORDS, key=len, reverse=True)) + r")"
    r"|(?P<times>once|twice|thrice)(?! more)"
    rf"|(?P<number>\d+(?:\.\d+)?|{'|'.join(_NUMBERS)}|a)(?: single)? (?P<unit>times?|seconds?))\b"
)


class Measures(Check):
    """Each text tells the counts, times and comparisons of the original, and no others.

    "Twice" is "two times", "softer" is "quieter". What is compared keeps its side of "than".

    Args:
        source: The item's field that holds the original.
    """

    name: ClassVar[str] = "measures"
    main: ClassVar[str] = "source"
    source: str = "caption"

    def fields(self) -> frozenset[str]:
        """The original."""
        return frozenset({self.source})

    def faults(self, case: Case) -> list[str]:
        """Measures that are lost, that are new, and comparisons that are turned round."""
        original = str(case.field(self.source))
        wanted = find_measures(original)
        found = []
        for text in self.select_texts(case):
            given = find_measures(text)
            lost, new = sorted((wanted - given).elements()), sorted((given - wanted).elements())
            if lost:
                found.append(f"{quote(text)} does not say {quote(lost[0])}; keep what is measured")
            elif new:
                found.append(f"{quote(text)} adds {quote(new[0])}; measure nothing else")
            elif wanted and not _compares_alike(text, original):
                found.append(f"{quote(text)} must compare the same two sounds, in the same order")
        return found


def find_measures(text: str) -> Counter[str]:
    """What a text counts, measures and compares, in words of its own kind: "2 times", "louder"."""
    found: Counter[str] = Counter()
    for match in _FOUND.finditer(text.casefold()):
        if match["said"]:
            found[_WORDS[match["said"]]] += 1
        elif match["times"]:
            found[f"{_TIMES[match['times']]} times"] += 1
        else:
            number = "1" if match["number"] == "a" else match["number"]
            if number in _NUMBERS:
                number = str(_NUMBERS.index(number) + 1)
            found[f"{float(number):g} {match['unit'].rstrip('s')}s"] += 1
    return found


def _compares_alike(text: str, original: str) -> bool:
    ours, theirs = (_split_at_than(each) for each in (text, original))
    if ours is None or theirs is None:
        return ours is theirs
    kept = [len(one & other) for one, other in zip(ours, theirs, strict=True)]
    turned = [len(one & other) for one, other in zip(ours, theirs[::-1], strict=True)]
    return sum(kept) > sum(turned)


def _split_at_than(text: str) -> tuple[frozenset[str], frozenset[str]] | None:
    first, than, second = text.casefold().partition(" than ")
    if not than:
        return None
    words, others = (frozenset(re.findall(r"\w+", each)) for each in (first, second))
    return words - others, others - words
