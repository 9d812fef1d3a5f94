"""Contrast: other sentences about a pair of sounds, sorted by truth.

Every sentence comes from an edited claim, never from an edited string. Over one minimal-pair group
each sentence is true of exactly one member and false of the others, so that nothing in its looks
tells a positive from a negative; recipes see to it for every kind of edit by itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from typing import Final

from synth.base.errors import TruthError
from synth.captions.caption import Caption, Pair, Phrases, Provenance, Style, realize
from synth.labels.connective import Connective
from synth.scene.claim import And, Claim, Not
from synth.scene.edit import EditKind, meaning, projection
from synth.scene.scene import Concat, Event, Overlay, Scene, labels, statement
from synth.scene.timeline import Timeline
from synth.truth.relations import Tolerance
from synth.truth.truth import Hearing


@dataclass(frozen=True, slots=True)
class Wording:
    """How a group of captions is worded.

    Args:
        connectives: The connectives in play, each at most once.
        frame: The sentence frame, shared by all captions of a group.
    """

    connectives: tuple[Connective, ...]
    phrases: Phrases
    style: Style
    frame: int = 0

    def say(self, claim: Pair, connective: Connective) -> Caption:
        """The caption that makes `claim` with `connective`."""
        text = realize(claim, connective, self.phrases, self.style, self.frame)
        return Caption(text, claim, connective.value, _rule(self.style, self.frame))


@cache
def _rule(style: Style, frame: int) -> Provenance:
    return Provenance.of_rule("pair", style.value, frame)


@dataclass(frozen=True, slots=True)
class CaptionSet:
    """The main caption of a sample, further true ones, and false ones."""

    caption: Caption
    positives: tuple[Caption, ...]
    negatives: tuple[Caption, ...]


def judge(
    caption: Caption, others: Iterable[Caption], timeline: Timeline, tolerance: Tolerance
) -> CaptionSet:
    """Sort sentences by truth: proven ones are positives, refuted ones negatives.

    What is neither, and what repeats an earlier text, is left out.

    Args:
        others: Each with its edit, should it be false.
    """
    hearing = Hearing(timeline, tolerance)

    @cache
    def tell(claim: Claim) -> bool | None:
        """True of what is proven, False of what is refuted."""
        return True if hearing.proves(claim) else False if hearing.refutes(claim) else None

    if not tell(caption.claim):
        raise TruthError(f"the timeline does not prove {caption.text!r}: {timeline}")
    listed: dict[str, Caption] = {}
    for other in others:
        listed.setdefault(other.text, other)
    listed.pop(caption.text, None)
    positives = (
        Caption(other.text, other.claim, other.connective, other.provenance)
        for other in listed.values()
        if tell(other.claim)
    )
    negatives = (other for other in listed.values() if tell(other.claim) is False)
    return CaptionSet(caption, tuple(positives), tuple(negatives))


def contrast(
    claim: Pair,
    connective: Connective,
    wording: Wording,
    timeline: Timeline,
    tolerance: Tolerance,
) -> CaptionSet:
    """The main caption and every other way to relate its two sounds, sorted by truth.

    Edit kinds of negatives: `reorder` exchanges the sounds around the same connective; `relation`
    changes the connective, in place or with the sounds exchanged.
    """
    first, second = statement(claim.first), statement(claim.second)
    others: list[Caption] = []
    for word in wording.connectives:
        relate = Concat if word.is_order else Overlay
        edit = EditKind.REORDER if word is connective else EditKind.RELATION
        if word is not connective:
            others.append(wording.say(relate(first, second), word).as_false(edit))
        others.append(wording.say(relate(second, first), word).as_false(edit))
    main_caption = wording.say(type(claim)(first, second), connective)
    return judge(main_caption, others, timeline, tolerance)


# The pool of a minimal-pair group: statements of every granularity that tell its members apart.


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
    for member, its in zip(members, named, strict=True):
        yield from (And(member, Not(Event(absent))) for absent in changing if absent not in its)
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
            if part is not None and (key := meaning(part)) not in seen:
                seen.add(key)
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
