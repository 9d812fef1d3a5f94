"""Difference captions: what tells two samples of a minimal-pair group apart, proven of both.

A difference states one thing of the first sample and another of the second; each is proven of its
own sample and refuted of the other. Nothing is made of two samples that differ in nothing of which
that can be said.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import StrEnum
from functools import partial
from itertools import permutations
from typing import Final, TypeAlias

import numpy as np

from synth.base.rng import Randomness, pick, shuffle
from synth.derived.questions import Derived, Exchange, Subject, derive_of_pairs
from synth.derived.wording import list_frames, say_of
from synth.scene.claim import Claim, Not
from synth.scene.scene import Concat, Event, Overlay, labels

# The kinds and the words of difference captions.


Claims: TypeAlias = tuple[Claim, Claim]
"""What is said of the first sample, and of the second."""


class DifferenceKind(StrEnum):
    """How the second sample differs from the first.

    `reorder`: two sounds follow one another the other way round. `together`: they follow one
    another in the first and are together in the second; `apart` the reverse. `rebind`: a sound is
    together with another partner. `replaced`: a sound is gone and another has come. `added`,
    `removed`: one has come, or gone.
    """

    REORDER = "reorder"
    TOGETHER = "together"
    APART = "apart"
    REBIND = "rebind"
    REPLACED = "replaced"
    ADDED = "added"
    REMOVED = "removed"


_REVERSE: Final = {
    DifferenceKind.TOGETHER: DifferenceKind.APART,
    DifferenceKind.APART: DifferenceKind.TOGETHER,
    DifferenceKind.ADDED: DifferenceKind.REMOVED,
    DifferenceKind.REMOVED: DifferenceKind.ADDED,
}


def reverse_kind(kind: DifferenceKind) -> DifferenceKind:
    """How the first sample differs from the second."""
    return _REVERSE.get(kind, kind)


def wordings(kind: DifferenceKind, claims: Claims, first: Subject, second: Subject) -> list[str]:
    """Every way to say a difference; the sounds stand in its frames in the order of its claims."""
    named: dict[str, None] = {}
    for claim in claims:
        scene = claim.claim if isinstance(claim, Not) else claim
        if isinstance(scene, Event | Concat | Overlay):
            named |= dict.fromkeys(labels(scene))
    speaker = replace(first, sentences=first.sentences | second.sentences)
    return [f"{text}." for text in say_of(speaker, list_frames("difference")[kind], [*named])]


# Finding the differences between two samples.

DIFFERENCE: Final = "difference"
"""What they are called beside the kinds of questions."""


def find_differences(subjects: Sequence[Subject], randomness: Randomness) -> Derived[Exchange]:
    """The difference of every two samples of a group, kinds as evenly dealt as the groups allow.

    The answer is a caption that says how the first differs from the second, the wrong one says the
    same of them in the opposite order; the prompt is left to others. Which is first is drawn.
    """
    find = partial(_find_difference, Counter())
    return derive_of_pairs(subjects, randomness, "differences", find, DIFFERENCE)


def _find_difference(
    kinds: Counter[DifferenceKind], first: Subject, second: Subject, rng: np.random.Generator
) -> Exchange | None:
    by_kind: dict[DifferenceKind, list[Claims]] = {}
    for kind, claims in _contrasts(first, second):
        mine, theirs = claims
        are_proven = first.proves(mine) and second.proves(theirs)
        if are_proven and second.refutes(mine) and first.refutes(theirs):
            by_kind.setdefault(kind, []).append(claims)
    if not by_kind:
        return None
    kind = min(shuffle(sorted(by_kind), rng), key=lambda each: kinds[each])
    claims = pick(by_kind[kind], rng)
    captions = wordings(kind, claims, first, second)
    reverse = wordings(reverse_kind(kind), claims[::-1], second, first)
    kinds[kind] += 1
    frame = int(rng.integers(len(captions)))
    order = first.id, second.id
    return Exchange(
        DIFFERENCE,
        "",
        order,
        captions[frame],
        claims,
        reverse[frame],
        claims[::-1],
        order[::-1],
        kind,
    )


def _contrasts(first: Subject, second: Subject) -> Iterator[tuple[DifferenceKind, Claims]]:
    """What might tell them apart; not judged yet."""
    common = [label for label in first.sounds if label in second.sounds]
    for a, b in permutations(map(Event, common), 2):
        yield DifferenceKind.REORDER, (Concat(a, b), Concat(b, a))
        yield DifferenceKind.TOGETHER, (Concat(a, b), Overlay(a, b))
        yield DifferenceKind.APART, (Overlay(a, b), Concat(a, b))
    for a in map(Event, common):
        for b in map(Event, first.sounds):
            for c in map(Event, second.sounds):
                if len({a, b, c}) == 3:
                    yield DifferenceKind.REBIND, (Overlay(a, b), Overlay(a, c))
    if first.sentences or second.sentences:
        return  # what a whole caption leaves unsaid may be heard all the same
    gone = [Event(label) for label in first.sounds if label not in second.sounds]
    new = [Event(label) for label in second.sounds if label not in first.sounds]
    yield from ((DifferenceKind.REPLACED, (a, b)) for a in gone for b in new)
    if not new:
        yield from ((DifferenceKind.REMOVED, (a, Not(a))) for a in gone)
    if not gone:
        yield from ((DifferenceKind.ADDED, (Not(a), a)) for a in new)
