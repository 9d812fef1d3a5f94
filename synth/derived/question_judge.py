"""The judge of questions: is the stored answer the only right one?

A question holds when the claim of its answer is proven and those of all other options are refuted,
so that the answer is the only right one however the words are read.
"""

from __future__ import annotations

from itertools import combinations

from synth.derived.questions import (
    MEASURED,
    NO,
    NUMBERS,
    YES,
    YES_NO,
    Question,
    QuestionKind,
    Subject,
    choice_claim,
    count_claim,
    question_labels,
)
from synth.derived.wording import is_worded
from synth.labels.lexicon import are_confusable
from synth.scene.claim import Not, claim_labels


def only_answer(subject: Subject, kind: QuestionKind, anchor: str | None) -> str | None:
    """The only right answer to a which-question, None where there is none or several might be.

    Of everything that is heard one sound must be proven to be meant, and all others not to be.
    """
    heard = subject.heard.labels()
    right: list[str] = []
    for label in sorted(heard - {anchor}):
        claim = choice_claim(kind, label, anchor, heard)
        if claim is None:
            return None
        if subject.proves(claim):
            right.append(label)
        elif not subject.refutes(claim):
            return None
    return right[0] if len(right) == 1 else None


def fault(question: Question, subject: Subject) -> str | None:
    """Why a stored question's answer is not the only right one; None where it is.

    It takes nothing on trust but the timeline: the text, the options, what they claim and, for a
    which-question, every other sound that is heard, are judged anew.
    """
    options, claims = question.options, question.claims
    if question.sample != subject.id:
        return f"it asks about {question.sample!r}"
    if len(set(options)) < len(options) or len(options) < 2 or len(claims) != len(options):
        return "expected two or more different options, and a claim for each"
    if question.answer not in options:
        return "the answer is none of the options"
    for option, claim in zip(options, claims, strict=True):
        if option == question.answer:
            if not subject.proves(claim):
                return f"the timeline does not prove {option!r}"
        elif not subject.refutes(claim):
            return f"the timeline does not refute {option!r}"
    if question.kind in YES_NO:
        why = _yes_no_fault(question)
    elif question.kind is QuestionKind.COUNT:
        why = _count_fault(question, subject)
    elif question.kind in MEASURED:
        why = _measured_fault(question)
    else:
        why = _choice_fault(question, subject)
    if why is None and not is_worded(question, subject):
        return "its words do not ask what it claims"
    return why


def _yes_no_fault(question: Question) -> str | None:
    if set(question.options) != {YES, NO}:
        return "expected the options yes and no"
    claimed = dict(zip(question.options, question.claims, strict=True))
    if claimed[NO] != Not(claimed[YES]):
        return "no must claim that yes is false"
    if question_labels(question) is None:
        return f"its claim is none of kind {question.kind.value!r}"
    return None


def _measured_fault(question: Question) -> str | None:
    if question_labels(question) is None:
        return f"its claims are not all on one measure of kind {question.kind.value!r}"
    return None


def _count_fault(question: Question, subject: Subject) -> str | None:
    if not set(question.options) <= set(NUMBERS):
        return "expected numbers as options"
    right = count_claim(subject.heard.labels())
    for option, claim in zip(question.options, question.claims, strict=True):
        if claim != (right if option == question.answer else Not(right)):
            return f"{option!r} does not claim what is heard"
    count = len(claim_labels(right))
    if question.answer not in NUMBERS[count - 1 : count]:
        return "the answer is not the number of sounds"
    if len(subject.heard.placements) > count:
        return "a sound is heard more than once, and may be counted twice"
    if any(are_confusable(*pair) for pair in combinations(sorted(claim_labels(right)), 2)):
        return "two sounds of which one could be called by the other's name may be counted as one"
    return None


def _choice_fault(question: Question, subject: Subject) -> str | None:
    named = question_labels(question)
    if named is None:
        return f"its claims are none of kind {question.kind.value!r}"
    anchor, candidates = named
    heard = subject.heard.labels()
    for candidate, claim in zip(candidates, question.claims, strict=True):
        if claim != choice_claim(question.kind, candidate, anchor, heard):
            return f"the claim of {candidate!r} leaves out a sound that is heard"
    right = candidates[question.options.index(question.answer)]
    if only_answer(subject, question.kind, anchor) != right:
        return "another sound that is heard may be the answer as well"
    return None
