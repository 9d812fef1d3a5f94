"""The words of questions: several ways to put each kind, for any sound and either number.

No frame makes a sound the subject of a verb, as nouns come in the singular and in the plural: "do
you hear bagpipes", "do you hear a bark".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from synth.base.errors import SceneError
from synth.captions.caption import capitalise
from synth.captions.measuring import TIMES, say_seconds, say_value
from synth.derived.questions import (
    COMPARED,
    AskedKind,
    QuestionKind,
    Subject,
    find_topic,
)
from synth.labels.lexicon import Phrase
from synth.scene.claim import Claim, Count, Measured, Quantity

_AGAIN: Final = (
    "How do you hear {a.noun} the second time, compared with the first?",
    "You hear {a.noun} twice: how do you hear the second one, compared with the first?",
)
_SLOT: Final = re.compile(r"\{([abc])\.(noun|definite|clause|gerund)\}")

FRAMES: Final[Mapping[AskedKind, tuple[str, ...]]] = {
    QuestionKind.ORDER: (
        "Do you hear {a.noun} before {b.noun}?",
        "Do you hear {b.noun} after {a.noun}?",
        "Do you first hear {a.noun} and then {b.noun}?",
        "Is it true that {a.clause} before {b.clause}?",
        "Is it true that {b.clause} after {a.clause}?",
    ),
    QuestionKind.TOGETHER: (
        "Do you hear {a.noun} and {b.noun} at the same time?",
        "Do you hear {a.noun} together with {b.noun}?",
        "Are {a.noun} and {b.noun} heard at the same time?",
        "Is it true that {a.clause} while {b.clause}?",
    ),
    QuestionKind.PRESENCE: (
        "Can you hear {a.noun}?",
        "Do you hear {a.noun} at any point?",
        "Does the recording contain {a.noun}?",
        "Is it true that {a.clause} in this recording?",
    ),
    QuestionKind.FIRST: (
        "Which sound is heard first?",
        "Which of these sounds do you hear first?",
        "What is the first sound in the recording?",
        "Which sound does the recording start with?",
    ),
    QuestionKind.LAST: (
        "Which sound is heard last?",
        "Which of these sounds do you hear last?",
        "What is the last sound in the recording?",
        "Which sound does the recording end with?",
    ),
    QuestionKind.AFTER: (
        "What do you hear after {a.noun}?",
        "Which sound comes after {a.noun}?",
        "Which sound follows {a.noun}?",
        "What is heard after {a.clause}?",
    ),
    QuestionKind.BEFORE: (
        "What do you hear before {a.noun}?",
        "Which sound comes before {a.noun}?",
        "Which sound precedes {a.noun}?",
        "What is heard before {a.clause}?",
    ),
    QuestionKind.WITH: (
        "What do you hear together with {a.noun}?",
        "Which sound is heard at the same time as {a.noun}?",
        "Which sound accompanies {a.noun}?",
        "What is heard while {a.clause}?",
    ),
    QuestionKind.COUNT: (
        "How many different sounds do you hear?",
        "How many different sounds are there in the recording?",
        "How many different sounds does the recording contain?",
    ),
    QuestionKind.TIMES: (
        "How often do you hear {a.noun}?",
        "How many times do you hear {a.noun}?",
        "How often can you hear {a.noun}?",
    ),
    Quantity.DURATION: (
        "How long do you hear {a.noun}?",
        "For how long can you hear {a.noun}?",
        "For how many seconds do you hear {a.noun}?",
    ),
    Quantity.ONSET: (
        "When do you first hear {a.noun}?",
        "At what time do you begin to hear {a.noun}?",
        "At which second do you first hear {a.noun}?",
    ),
    Quantity.POSITION: (
        "In which part of the recording do you hear {a.noun}?",
        "Where in the recording do you hear {a.noun}?",
        "Where in the recording does it happen that {a.clause}?",
    ),
    Quantity.TREND: (
        "Do you hear {a.noun} get louder or quieter?",
        "While {a.clause}, does the sound get louder or quieter?",
    ),
    Quantity.GAP: (
        "How long is the pause between {a.noun} and {b.noun}?",
        "How long a pause do you hear between {a.noun} and {b.noun}?",
        "First you hear {a.noun}, then {b.noun}. How long is the pause between them?",
    ),
    Quantity.LONGER: (
        "Which sound lasts longer, {a.noun} or {b.noun}?",
        "Which do you hear for a longer time, {a.noun} or {b.noun}?",
    ),
    Quantity.LOUDER: (
        "Which sound is louder, {a.noun} or {b.noun}?",
        "Which of the two is louder, {a.noun} or {b.noun}?",
    ),
    Quantity.AGAIN_LOUDER: _AGAIN,
    Quantity.AGAIN_FARTHER: _AGAIN,
    Quantity.AGAIN_ROOMIER: _AGAIN,
    Quantity.AGAIN_HIGHER: _AGAIN,
    Quantity.AGAIN_FASTER: _AGAIN,
}


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
    return say_of(subject, FRAMES[kind], named)


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
