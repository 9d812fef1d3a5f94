"""Asking: questions of all members of minimal-pair groups together, so that no text betrays.

The same question is asked of samples that answer it differently: yes of one and no of another, and
of two samples the same which-question with the same options in the same order. Yes and no are
equally frequent for every kind, and, but for groups of one sample, for every single text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations

import numpy as np

from synth.base.rng import Randomness
from synth.derived.questions.choosing import Choosing
from synth.derived.questions.measuring import ask_measured, count_telling
from synth.derived.questions.question import (
    ANCHORED,
    ENDS,
    MEASURED,
    NO,
    NUMBERS,
    YES,
    YES_NO,
    Question,
    QuestionKind,
    count_claim,
)
from synth.derived.questions.sheet import Sheet, group_members, shuffle
from synth.derived.questions.subject import Subject
from synth.derived.questions.wording import wordings
from synth.labels.lexicon import are_confusable
from synth.scene.claim import Not
from synth.scene.scene import Concat, Event, Overlay, Scene, labels


@dataclass(frozen=True)
class Asked:
    """Questions, and what could not be asked.

    Args:
        questions: Those of one sample next to each other, samples in the order they were given.
        unasked: For each kind, how many samples have no question of it; for measures, how many of
            those whose captions tell of them.
    """

    questions: tuple[Question, ...]
    unasked: Mapping[str, int]


def ask(subjects: Sequence[Subject], randomness: Randomness) -> Asked:
    """Questions about samples of one split.

    A sample gets at most one question of each kind, or two where the answer is yes or no: one of
    either. Absent sounds that are asked about, or offered as options, are sounds of the other
    samples, and never kin of what is heard.

    Args:
        subjects: Whole groups, such as all of a shard; a pure function of them and the seed.
        randomness: The source of all that is drawn.
    """
    if not subjects:
        return Asked((), dict.fromkeys((*YES_NO, *ENDS, *ANCHORED, QuestionKind.COUNT), 0))
    sheet = Sheet(subjects, randomness.at(f"questions/{subjects[0].id}", 0))
    alone = [members[0] for members in group_members(subjects) if len(members) == 1]
    for members in group_members(subjects):
        if len(members) > 1:
            for kind in (QuestionKind.ORDER, QuestionKind.TOGETHER):
                _ask_pairs(sheet, members, kind)
    for kind in (QuestionKind.ORDER, QuestionKind.TOGETHER):
        _ask_alone(sheet, alone, kind)
    _ask_presence(sheet)
    for kind in (*ENDS, *ANCHORED):
        Choosing(sheet, kind).ask()
    _ask_count(sheet)
    ask_measured(sheet)
    questions = sheet.questions()
    has = {(question.sample, question.kind) for question in questions}
    found = Counter(kind for _, kind in has)
    could = {kind: len(subjects) for kind in QuestionKind if kind not in MEASURED}
    could.update(count_telling(subjects))
    return Asked(questions, {kind.value: could[kind] - found[kind] for kind in could})


def _claims(sounds: Sequence[str], kind: QuestionKind, rng: np.random.Generator) -> list[Scene]:
    """What can be said of two of the sounds, in random order."""
    claims: list[Scene]
    if kind is QuestionKind.ORDER:
        claims = [Concat(Event(a), Event(b)) for a, b in permutations(sounds, 2)]
    else:
        pairs = [shuffle(pair, rng) for pair in combinations(sounds, 2)]
        claims = [Overlay(Event(a), Event(b)) for a, b in pairs]
    return shuffle(claims, rng)


def _ask_yes_no(sheet: Sheet, kind: QuestionKind, claim: Scene, answers: Mapping[int, str]) -> None:
    """The same text of all these samples."""
    speaker = sheet.subjects[next(iter(answers))]
    text = sheet.pick(wordings(kind, labels(claim), speaker))
    for index, answer in answers.items():
        sheet.add(index, kind, text, answer, (YES, NO), (claim, Not(claim)))


def _ask_pairs(sheet: Sheet, members: Sequence[int], kind: QuestionKind) -> None:
    """Questions about two sounds that one member answers with yes and another with no.

    Both hear both sounds, so that a no is about how they relate.
    """
    sounds = sheet.sounds(members)
    free = {YES: set(members), NO: set(members)}
    for claim in _claims(sounds, kind, sheet.rng):
        both = [i for i in members if all(sheet.has(i, label) for label in labels(claim))]
        yes = [i for i in both if i in free[YES] and sheet.subjects[i].proves(claim)]
        no = [i for i in both if i in free[NO] and sheet.subjects[i].refutes(claim)]
        for one, other in zip(shuffle(yes, sheet.rng), shuffle(no, sheet.rng), strict=False):
            _ask_yes_no(sheet, kind, claim, {one: YES, other: NO})
            free[YES].discard(one)
            free[NO].discard(other)


def _ask_alone(sheet: Sheet, alone: Sequence[int], kind: QuestionKind) -> None:
    """Questions about two sounds of samples that stand alone; as many yes as no over all."""
    found: dict[str, list[tuple[int, Scene]]] = {YES: [], NO: []}
    for index in shuffle(alone, sheet.rng):
        subject = sheet.subjects[index]
        sounds = [label for label in subject.sounds if sheet.has(index, label)]
        claims = _claims(sounds, kind, sheet.rng)
        for answer in sorted(found, key=lambda each: len(found[each])):
            holds = subject.proves if answer == YES else subject.refutes
            claim = next(filter(holds, claims), None)
            if claim is not None:
                found[answer].append((index, claim))
                break
    least = min(map(len, found.values()))
    for answer, pairs in found.items():
        for index, claim in pairs[:least]:
            _ask_yes_no(sheet, kind, claim, {index: answer})


def _ask_presence(sheet: Sheet) -> None:
    """Ask for a sound of one sample, and in the same words another that does not have it.

    The other is of the same group where it can be, else of any. What whole captions leave unsaid
    may be heard all the same: a sample that has one is asked nothing.
    """
    group = {i: members for members in group_members(sheet.subjects) for i in members}
    asking = [i for i, subject in enumerate(sheet.subjects) if not subject.sentences]
    free = dict.fromkeys(shuffle(asking, sheet.rng))
    for index in shuffle(asking, sheet.rng):
        sounds = [label for label in sheet.subjects[index].sounds if sheet.has(index, label)]
        for label in shuffle(sounds, sheet.rng):
            near = [i for i in group[index] if i in free]
            other = next(
                (i for i in (*near, *free) if sheet.subjects[i].refutes(Event(label))), None
            )
            if other is not None:
                _ask_yes_no(sheet, QuestionKind.PRESENCE, Event(label), {index: YES, other: NO})
                del free[other]
                break


def _ask_count(sheet: Sheet) -> None:
    """Each number of sounds as often as the others; nothing is asked where all have the same.

    Nor of sounds of which one could be called by the other's name: they may be counted as one.
    """
    found: dict[int, list[int]] = {}
    for index, subject in enumerate(sheet.subjects):
        sounds, places = subject.sounds, subject.heard.placements
        whole = len(sounds) == len(places) <= len(NUMBERS)
        whole = whole and not any(are_confusable(*pair) for pair in combinations(sounds, 2))
        if sounds and whole and subject.proves(count_claim(sounds)):
            found.setdefault(len(sounds), []).append(index)
    if len(found) < 2:
        return
    least = min(map(len, found.values()))
    for count in sorted(found):
        for index in shuffle(found[count], sheet.rng)[:least]:
            subject = sheet.subjects[index]
            options = tuple(NUMBERS[n - 1] for n in shuffle(sorted(found), sheet.rng))
            right = count_claim(subject.sounds)
            answer = NUMBERS[count - 1]
            claims = tuple(right if option == answer else Not(right) for option in options)
            text = sheet.pick(wordings(QuestionKind.COUNT, (), subject))
            sheet.add(index, QuestionKind.COUNT, text, answer, options, claims)
