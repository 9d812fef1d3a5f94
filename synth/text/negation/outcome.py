"""What is asked of a caption that is to be negated, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from synth.labels.tag import Tag


class NegationExtent(StrEnum):
    """How much of a caption is negated."""

    INSERT = "insert"
    HALF = "half"
    FULL = "full"


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
    """Told anew from its tags, as no safe edit is known."""
    NONE = "none"
    """No negated version; `reason` says why."""


@dataclass(frozen=True, slots=True)
class Negated:
    """The answer for one caption.

    Args:
        mode: What was asked.
        outcome: What became of it.
        text: The new caption, "" for none.
        denied: The tags that the text denies and the caption did not.
        kept: The tags that both say are there.
        reason: Why there is none; for a restated caption "grammar".
        detail: The tag that was the reason, "" for none.
    """

    mode: NegationExtent
    outcome: NegationOutcome
    text: str = ""
    denied: tuple[Tag, ...] = ()
    kept: tuple[Tag, ...] = ()
    reason: str = ""
    detail: str = ""
