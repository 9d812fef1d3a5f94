"""The pool of a minimal-pair group: statements of every granularity that tell its members apart."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Final

from synth.scene.claim import And, Claim, Not
from synth.scene.edit import meaning, projection
from synth.scene.scene import Concat, Event, Overlay, Scene, labels

_FEW: Final = 4


def pool(members: Sequence[Scene]) -> Iterator[Claim]:
    """Claims over the labels of a group's statements, from whole scenes to single sounds.

    Every claim comes once, whatever the number of members it is true of; truth sorts them. Claims
    that are true of all members or of none are of no use and cost little.

    Args:
        members: The members' statements. Each names a label at most once.
    """
    named = [frozenset(labels(member)) for member in members]
    everywhere = frozenset.intersection(*named)
    every = sorted(frozenset.union(*named))
    changing = [label for label in every if label not in everywhere]
    yield from _parts(members)
    yield from _pairs(every)
    for label in changing:
        yield Event(label)
        for other in every:
            if other != label and (other in everywhere or other > label):
                yield And(*sorted((Event(label), Event(other)), key=lambda event: event.label))
    shared = sorted(everywhere)
    for absent in changing:
        for label in shared:
            yield And(Event(label), Not(Event(absent)))
        for pair in _pairs(shared):
            yield And(pair, Not(Event(absent)))


def _parts(members: Sequence[Scene]) -> Iterator[Scene]:
    """What the statements say of three labels or more, themselves included."""
    seen = set()
    for member in members:
        named = labels(member)
        for kept in _choose(named):
            part = projection(member, kept)
            if part is not None and (said := meaning(part)) not in seen:
                seen.add(said)
                yield part


def _choose(named: Sequence[str]) -> Iterator[Sequence[str]]:
    """Three labels or more: any of them; where there are many, neighbours only."""
    for count in range(len(named), 2, -1):
        if len(named) <= _FEW:
            yield from combinations(named, count)
        else:
            yield from (named[at : at + count] for at in range(len(named) - count + 1))


def _pairs(named: Sequence[str]) -> Iterator[Scene]:
    for first, second in combinations(map(Event, named), 2):
        yield Concat(first, second)
        yield Concat(second, first)
        yield Overlay(first, second)
