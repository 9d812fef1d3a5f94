"""The sheet on which the questions of one batch of samples are collected."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from synth.derived.questions.question import Question, QuestionKind
from synth.derived.questions.subject import Subject
from synth.scene.claim import Claim

T = TypeVar("T")


def shuffle(values: Sequence[T], rng: np.random.Generator) -> list[T]:
    """The values in random order."""
    return [values[i] for i in rng.permutation(len(values))]


def pick(values: Sequence[T], rng: np.random.Generator) -> T:
    """One of the values, each as likely as the others."""
    return values[int(rng.integers(len(values)))]


def group_members(subjects: Iterable[Subject]) -> list[list[int]]:
    """The positions of the members of each group, in order."""
    found: dict[str, list[int]] = {}
    for index, subject in enumerate(subjects):
        found.setdefault(subject.group, []).append(index)
    return list(found.values())


@dataclass
class Sheet:
    """Questions in the making.

    Args:
        subjects: The samples.
        rng: The source of all that is drawn.
    """

    subjects: Sequence[Subject]
    rng: np.random.Generator
    _drafts: dict[int, list[Question]] = field(default_factory=dict)
    _had: dict[tuple[int, str], bool] = field(default_factory=dict)

    def pick(self, values: Sequence[T]) -> T:
        """One of the values, each as likely as the others."""
        return pick(values, self.rng)

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
        kind: QuestionKind,
        text: str,
        answer: str,
        options: tuple[str, ...],
        claims: tuple[Claim, ...],
    ) -> None:
        """Note a question about the sample at `index`."""
        sample = self.subjects[index].id
        question = Question("", sample, text, answer, kind, options, claims)
        self._drafts.setdefault(index, []).append(question)

    def questions(self) -> tuple[Question, ...]:
        """All questions, sample by sample, numbered within each by kind."""
        order = {kind: i for i, kind in enumerate(QuestionKind)}
        found: list[Question] = []
        for index in sorted(self._drafts):
            drafts = sorted(self._drafts[index], key=lambda each: order[each.kind])
            for number, draft in enumerate(drafts):
                found.append(
                    Question(
                        f"{draft.sample}-q{number:02d}",
                        draft.sample,
                        draft.text,
                        draft.answer,
                        draft.kind,
                        draft.options,
                        draft.claims,
                    )
                )
        return tuple(found)
