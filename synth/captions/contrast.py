"""Contrast: other sentences about a pair of sounds, sorted by truth.

Every sentence comes from an edited claim, never from an edited string. Over one minimal-pair group
each sentence is true of exactly one member and false of the others, so that nothing in its looks
tells a positive from a negative; recipes see to it for every kind of edit by itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from itertools import combinations
from typing import Final, TypeAlias

import numpy as np

from synth.base.errors import TruthError
from synth.base.rng import pick, shuffle
from synth.captions.caption import Caption, Pair, Phrases, Provenance, Style, realize
from synth.labels.connective import Connective
from synth.scene.claim import And, Claim, Not
from synth.scene.edit import EditKind, EditSelection, find_edit, meaning, projection
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


# Balance: the captions of a group of samples, so dealt that no text betrays its truth.
#
# The members of a group exchange their main captions: what is the main caption of one is a
# negative of the others. So a loss that looks for the true one among them has the same sentences
# before it at each member, and each of them is true once. Whoever compares the texts alone is right
# at one member and wrong at all others, whatever he compares.


_WHOLE: Final = 0.6
"""Share of captions that tell all of a scene."""


@dataclass(frozen=True)
class Member:
    """One scene of a group.

    Args:
        hearing: What is heard. It proves the statement.
    """

    statement: Scene
    hearing: Hearing


Tell: TypeAlias = Callable[[Claim], Caption]
"""Puts a claim into words."""


def exchange(captions: Sequence[Caption], edit: StrEnum) -> list[CaptionSet]:
    """Captions each of which is true of one sample, and false of all others by the same edit."""
    return [
        CaptionSet(
            caption, (), tuple(other.as_false(edit) for other in captions if other is not caption)
        )
        for caption in captions
    ]


@dataclass(frozen=True)
class Dealer:
    """Deals captions to the members of a group.

    Args:
        limit: Most true sentences of a member, its main caption included, and most false ones.
        denials: Share of groups whose captions deny a sound.
    """

    tell: Tell
    limit: int
    rng: np.random.Generator
    denials: float = 0.0

    def deal(self, members: Sequence[Member], pool: Sequence[Claim]) -> list[CaptionSet] | None:
        """Main captions that members exchange; None where one can be told from no other.

        Further true captions are drawn as the main ones are, so that they look like these.

        Args:
            pool: What may be said beside the statements.
        """
        count = -(-len(members) // (self.limit + 1))
        order = self.rng.permutation(len(members))
        sets: dict[int, CaptionSet] = {}
        for some in np.array_split(order, count):
            dealt = self._deal_set([members[at] for at in some], pool)
            if dealt is None:
                return None
            sets.update(zip(some.tolist(), dealt, strict=True))
        return [sets[at] for at in range(len(members))]

    def _deal_set(
        self, members: Sequence[Member], pool: Sequence[Claim]
    ) -> list[CaptionSet] | None:
        """The captions of members that exchange their main ones."""
        owned: list[list[Claim]] = [[] for _ in members]
        for claim in pool:
            owner = _find_owner(claim, members)
            if owner is not None:
                owned[owner].append(claim)
        for member, claims in zip(members, owned, strict=True):
            if _find_owner(member.statement, members) is not None:
                claims.insert(0, member.statement)
        options = self._choose_form(owned, members)
        if len(members) < 2 or not all(options):
            return None
        sets = list(map(self._tell_member, members, options))
        mains = [captions.caption for captions in sets]
        return [
            replace(
                captions,
                negatives=tuple(
                    rival.as_false(find_edit(captions.caption.claim, rival.claim))
                    for rival in mains
                    if rival is not captions.caption
                ),
            )
            for captions in sets
        ]

    def deal_alone(self, members: Sequence[Member], pool: Sequence[Claim]) -> list[CaptionSet]:
        """True captions for members of which nothing true of one is false of another.

        They look like those that `deal` draws.
        """
        options = [
            [claim for claim in (member.statement, *pool) if member.hearing.proves(claim)]
            for member in members
        ]
        return list(map(self._tell_member, members, self._choose_form(options, members)))

    def _choose_form(
        self, options: Sequence[Sequence[Claim]], members: Sequence[Member]
    ) -> Sequence[Sequence[Claim]]:
        """Claims that all deny or none does, so that a kind of edit has as many rivals of either.

        What is denied beside sounds that others have, too, goes first: nothing but the denial
        tells. Where only some can deny, all that there are.
        """
        denies = self.rng.random() < self.denials
        forms = [
            [[claim for claim in own if _denies(claim) is wanted] for own in options]
            for wanted in (denies, not denies)
        ]
        if denies:
            pairs = zip(members, forms[0], strict=True)
            forms.insert(0, [[c for c in own if not _is_whole(c, member)] for member, own in pairs])
        return next((form for form in forms if all(form)), options)

    def _tell_member(self, member: Member, own: Sequence[Claim]) -> CaptionSet:
        """True captions of a member, all drawn alike; most tell all that it states."""
        whole = [claim for claim in own if _is_whole(claim, member)]
        main, *others = (
            self.tell(pick(whole if whole and self.rng.random() < _WHOLE else own, self.rng))
            for _ in range(self.limit)
        )
        true = {caption.text: caption for caption in others if caption.text != main.text}
        return CaptionSet(main, tuple(true.values()), ())

    def print_captions(self, members: Sequence[Member], pool: Sequence[Claim]) -> list[CaptionSet]:
        """Captions as CompA prints them: all of a scene, then compositions of any number of sounds.

        Their words leave open what belongs together: what reads like a true one is no false one.
        The text tells which is which.
        """
        compositions = [claim for claim in pool if isinstance(claim, Concat | Overlay)]
        sets = []
        for member in members:
            claims = (member.statement, *shuffle(compositions, self.rng))
            (main, *positives), negatives = tell_claims(member, claims, self.tell)
            limit = self.limit
            sets.append(CaptionSet(main, tuple(positives[: limit - 1]), tuple(negatives[:limit])))
        return sets


def tell_claims(
    member: Member, claims: Iterable[Claim], tell: Tell
) -> tuple[list[Caption], list[Caption]]:
    """Captions of the claims that are surely true, and of those surely false, each text once.

    What reads like a true one is no false one.
    """
    selection = EditSelection(member.statement)
    true: dict[str, Caption] = {}
    false: dict[str, Caption] = {}
    for claim in claims:
        if member.hearing.proves(claim):
            true.setdefault((caption := tell(claim)).text, caption)
        elif member.hearing.refutes(claim):
            caption = tell(claim).as_false(selection.kind(claim))
            false.setdefault(caption.text, caption)
    return [*true.values()], [caption for text, caption in false.items() if text not in true]


def _denies(claim: Claim) -> bool:
    return isinstance(claim, And) and isinstance(claim.second, Not)


def _find_owner(claim: Claim, members: Sequence[Member]) -> int | None:
    """The member of which alone a claim is true; None where it may be true of others, too."""
    for number, member in enumerate(members):
        if member.hearing.proves(claim):
            others = (other for other in members if other is not member)
            return number if all(other.hearing.refutes(claim) for other in others) else None
    return None


def _is_whole(claim: Claim, member: Member) -> bool:
    return member.statement in (claim, claim.first if isinstance(claim, And) else None)
