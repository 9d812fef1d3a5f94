"""The words of what is derived: several ways to put each kind, for any sound."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Final

from synth.base.errors import SceneError
from synth.base.shipped import read_shipped_rows
from synth.captions.caption import capitalise
from synth.captions.measuring import TIMES, say_seconds, say_value
from synth.derived.questions import (
    COMPARED,
    AskedKind,
    Subject,
    find_topic,
)
from synth.labels.lexicon import Phrase
from synth.scene.claim import Claim, Count, Measured, Quantity

_SLOT: Final = re.compile(r"\{([abc])\.(noun|definite|clause|gerund)\}")


@cache
def list_frames(about: str) -> Mapping[str, tuple[str, ...]]:
    """Ways to put each kind of `question`, `difference`, `edit` or `prompt`.

    No frame makes a sound the subject of a verb, as nouns come in the singular and in the plural:
    "do you hear bagpipes", "do you hear a bark". Frame k of a kind of difference and of its reverse
    are twins, so that a caption and its reverse differ in what they say and not in how.
    """
    frames: dict[str, tuple[str, ...]] = {}
    for row in read_shipped_rows("lexicons/tables/frames.csv"):
        if row["about"] == about:
            frames[row["kind"]] = (*frames.get(row["kind"], ()), row["frame"])
    return frames


def fill_frames(frames: Iterable[str], phrases: Iterable[Phrase]) -> list[str]:
    """Frames filled with what sounds are called, a capital at the head of each.

    Args:
        frames: With slots such as {a.noun}.
        phrases: Those of the sounds a, b and c.
    """
    by_slot = dict(zip("abc", phrases, strict=False))
    return [
        capitalise(_SLOT.sub(lambda slot: str(getattr(by_slot[slot[1]], slot[2])), frame))
        for frame in frames
    ]


def say_of(subject: Subject, frames: Iterable[str], named: Sequence[str]) -> list[str]:
    """Frames filled with the sounds of a sample.

    A whole caption is quoted as a noun and need not be a clause, so that where one is named the
    frames that ask for clauses are left out.
    """
    if not subject.sentences.isdisjoint(named):
        frames = (frame for frame in frames if ".clause}" not in frame)
    return fill_frames(frames, map(subject.phrase, named))


def wordings(kind: AskedKind, named: Sequence[str], subject: Subject) -> list[str]:
    """Every way to ask a question about the labels that it names, in the order of its claim."""
    return say_of(subject, list_frames("question")[kind], named)


def say_measured(claim: Claim, subject: Subject) -> str:
    """The answer that makes a claim on a measure: "twice", "for about two seconds", "louder"."""
    match claim, find_topic(claim):
        case Count(_, times), _:
            return TIMES[times - 1] if times <= len(TIMES) else f"{times} times"
        case Measured(), (kind, (more, *_)) if kind in COMPARED:
            return subject.phrase(more).noun
        case Measured(Quantity.DURATION, _, value), _:
            return f"for about {say_seconds(value, subject.rate)}"
        case Measured(Quantity.ONSET, _, value), _:
            return f"at about {say_seconds(value, subject.rate)}"
        case Measured(Quantity.GAP, _, value), _:
            return f"about {say_seconds(value, subject.rate)}" if value else "no pause at all"
        case Measured(), _:
            return say_value(claim, subject.rate)
    raise SceneError("not a claim on a measure", fix="ask about a count or a quantity")
