"""Asking: questions of all members of minimal-pair groups together, so that no text betrays.

The same question is asked of samples that answer it differently: yes of one and no of another, and
of two samples the same which-question with the same options in the same order. Yes and no are
equally frequent for every kind, and, but for groups of one sample, for every single text.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations, permutations
from typing import Final, TypeAlias

import numpy as np

from synth.base.rng import Randomness, pick, shuffle
from synth.derived.questions import (
    ANCHORED,
    ASKED_KINDS,
    COMPARED,
    ENDS,
    MEASURED,
    NO,
    NUMBERS,
    YES,
    YES_NO,
    AskedKind,
    Derived,
    Question,
    QuestionKind,
    Subject,
    choice_claim,
    count_claim,
    find_topic,
    group_members,
)
from synth.derived.wording import say_measured, wordings
from synth.labels.lexicon import are_confusable, are_kin
from synth.scene.claim import Claim, Measured, Not, Quantity, parts_of
from synth.scene.scene import Concat, Event, Overlay, Scene, labels

# The sheet on which the questions of one batch of samples are collected.


@dataclass
class Sheet:
    """Questions in the making."""

    subjects: Sequence[Subject]
    rng: np.random.Generator
    _drafts: dict[int, list[Question]] = field(default_factory=dict)
    _had: dict[tuple[int, str], bool] = field(default_factory=dict)

    def has(self, index: int, label: str) -> bool:
        """`Subject.has`, judged once."""
        key = index, label
        if key not in self._had:
            self._had[key] = self.subjects[index].has(label)
        return self._had[key]

    def sounds(self, members: Iterable[int]) -> list[str]:
        """The sounds of some of the samples, each once."""
        return list(dict.fromkeys(label for i in members for label in self.subjects[i].sounds))

    def add(
        self,
        index: int,
        kind: AskedKind,
        text: str,
        answer: str,
        options: Mapping[str, Claim],
    ) -> None:
        """Note a question about the sample at `index`."""
        question = Question("", self.subjects[index].id, text, answer, kind, options)
        self._drafts.setdefault(index, []).append(question)

    def questions(self) -> tuple[Question, ...]:
        """All questions, sample by sample, numbered within each by kind."""
        return tuple(
            replace(draft, id=f"{draft.sample}-q{number:02d}")
            for _, drafts in sorted(self._drafts.items())
            for number, draft in enumerate(
                sorted(drafts, key=lambda draft: ASKED_KINDS.index(draft.kind))
            )
        )


# Which-questions with options: one is proven, all others refuted.


Answers: TypeAlias = dict[str | None, dict[int, str]]
"""By anchor: answers by position of the sample."""

OPTIONS: Final = 4
_DRAWS: Final = 40


@dataclass(frozen=True)
class Choosing:
    """Puts which-questions of one kind on a sheet.

    Absent sounds are offered as often as they are the answer to other questions of the kind, so
    that how often a sound is offered does not tell how often it is right.
    """

    sheet: Sheet
    kind: QuestionKind

    def ask(self) -> None:
        """At most one question of the kind of each sample.

        Two members of a group that answer differently are asked the same, with the same options in
        the same order; one that finds no such partner is asked alone.
        """
        groups = [self._answers(members) for members in group_members(self.sheet.subjects)]
        pool = [
            answer
            for group in groups
            for answers in group.values()
            for index, answer in answers.items()
            if answer not in self.sheet.subjects[index].sentences
        ]
        for group in groups:
            self._ask_group(group, pool)

    def _ask_group(self, group: Answers, pool: Sequence[str]) -> None:
        free = {index for answers in group.values() for index in answers}
        for anchor, answers in group.items():
            for one, other in combinations(shuffle(sorted(answers), self.sheet.rng), 2):
                if {one, other} <= free and answers[one] != answers[other]:
                    pair = {one: answers[one], other: answers[other]}
                    if self._put(anchor, pair, pool):
                        free -= {one, other}
        for anchor, answers in group.items():
            for index in sorted(free & set(answers)):
                if self._put(anchor, {index: answers[index]}, pool):
                    free.discard(index)

    def _answers(self, members: Sequence[int]) -> Answers:
        """By anchor, in random order, the only right answers of the members that have one."""
        sounds = self.sheet.sounds(members)
        anchors = [None] if self.kind in ENDS else shuffle(sounds, self.sheet.rng)
        return {anchor: self._right(members, anchor) for anchor in anchors}

    def _right(self, members: Sequence[int], anchor: str | None) -> dict[int, str]:
        """The only right answer of each member that has one which can be named."""
        answers: dict[int, str] = {}
        for index in members:
            if anchor is not None and not self.sheet.has(index, anchor):
                continue
            answer = find_only_answer(self.sheet.subjects[index], self.kind, anchor)
            if answer is not None and answer in self.sheet.subjects[index].sounds:
                answers[index] = answer
        return answers

    def _put(self, anchor: str | None, answers: dict[int, str], pool: Sequence[str]) -> bool:
        """Ask these members the same; whether enough options were found."""
        sheet, kind = self.sheet, self.kind
        options = self._options(anchor, answers, pool)
        if options is None:
            return False
        speaker = sheet.subjects[next(iter(answers))]
        text = pick(wordings(kind, () if anchor is None else (anchor,), speaker), sheet.rng)
        for index, answer in answers.items():
            heard = sheet.subjects[index].timeline.labels()
            claims = {
                speaker.phrase(label).noun: claim
                for label in options
                if (claim := choice_claim(kind, label, anchor, heard)) is not None
            }
            sheet.add(index, kind, text, speaker.phrase(answer).noun, claims)
        return True

    def _options(
        self, anchor: str | None, answers: dict[int, str], pool: Sequence[str]
    ) -> list[str] | None:
        """The answers and what is wrong for all of them, in random order.

        Sounds that are heard come first, then absent ones; no absent one beside a whole caption.
        """
        sheet = self.sheet
        right = sorted(set(answers.values()))
        others = [label for label in sheet.sounds(answers) if label not in (*right, anchor)]
        candidates = [*right, *shuffle(others, sheet.rng)]
        if pool and not any(sheet.subjects[index].sentences for index in answers):
            candidates += [pick(pool, sheet.rng) for _ in range(_DRAWS)]
        options: list[str] = []
        for label in candidates:
            if len(options) == OPTIONS:
                break
            if label != anchor and self._fits(label, options, anchor, answers):
                options.append(label)
            elif label in right and label not in options:
                return None
        return shuffle(options, sheet.rng) if len(options) > 1 else None

    def _fits(
        self,
        label: str,
        options: Sequence[str],
        anchor: str | None,
        answers: dict[int, str],
    ) -> bool:
        """Whether a label is told apart from the other options, and wrong but where it is right."""
        if any(are_kin(label, other) for other in options) or (anchor and are_kin(label, anchor)):
            return False
        speaker = self.sheet.subjects[next(iter(answers))]
        noun = speaker.phrase(label).noun
        if any(noun == speaker.phrase(other).noun for other in options):
            return False
        for index, answer in answers.items():
            subject = self.sheet.subjects[index]
            claim = choice_claim(self.kind, label, anchor, subject.timeline.labels())
            if claim is None or (label != answer and not subject.refutes(claim)):
                return False
        return True


def find_only_answer(subject: Subject, kind: QuestionKind, anchor: str | None) -> str | None:
    """The only right answer to a which-question, None where there is none or several might be.

    Of everything that is heard one sound must be proven to be meant, and all others not to be.
    """
    sounds = subject.timeline.labels()
    right: list[str] = []
    for label in sorted(sounds - {anchor}):
        claim = choice_claim(kind, label, anchor, sounds)
        if claim is None:
            return None
        if subject.proves(claim):
            right.append(label)
        elif not subject.refutes(claim):
            return None
    return right[0] if len(right) == 1 else None


# Questions about measures: how often, how long, when, how loud, and how else the second time.


Topic: TypeAlias = tuple[AskedKind, tuple[str, ...]]


def ask_measured(sheet: Sheet) -> None:
    """Ask members of a group the same about a measure, one for each different answer.

    What is asked, and the values that are offered, are those that the captions of the group tell.
    A sample gets at most one question of each kind.
    """
    for members in group_members(sheet.subjects):
        asked: set[tuple[int, AskedKind]] = set()
        for topic, claims in _find_topics(sheet, members).items():
            free = [index for index in members if (index, topic[0]) not in asked]
            answers = _find_answers(sheet, free, claims)
            if len(answers) > 1:
                _put(sheet, topic, answers)
                asked.update((index, topic[0]) for index in answers.values())


def count_telling(subjects: Sequence[Subject]) -> Mapping[AskedKind, int]:
    """Of how many samples the captions tell something of each kind; kinds without any are left out.

    Only measures are counted, which few recipes tell.
    """
    telling = Counter(
        kind for subject in subjects for kind in {topic[0] for topic, _ in _tell(subject)}
    )
    return {kind: telling[kind] for kind in MEASURED if kind in telling}


def _tell(subject: Subject) -> Iterator[tuple[Topic, Claim]]:
    """What the true captions of a sample tell of measures; comparisons by the sound with more."""
    for sentence in subject.told:
        for claim in parts_of(sentence.claim):
            topic = find_topic(claim)
            if topic is None:
                continue
            kind, named = topic
            if isinstance(kind, Quantity) and kind in COMPARED:
                claim = Measured(kind, tuple(map(Event, named)), 1)
                named = tuple(sorted(named))
            yield (kind, named), claim


def _find_topics(sheet: Sheet, members: Sequence[int]) -> dict[Topic, list[Claim]]:
    """The claims of a group by what they are about, in random order."""
    topics: dict[Topic, list[Claim]] = {}
    for index in members:
        for topic, claim in _tell(sheet.subjects[index]):
            its = topics.setdefault(topic, [])
            if claim not in its:
                its.append(claim)
    return {topic: topics[topic] for topic in shuffle(list(topics), sheet.rng)}


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
    first, speaker = next((claim, sheet.subjects[index]) for claim, index in answers.items())
    if kind in COMPARED:
        topic_of = find_topic(first)
        named = topic_of[1] if topic_of else named
    ways = wordings(kind, named, speaker)
    options = {say_measured(claim, speaker): claim for claim in answers}
    if not ways or len(options) < len(answers):
        return
    text = pick(ways, sheet.rng)
    for answer, claim in options.items():
        sheet.add(answers[claim], kind, text, answer, options)


# Asking all members of a group together.


def ask(subjects: Sequence[Subject], randomness: Randomness) -> Derived[Question]:
    """Questions about samples of one split.

    A sample gets at most one question of each kind, or two where the answer is yes or no: one of
    either. Absent sounds that are asked about, or offered as options, are sounds of the other
    samples, and never kin of what is heard.

    Returns:
        With the samples that have no question of a kind as left out; for measures only those are
        counted whose captions tell of them.
    """
    if not subjects:
        return Derived((), dict.fromkeys((*YES_NO, *ENDS, *ANCHORED, QuestionKind.COUNT), 0))
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
    counts = Counter(kind for _, kind in has)
    could: dict[AskedKind, int] = {
        kind: len(subjects) for kind in QuestionKind if kind is not QuestionKind.TIMES
    }
    could.update(count_telling(subjects))
    return Derived(questions, {kind.value: could[kind] - counts[kind] for kind in could})


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
    text = pick(wordings(kind, labels(claim), speaker), sheet.rng)
    for index, answer in answers.items():
        sheet.add(index, kind, text, answer, {YES: claim, NO: Not(claim)})


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
    by_answer: dict[str, list[tuple[int, Scene]]] = {YES: [], NO: []}
    for index in shuffle(alone, sheet.rng):
        subject = sheet.subjects[index]
        sounds = [label for label in subject.sounds if sheet.has(index, label)]
        claims = _claims(sounds, kind, sheet.rng)
        for answer in sorted(by_answer, key=lambda key: len(by_answer[key])):
            holds = subject.proves if answer == YES else subject.refutes
            claim = next(filter(holds, claims), None)
            if claim is not None:
                by_answer[answer].append((index, claim))
                break
    least = min(map(len, by_answer.values()))
    for answer, pairs in by_answer.items():
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
    by_count: dict[int, list[int]] = {}
    for index, subject in enumerate(sheet.subjects):
        sounds, places = subject.sounds, subject.timeline.placements
        whole = len(sounds) == len(places) <= len(NUMBERS)
        whole = whole and not any(are_confusable(*pair) for pair in combinations(sounds, 2))
        if sounds and whole and subject.proves(count_claim(sounds)):
            by_count.setdefault(len(sounds), []).append(index)
    if len(by_count) < 2:
        return
    least = min(map(len, by_count.values()))
    for count in sorted(by_count):
        for index in shuffle(by_count[count], sheet.rng)[:least]:
            subject = sheet.subjects[index]
            right = count_claim(subject.sounds)
            options: dict[str, Claim] = {
                NUMBERS[number - 1]: right if number == count else Not(right)
                for number in shuffle(sorted(by_count), sheet.rng)
            }
            text = pick(wordings(QuestionKind.COUNT, (), subject), sheet.rng)
            sheet.add(index, QuestionKind.COUNT, text, NUMBERS[count - 1], options)
