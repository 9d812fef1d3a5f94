"""Conversations about recordings, made of exchanges."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

import numpy as np

from synth.base.rng import Randomness
from synth.captions.dense import Resolution, dense_text
from synth.derived.contrasts.exchange import (
    DESCRIBE,
    DIFFERENCE,
    TIMESTAMPS,
    WHICH,
    Contrast,
    Exchange,
)
from synth.derived.contrasts.wording import DESCRIBING, TIMING
from synth.derived.questions.sheet import pick, shuffle
from synth.derived.questions.subject import Subject

MOST_TURNS: Final = 4
"""Questions in one conversation."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """Exchanges about the same recordings, in the order in which they are spoken.

    Args:
        id: The id of the first recording and a number.
        group: The minimal-pair group of the recordings.
        exchanges: One or more.
    """

    id: str
    group: str
    exchanges: tuple[Exchange, ...]

    @property
    def kind(self) -> str:
        """The kind of its only exchange, or `conversation`."""
        return self.exchanges[0].kind if len(self.exchanges) == 1 else "conversation"


def find_conversations(
    subjects: Sequence[Subject], contrasts: Sequence[Contrast], randomness: Randomness
) -> tuple[Conversation, ...]:
    """Conversations about samples, sample by sample.

    Each sample is described once, and its dense captions are told at one resolution, each in turn.
    The sides of all contrasts are asked, several of one recording in one conversation where no
    earlier answer settles a later one. Captions are told by themselves, as they would.

    Args:
        subjects: Whole groups of one split; a pure function of all arguments.
        contrasts: Of these subjects.
        randomness: The source of all that is drawn.
    """
    if not subjects:
        return ()
    rng = randomness.at(f"chat/{subjects[0].id}", 0)
    alone = {
        subject.id: [_describe(subject, rng), *_tell_times(subject, number, rng)]
        for number, subject in enumerate(subjects)
    }
    compared = [each for each in contrasts if each[0].kind in (DIFFERENCE, WHICH)]
    for contrast in compared:
        for exchange in contrast:
            alone[exchange.samples[0]].append(exchange)
    apart = (DESCRIBE, DIFFERENCE, WHICH)
    asked = _converse(shuffle([each for each in contrasts if each[0].kind not in apart], rng))
    found: list[Conversation] = []
    for subject in subjects:
        spoken = [*((each,) for each in alone[subject.id]), *asked.get(subject.id, ())]
        found += [
            Conversation(f"{subject.id}-c{place:02d}", subject.group, exchanges)
            for place, exchanges in enumerate(spoken)
        ]
    return tuple(found)


def dense_texts(subject: Subject) -> Mapping[Resolution, str]:
    """The dense captions of each resolution in one line; none for a sample without any."""
    told = groupby(subject.dense, lambda caption: caption.resolution)
    return {resolution: dense_text(list(each), subject.rate) for resolution, each in told}


def _describe(subject: Subject, rng: np.random.Generator) -> Exchange:
    text, claim = pick(subject.told, rng)
    return Exchange(DESCRIBE, pick(DESCRIBING, rng), (subject.id,), text, (claim,))


def _tell_times(subject: Subject, number: int, rng: np.random.Generator) -> Iterator[Exchange]:
    texts = dense_texts(subject)
    if texts:
        resolution = [*texts][number % len(texts)]
        prompt = pick(TIMING[resolution], rng)
        yield Exchange(TIMESTAMPS, prompt, (subject.id,), texts[resolution], ())


def _converse(contrasts: Sequence[Contrast]) -> dict[str, list[tuple[Exchange, ...]]]:
    """Questions about one recording as conversations of up to `MOST_TURNS`, by sample.

    A contrast follows other questions only if these were answered alike by both sides: so no
    earlier answer tells a later one, and neither does its place.
    """
    found: dict[str, list[list[Exchange]]] = {}
    for one, other in contrasts:
        mine, theirs = (found.setdefault(each.samples[0], []) for each in (one, other))
        pairs = ((a, b) for a in mine for b in theirs if _are_alike(a, b))
        a, b = next(pairs, ([], []))
        if not a:
            mine.append(a)
            theirs.append(b)
        a.append(one)
        b.append(other)
    return {sample: [tuple(each) for each in its] for sample, its in found.items()}


def _are_alike(one: Sequence[Exchange], other: Sequence[Exchange]) -> bool:
    """Whether two conversations are the same so far, and may go on."""
    if len(one) != len(other) or len(one) == MOST_TURNS:
        return False
    return all(
        (a.prompt, a.answer, a.claims) == (b.prompt, b.answer, b.claims)
        for a, b in zip(one, other, strict=True)
    )
