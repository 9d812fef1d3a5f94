"""Which-questions with options: one is proven, all others refuted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Final, TypeAlias

from synth.derived.questions.judge import only_answer
from synth.derived.questions.question import ENDS, QuestionKind, choice_claim
from synth.derived.questions.sheet import Sheet, group_members, shuffle
from synth.derived.questions.wording import wordings
from synth.labels.lexicon import are_kin

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
        found = [self._answers(members) for members in group_members(self.sheet.subjects)]
        pool = [
            answer
            for group in found
            for answers in group.values()
            for index, answer in answers.items()
            if answer not in self.sheet.subjects[index].sentences
        ]
        for group in found:
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
        found: dict[int, str] = {}
        for index in members:
            if anchor is not None and not self.sheet.has(index, anchor):
                continue
            answer = only_answer(self.sheet.subjects[index], self.kind, anchor)
            if answer is not None and answer in self.sheet.subjects[index].sounds:
                found[index] = answer
        return found

    def _put(self, anchor: str | None, answers: dict[int, str], pool: Sequence[str]) -> bool:
        """Ask these members the same; whether enough options were found."""
        sheet, kind = self.sheet, self.kind
        options = self._options(anchor, answers, pool)
        if options is None:
            return False
        speaker = sheet.subjects[next(iter(answers))]
        text = sheet.pick(wordings(kind, () if anchor is None else (anchor,), speaker))
        said = tuple(speaker.phrase(label).noun for label in options)
        for index, answer in answers.items():
            heard = sheet.subjects[index].heard.labels()
            claims = [choice_claim(kind, label, anchor, heard) for label in options]
            sheet.add(
                index,
                kind,
                text,
                speaker.phrase(answer).noun,
                said,
                tuple(claim for claim in claims if claim is not None),
            )
        return True

    def _options(
        self, anchor: str | None, answers: dict[int, str], pool: Sequence[str]
    ) -> list[str] | None:
        """The answers and what is wrong for all of them, in random order.

        Sounds that are heard come first, then absent ones; no absent one beside a whole caption.
        """
        sheet = self.sheet
        right = sorted(set(answers.values()))
        heard = [label for label in sheet.sounds(answers) if label not in (*right, anchor)]
        candidates = [*right, *shuffle(heard, sheet.rng)]
        if pool and not any(sheet.subjects[index].sentences for index in answers):
            candidates += [sheet.pick(pool) for _ in range(_DRAWS)]
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
        said = speaker.phrase(label).noun
        if any(said == speaker.phrase(other).noun for other in options):
            return False
        for index, answer in answers.items():
            subject = self.sheet.subjects[index]
            claim = choice_claim(self.kind, label, anchor, subject.heard.labels())
            if claim is None or (label != answer and not subject.refutes(claim)):
                return False
        return True
