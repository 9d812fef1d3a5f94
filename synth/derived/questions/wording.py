"""The words of questions: several ways to put each kind, for any sound and either number.

No frame makes a sound the subject of a verb, as nouns come in the singular and in the plural: "do
you hear bagpipes", "do you hear a bark".
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from synth.captions.caption import capitalise
from synth.derived.questions.question import YES_NO, Question, QuestionKind, question_labels
from synth.derived.questions.subject import Subject

_SLOT: Final = re.compile(r"\{(?P<sound>[abc])\.(?P<form>noun|clause)\}")

FRAMES: Final[Mapping[QuestionKind, tuple[str, ...]]] = {
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
}


def sayings(frames: Iterable[str], named: Mapping[str, str], subject: Subject) -> list[str]:
    """Frames filled with what sounds are called, a capital at the head of each.

    A whole caption is quoted as a noun and need not be a clause, so that where one is named the
    frames that ask for clauses are left out.

    Args:
        frames: With slots such as {a.noun}.
        named: Labels by slot.
        subject: Knows how its labels are said.
    """
    said = {slot: subject.phrase(label) for slot, label in named.items()}
    quoting = any(label in subject.sentences for label in named.values())
    return [
        capitalise(_SLOT.sub(lambda slot: str(getattr(said[slot["sound"]], slot["form"])), frame))
        for frame in frames
        if not (quoting and ".clause}" in frame)
    ]


def wordings(kind: QuestionKind, named: Iterable[str], subject: Subject) -> list[str]:
    """Every way to ask a question about the labels that it names, in the order of its claim."""
    return sayings(FRAMES[kind], dict(zip("ab", named, strict=False)), subject)


def is_worded(question: Question, subject: Subject) -> bool:
    """Whether a stored question's text asks for, and its options name, what it claims."""
    about = question_labels(question)
    if about is None:
        return False
    anchor, labels = about
    if question.kind in YES_NO:
        return question.text in wordings(question.kind, labels, subject)
    named = () if anchor is None else (anchor,)
    if question.text not in wordings(question.kind, named, subject):
        return False
    said = tuple(subject.phrase(label).noun for label in labels)
    return question.kind is QuestionKind.COUNT or question.options == said
