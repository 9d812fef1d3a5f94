"""Questions about measures: how often, how long, when, how loud, and how else the second time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from synth.derived.questions.question import COMPARED, MEASURED, QuestionKind, find_topic
from synth.derived.questions.sheet import Sheet, group_members, shuffle
from synth.derived.questions.subject import Subject
from synth.derived.questions.wording import say_measured, wordings
from synth.scene.claim import Claim, Measured, Quantity, parts_of
from synth.scene.scene import Event

Topic: TypeAlias = tuple[QuestionKind, tuple[str, ...]]


def ask_measured(sheet: Sheet) -> None:
    """Ask members of a group the same about a measure, one for each different answer.

    What is asked, and the values that are offered, are those that the captions of the group tell.
    A sample gets at most one question of each kind.
    """
    for members in group_members(sheet.subjects):
        asked: set[tuple[int, QuestionKind]] = set()
        for topic, claims in _find_topics(sheet, members).items():
            free = [index for index in members if (index, topic[0]) not in asked]
            answers = _find_answers(sheet, free, claims)
            if len(answers) > 1:
                _put(sheet, topic, answers)
                asked.update((index, topic[0]) for index in answers.values())


def count_telling(subjects: Sequence[Subject]) -> Mapping[QuestionKind, int]:
    """Of how many samples the captions tell something of each kind; kinds without any are left out.

    Only measures are counted, which few recipes tell.
    """
    found = Counter(
        kind for subject in subjects for kind in {topic[0] for topic, _ in _tell(subject)}
    )
    return {kind: found[kind] for kind in MEASURED if kind in found}


def _tell(subject: Subject) -> Iterator[tuple[Topic, Claim]]:
    """What the true captions of a sample tell of measures; comparisons by the sound with more."""
    for sentence in subject.told:
        for claim in parts_of(sentence.claim):
            topic = find_topic(claim)
            if topic is None:
                continue
            kind, named = topic
            if kind in COMPARED:
                claim = _has_more(kind, *named)
                named = tuple(sorted(named))
            yield (kind, named), claim


def _find_topics(sheet: Sheet, members: Sequence[int]) -> dict[Topic, list[Claim]]:
    """The claims of a group by what they are about, in random order."""
    found: dict[Topic, list[Claim]] = {}
    for index in members:
        for topic, claim in _tell(sheet.subjects[index]):
            its = found.setdefault(topic, [])
            if claim not in its:
                its.append(claim)
    return {topic: found[topic] for topic in shuffle(list(found), sheet.rng)}


def _find_answers(
    sheet: Sheet, members: Sequence[int], claims: Sequence[Claim]
) -> dict[Claim, int]:
    """By claim, in random order, a member of which it is proven and all others are refuted."""
    answers: dict[Claim, int] = {}
    for index in shuffle(members, sheet.rng):
        subject = sheet.subjects[index]
        right = [claim for claim in claims if not subject.refutes(claim)]
        if len(right) == 1 and subject.proves(right[0]):
            answers.setdefault(right[0], index)
    return answers


def _put(sheet: Sheet, topic: Topic, answers: Mapping[Claim, int]) -> None:
    kind, named = topic
    claims = tuple(answers)
    if kind in COMPARED:
        found = find_topic(claims[0])
        named = found[1] if found else named
    speaker = sheet.subjects[answers[claims[0]]]
    ways = wordings(kind, named, speaker)
    said = tuple(say_measured(claim, speaker) for claim in claims)
    if not ways or len(set(said)) < len(said):
        return
    text = sheet.pick(ways)
    for claim, index in answers.items():
        sheet.add(index, kind, text, say_measured(claim, speaker), said, claims)


def _has_more(kind: QuestionKind, more: str, less: str) -> Claim:
    return Measured(Quantity(kind.value), (Event(more), Event(less)), 1)
