"""Captions: a claim about two sounds put into words, as the papers print it or as people write.

`narrative` puts larger claims into words.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum
from functools import cache
from typing import Final, NamedTuple, TypeAlias

from synth.base.errors import SpecError, shorten
from synth.base.shipped import read_shipped_rows
from synth.labels.connective import Connective
from synth.labels.lexicon import Phrase
from synth.scene.claim import Claim
from synth.scene.scene import Concat, Event, Overlay


class Style(StrEnum):
    """`paper`: as printed in the papers. `natural`: as a person would write it."""

    PAPER = "paper"
    NATURAL = "natural"


NUMBERS: Final = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
"""The words for 1 to 10."""


class Author(StrEnum):
    """Who words captions."""

    RULE = "rule"
    """Segue."""
    SOURCE = "source"
    """The sound library."""
    MODEL = "llm"
    """A language model."""

    def wrote(self, provenance: str) -> bool:
        """Whether a caption is of this author, by its provenance as it is written."""
        return provenance.startswith(f"{self.value}:")


@dataclass(frozen=True, slots=True)
class Provenance:
    """How a caption came about: the `generator` of manifests and shards, `rule:pair/natural/0`.

    Args:
        steps: The rule and its variants, or the prompt and the model, with slashes between.
    """

    author: Author
    steps: str

    def __str__(self) -> str:
        return f"{self.author.value}:{self.steps}"

    def add(self, step: str) -> Provenance:
        """The same with a step more."""
        return replace(self, steps=f"{self.steps}/{step}")

    @classmethod
    def of_rule(cls, *steps: object) -> Provenance:
        """That of a sentence of a rule."""
        return cls(Author.RULE, "/".join(map(str, steps)))

    @classmethod
    def of_model(cls, prompt: str, version: int | str, model: str) -> Provenance:
        """That of a text that a language model wrote."""
        return cls(Author.MODEL, f"{prompt}@{version}/{model}")

    @classmethod
    def parse(cls, text: str) -> Provenance:
        """The provenance that `str` wrote."""
        author, _, steps = text.partition(":")
        if author not in tuple(Author):
            raise SpecError(
                f"not the provenance of a caption: {shorten(text)}",
                fix=f"expected one of {', '.join(Author)}, a colon, and how",
            )
        return cls(Author(author), steps)


@dataclass(frozen=True, slots=True)
class Caption:
    """A text, the claim it makes and how it came about.

    Args:
        connective: The relating word it uses, "" for none.
        edit: Of a false sentence: what is changed in it, an `EditKind` or another enumeration; None
            for a true one.
    """

    text: str
    claim: Claim
    connective: str
    provenance: Provenance
    edit: StrEnum | None = None

    def as_false(self, edit: StrEnum) -> Caption:
        """The same sentence where it is false."""
        return Caption(self.text, self.claim, self.connective, self.provenance, edit)


Pair: TypeAlias = Concat | Overlay
Phrases: TypeAlias = Callable[[str], Phrase]

WORDINGS: Final = "lexicons/wordings.csv"
_BARE: Final = re.compile(r"\{(?![ab]\.(?:plain|clause|gerund)\})")
"""A slot that not every caption of a library can fill."""


class Fit(IntEnum):
    """Where a text may stand; each fits where those before it do.

    `alone`: as a caption. `opening`: before other sentences. `sentence`: behind "then", too.
    `clause`: in another sentence.
    """

    ALONE = 0
    OPENING = 1
    SENTENCE = 2
    CLAUSE = 3


class Frame(NamedTuple):
    """A way to say something, with slots for what is told."""

    connective: Connective | None
    fit: Fit
    text: str


@cache
def _read_wordings() -> Mapping[tuple[str, Style], tuple[Frame, ...]]:
    """The table of wordings, whose columns `narrative` explains."""
    frames: dict[tuple[str, Style], tuple[Frame, ...]] = {}
    for row in read_shipped_rows(WORDINGS):
        key = row["says"], Style(row["style"])
        word = Connective(row["connective"]) if row["connective"] else None
        frame = Frame(word, Fit[row["fit"].upper()], row["frame"])
        frames[key] = (*frames.get(key, ()), frame)
    return frames


def read_frames(says: str, style: Style) -> Sequence[Frame]:
    """The ways to say one thing in a style."""
    return _read_wordings()[says, style]


@cache
def _list_joins(style: Style, connective: Connective) -> Sequence[str]:
    """The frames of a pair that any two captions fill.

    {a} is heard first and {b} last (or both together). Frame k of before, after and while are
    twins: exchanging the word, or the two sounds, leaves all else as it was.
    """
    says = "order" if connective.is_order else "together"
    return [
        frame.text
        for frame in read_frames(says, style)
        if frame.connective is connective and not _BARE.search(frame.text)
    ]


def frames(style: Style) -> int:
    """How many sentence frames a style has for every connective."""
    return min(len(_list_joins(style, connective)) for connective in Connective)


def realize(
    claim: Pair, connective: Connective, phrases: Phrases, style: Style, frame: int = 0
) -> str:
    """The sentence that makes `claim` with `connective`.

    Args:
        claim: A concatenation or an overlay of two events.
        connective: A word of order for a concatenation, of simultaneity for an overlay.
        style: `paper` puts the connective between the labels; `natural` writes a sentence.
        frame: Which sentence frame to use, from 0 to `frames(style) - 1`.
    """
    clause = relate(claim, connective, phrases, style, frame)
    return clause if style is Style.PAPER else capitalise(clause)


def relate(
    claim: Pair, connective: Connective, phrases: Phrases, style: Style, frame: int = 0
) -> str:
    """The same as `realize`, as a part of a longer sentence: no capital at its head."""
    if connective.is_order is not isinstance(claim, Concat):
        pair = "sequence" if isinstance(claim, Concat) else "overlay"
        raise ValueError(f"{connective.value!r} cannot say {pair}")
    if not (isinstance(claim.first, Event) and isinstance(claim.second, Event)):
        raise ValueError("only a pair of events can be put into one simple sentence")
    a, b = phrases(claim.first.label), phrases(claim.second.label)
    return _list_joins(style, connective)[frame].format(a=a, b=b)


def capitalise(sentence: str) -> str:
    """The sentence with a capital at its head, all else as it was."""
    return sentence[:1].upper() + sentence[1:]
