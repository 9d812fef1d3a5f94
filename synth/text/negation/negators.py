"""The words that deny: the negators we put in, and the denials that a caption holds already."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Final

import numpy as np

from synth.base.shipped import read_shipped_rows
from synth.labels.lexicon import Tag
from synth.scene.edit import EditKind
from synth.text.tags.tags import TagCategory, TagMatch, phrase_tag

LISTING: Final = "lexicons/negators.csv"
_CUE: Final = re.compile(
    r"(?i)\b(?:no|not|without|never|neither|nor|none|hardly|lack(?:s|ing)?|devoid of|free of"
    r"|absence of|sans|minus|instead of|rather than|anything but|cannot|[a-z]+n['’]t)\b(?!-)"  # noqa: RUF001
)
_HARMLESS: Final = re.compile(
    r"(?i)\b(?:not (?:only|just|to mention)|no (?:less|doubt|wonder)|without (?:a )?doubt)\b"
)
_SCOPE_END: Final = re.compile(
    r"(?i)[,.;:!?()]|\b(?:but|yet|while|although|though|however|which|that|only)\b"
)
_MARK: Final = re.compile(r"[,.;:!?()]|$")
_OR: Final = re.compile(r"(?i)\b(?:or|nor)\b")
_NO_LIST: Final = re.compile(
    r"(?i)\b(?:but|yet|while|although|though|however|which|that|only|with|without)\b"
)
_LONGEST_PART: Final = 6


@dataclass(frozen=True, slots=True)
class Negators:
    """The negators in use.

    Args:
        plain: Put before a tag as it stands (style `paper`).
        quality: Stand between "is" and an adjective: "not".
        thing: Stand before a thing: "without", "with no".
    """

    plain: tuple[str, ...]
    quality: tuple[str, ...]
    thing: tuple[str, ...]


@cache
def shipped_negators() -> Negators:
    """The negators that ship with the project."""
    slots: dict[str, list[str]] = defaultdict(list)
    for row in read_shipped_rows(LISTING):
        slots[row["slot"]].append(row["negator"])
    return Negators(*(tuple(slots[slot]) for slot in ("any", "quality", "thing")))


def find_denials(caption: str, tags: Sequence[TagMatch] = ()) -> tuple[range, ...]:
    """The characters that a caption denies already: from "no", "without" ... to where that ends.

    A denial reaches to the next mark or "but", and on through a list with "or". "not only" denies
    nothing, and a negator inside a tag is part of its name ("no wave").
    """
    denials: list[range] = []
    harmless = [match.start() for match in _HARMLESS.finditer(caption)]
    for cue in _CUE.finditer(caption):
        inside = any(tag.start <= cue.start() < tag.end for tag in tags)
        if not inside and cue.start() not in harmless:
            denials.append(range(cue.start(), _scope_end(caption, cue.end())))
    return tuple(denials)


def _scope_end(caption: str, at: int) -> int:
    while end := _SCOPE_END.search(caption, at):
        beyond = _list_end(caption, end.end()) if end.group() == "," else None
        if beyond is None:
            return end.start()
        at = beyond
    return len(caption)


def _list_end(caption: str, at: int) -> int | None:
    """Where "or" stands in the list that goes on behind a comma, None where none does."""
    while True:
        mark = _MARK.search(caption, at)
        part = caption[at : mark.start()] if mark else caption[at:]
        last = _OR.search(part)
        before_or = part[: last.start()] if last else part
        if len(before_or.split()) > _LONGEST_PART or _NO_LIST.search(before_or):
            return None
        if last:
            return at + last.end()
        if mark is None or mark.group() != ",":
            return None
        at = mark.end()


def is_denied(match: TagMatch, denials: Sequence[range]) -> bool:
    """Whether a tag stands where the caption denies it."""
    return any(match.start in denial for denial in denials)


# Short sentences that deny one tag, put into a caption.


SENTENCES: Final = "lexicons/denials.csv"


@cache
def _read_denials() -> Mapping[str, Sequence[str]]:
    """The sentences that deny, by what they deny."""
    denials: dict[str, list[str]] = defaultdict(list)
    for row in read_shipped_rows(SENTENCES):
        denials[row["slot"]].append(row["sentence"])
    return denials


def add_denial(caption: str, tag: Tag, negators: Negators, rng: np.random.Generator) -> str:
    """A short sentence behind the caption; a thing may also join a caption without stop."""
    phrase = phrase_tag(tag)
    thing = str(rng.choice(negators.thing))
    lacking = f"{thing} {phrase.words if thing.split()[-1] == 'no' else phrase.noun}"
    caption = caption.rstrip()
    is_open = bool(caption) and caption[-1] not in ".!?"
    if phrase.is_thing and is_open:
        return f"{caption}, {lacking}"
    slot = "thing" if phrase.is_thing else phrase.kind.value
    frames = _read_denials().get(slot) or _read_denials()[TagCategory.GENRE.value]
    sentence = str(rng.choice(frames)).format(
        words=phrase.words, lacking=lacking, quality=rng.choice(negators.quality)
    )
    return f"{caption}{'.' if is_open else ''} {sentence}".strip()


# What is asked of a caption that is to be negated, and what became of it.


class NegationExtent(StrEnum):
    """How much of a caption is negated."""

    INSERT = "insert"
    HALF = "half"
    FULL = "full"

    @property
    def edit(self) -> EditKind:
        """The edit that makes such a caption."""
        return EditKind(f"negate-{self.value}")


class NegationReason(StrEnum):
    """Why a caption has no negated version."""

    NO_TAG = "no tag"
    """None of the vocabulary's tags is in it."""
    UNSURE = "unsure"
    """No tag stands where it is surely one: "world" in "a whole new world"."""
    ALL_DENIED = "all denied"
    """It denies every one of its tags already."""
    NO_OTHER_TAG = "no other tag"
    """Every tag of the vocabulary is in it, or too near one that is."""
    ONE_TAG = "one tag"
    """Half of one tag is none: a caption states what else is heard."""
    GRAMMAR = "grammar"
    """Its tags stand where no edit is known to be English, or to leave what it says true."""
    DENIES = "denies"
    """It denies something itself, which may say what is to be denied: "instrumental, no voices"."""
    UNSAYABLE = "unsayable"
    """No words are known that deny one of its tags in a sentence."""
    IMPLIED = "implied"
    """Whatever half is denied, a tag that stays implies one of it: "techno" says "electronic"."""
    MARKUP = "markup"
    """It holds entities, addresses or file names, which no word may part."""
    MISREAD = "misread"
    """Wherever the negator is put, other tags are read than before: "no" before "wave"."""


class NegationOutcome(StrEnum):
    """What became of a caption."""

    NEGATED = "negated"
    """Edited in place."""
    RESTATED = "restated"
    """Told anew, as it says nothing but tags."""
    NONE = "none"
    """No negated version; `reason` says why."""


@dataclass(frozen=True, slots=True)
class Negated:
    """The answer for one caption.

    Args:
        text: The new caption, "" for none.
        denied: The tags that the text denies and the caption did not.
    """

    mode: NegationExtent
    outcome: NegationOutcome
    text: str = ""
    denied: tuple[Tag, ...] = ()
    kept: tuple[Tag, ...] = ()
    reason: str = ""
