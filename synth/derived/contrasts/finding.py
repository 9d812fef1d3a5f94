"""Finding contrasts: prompts to which two samples of a group give different answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from itertools import combinations
from typing import Final

import numpy as np

from synth.base.rng import Randomness
from synth.derived.contrasts.exchange import DESCRIBE, DIFFERENCE, WHICH, Contrast, Exchange
from synth.derived.contrasts.wording import (
    COMPARING,
    DESCRIBING,
    FIRST,
    SECOND,
    ask_which,
    put_question,
)
from synth.derived.differences.difference import Difference, find_differences
from synth.derived.questions.asking import ask
from synth.derived.questions.question import MEASURED, NO, YES, Question, QuestionKind
from synth.derived.questions.sheet import group_members, pick, shuffle
from synth.derived.questions.subject import Subject, TrueSentence
from synth.derived.questions.wording import wordings
from synth.scene.claim import Not
from synth.scene.scene import Concat, Event, Overlay, labels

_RELATED: Final = (QuestionKind.ORDER, QuestionKind.TOGETHER)
_SHARED: Final = (QuestionKind.PRESENCE, QuestionKind.COUNT)
"""Kinds of which groups lend one another answers."""


@dataclass(frozen=True)
class FoundContrasts:
    """Contrasts, and what gave none.

    Args:
        contrasts: Those of one kind after the other.
        left_out: By kind: questions that no other sample answers differently; pairs of samples of
            one group of which no two captions, or no difference, are proven and refuted.
    """

    contrasts: tuple[Contrast, ...]
    left_out: Mapping[str, int]


def find_contrasts(
    subjects: Sequence[Subject], randomness: Randomness, *, one_way: bool = False
) -> FoundContrasts:
    """Every contrast of some samples.

    Both sides get the same prompt, and each answer is right of one side and wrong of the other: no
    text tells which. Sides are of one group, but for the presence and the number of sounds, where
    groups without an answer of each kind lend one another.

    Args:
        subjects: Whole groups of one split; a pure function of them and the seed.
        randomness: The source of all that is drawn.
        one_way: Ask a whole group in the same words, as conversations with a common beginning do;
            a sample may then be asked the same twice.
    """
    if not subjects:
        return FoundContrasts((), {})
    rng = randomness.at(f"contrasts/{subjects[0].id}", 0)
    left_out: Counter[str] = Counter()
    found = []
    for group in group_members(subjects):
        for pair in combinations(group, 2):
            one, other = (subjects[i] for i in shuffle(pair, rng))
            sentences = _find_captions(one, other, rng)
            if sentences is None:
                left_out.update((DESCRIBE, WHICH))
            else:
                found.append(_describe(one, other, sentences, rng))
                found.append(_ask_which(one, other, sentences, rng))
    pairs, unpaired = _pair_questions(
        ask(subjects, randomness).questions, subjects, rng, one_way=one_way
    )
    found += [_put(one, other, is_open, rng) for one, other, is_open in pairs]
    left_out.update(question.kind.value for question in unpaired)
    told = find_differences(subjects, randomness)
    found += [_tell_difference(difference, rng) for difference in told.differences]
    left_out[DIFFERENCE] += told.untold
    return FoundContrasts(tuple(found), +left_out)


def _find_captions(
    one: Subject, other: Subject, rng: np.random.Generator
) -> tuple[TrueSentence, TrueSentence] | None:
    """A true caption of each that is false of the other; of all such those most alike in words."""
    mine = [each for each in one.told if other.refutes(each.claim) and one.proves(each.claim)]
    theirs = [each for each in other.told if one.refutes(each.claim) and other.proves(each.claim)]
    pairs = shuffle([(a, b) for a in mine for b in theirs], rng)
    return max(pairs, key=lambda pair: _measure_likeness(*pair), default=None)


def _measure_likeness(one: TrueSentence, other: TrueSentence) -> float:
    words = one.text.lower().split(), other.text.lower().split()
    return SequenceMatcher(None, *words, autojunk=False).ratio()


def _describe(
    one: Subject, other: Subject, said: tuple[TrueSentence, TrueSentence], rng: np.random.Generator
) -> Contrast:
    prompt = pick(DESCRIBING, rng)
    (a, mine), (b, theirs) = said
    return (
        Exchange(DESCRIBE, prompt, (one.id,), a, (mine,), b, (theirs,), (other.id,)),
        Exchange(DESCRIBE, prompt, (other.id,), b, (theirs,), a, (mine,), (one.id,)),
    )


def _ask_which(
    one: Subject, other: Subject, said: tuple[TrueSentence, TrueSentence], rng: np.random.Generator
) -> Contrast:
    """Which of two recordings a caption of the first fits, and in the opposite order."""
    text, claim = said[0]
    prompt = pick(ask_which(text), rng)
    order = one.id, other.id
    of_first, of_second = (claim, Not(claim)), (Not(claim), claim)
    return (
        Exchange(WHICH, prompt, order, FIRST, of_first, SECOND, of_second, order[::-1]),
        Exchange(WHICH, prompt, order[::-1], SECOND, of_second, FIRST, of_first, order),
    )


def _tell_difference(told: Difference, rng: np.random.Generator) -> Contrast:
    prompt = pick(COMPARING, rng)
    order, claims = (told.first, told.second), told.claims
    caption, reverse = told.caption, told.reverse_caption
    return (
        Exchange(DIFFERENCE, prompt, order, caption, claims, reverse, claims[::-1], order[::-1]),
        Exchange(DIFFERENCE, prompt, order[::-1], reverse, claims[::-1], caption, claims, order),
    )


def _pair_questions(
    questions: Sequence[Question],
    subjects: Sequence[Subject],
    rng: np.random.Generator,
    *,
    one_way: bool,
) -> tuple[list[tuple[Question, Question, bool]], list[Question]]:
    """Questions that are answered differently, two and two, and those without a partner.

    Each has one partner, but for order and company, which are asked of the whole group, and for
    measures, of which each answer stands against each. Of a pair is told whether it may be put
    without its options: two such pairs would be put alike.
    """
    groups = {subject.id: subject.group for subject in subjects}
    members: dict[str, list[Subject]] = {}
    for subject in subjects:
        members.setdefault(subject.group, []).append(subject)
    by_group: dict[Hashable, list[Question]] = {}
    for question in questions:
        key = (groups[question.sample], *_find_key(question))
        by_group.setdefault(key, []).append(question)
    pairs: list[tuple[Question, Question, bool]] = []
    alone: list[Question] = []
    for bucket in by_group.values():
        group = members[groups[bucket[0].sample]]
        if bucket[0].kind in MEASURED:
            pairs += [(*pair, len(bucket) == 2) for pair in combinations(bucket, 2)]
        elif bucket[0].kind in _RELATED and len(group) > 1:
            pairs += [(*pair, True) for pair in _ask_all(bucket[0], group, rng, one_way)]
        else:
            matched, single = _match(bucket)
            pairs += [(*pair, True) for pair in matched]
            alone += single
    shared: dict[Hashable, list[Question]] = {}
    for question in alone:
        if question.kind in _SHARED:
            shared.setdefault(_find_key(question), []).append(question)
    rest = [question for question in alone if question.kind not in _SHARED]
    for bucket in shared.values():
        matched, single = _match(bucket)
        pairs += [(*pair, True) for pair in matched]
        rest += single
    return pairs, rest


def _find_key(question: Question) -> tuple[Hashable, ...]:
    """Equal for questions that ask the same."""
    if question.kind is QuestionKind.COUNT:
        return (question.kind,)
    if question.kind in _RELATED:
        return question.kind, question.claims[question.options.index(YES)]
    return question.kind, question.text, question.options


def _ask_all(
    question: Question, group: Sequence[Subject], rng: np.random.Generator, one_way: bool
) -> list[tuple[Question, Question]]:
    """A question of yes or no to every member that hears its sounds, in several ways or one."""
    claim = question.claims[question.options.index(YES)]
    named = labels(claim) if isinstance(claim, Event | Concat | Overlay) else ()
    heard = [each for each in group if all(each.has(label) for label in named)]
    yes = [each for each in heard if each.proves(claim)]
    no = [each for each in heard if each.refutes(claim)]
    ways = shuffle(wordings(question.kind, named, heard[0]), rng)[: 1 if one_way else None]
    asked = replace(question, options=(YES, NO), claims=(claim, Not(claim)))
    return [
        (
            replace(asked, sample=yes[at % len(yes)].id, text=ways[at % len(ways)], answer=YES),
            replace(asked, sample=no[at % len(no)].id, text=ways[at % len(ways)], answer=NO),
        )
        for at in range(max(len(yes), len(no)))
    ]


def _match(bucket: Sequence[Question]) -> tuple[list[tuple[Question, Question]], list[Question]]:
    """Each question with the first free one behind it that has another answer."""
    pairs: list[tuple[Question, Question]] = []
    free = list(bucket)
    rest: list[Question] = []
    while free:
        one = free.pop(0)
        at = next((i for i, each in enumerate(free) if each.answer != one.answer), None)
        if at is None:
            rest.append(one)
        else:
            pairs.append((one, free.pop(at)))
    return pairs, rest


def _put(one: Question, other: Question, is_open: bool, rng: np.random.Generator) -> Contrast:
    ways = put_question(one.kind, one.text, (one.answer, other.answer))
    prompt = pick(ways if is_open or len(ways) == 1 else ways[1:], rng)
    first, second = _answer(one, other, prompt), _answer(other, one, prompt)
    return first, second


def _answer(one: Question, other: Question, prompt: str) -> Exchange:
    claimed = dict(zip(one.options, one.claims, strict=True))
    return Exchange(
        one.kind.value,
        prompt,
        (one.sample,),
        one.answer,
        (claimed[one.answer],),
        other.answer,
        (claimed[other.answer],),
        (other.sample,),
    )
