"""Balance: the captions of a group of samples, so dealt that no text betrays its truth.

Sentences are dealt in crosses: of two members one proves the first sentence and refutes the second,
the other proves the second and refutes the first. At either, the false sentence stands against the
true one, by the same kind of edit. Who compares the two by their texts alone - words, length, style
- is right at one member and wrong at the other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from itertools import combinations
from typing import NamedTuple, TypeAlias

import numpy as np

from synth.captions.caption import Caption
from synth.captions.contrast import CaptionSet
from synth.scene.claim import Claim, Measured, claim_labels
from synth.scene.edit import EditKind, EditSelection, Outline
from synth.scene.scene import Scene
from synth.truth.truth import Hearing


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


class Hand:
    """What has been dealt to a sample: true sentences, and false ones that stand against them."""

    def __init__(self, main: Caption) -> None:
        self.main = main
        self.true: list[Caption] = [main]
        self.false: list[Caption] = []

    @property
    def is_compared(self) -> bool:
        """Whether a false sentence stands against the main caption."""
        return any(caption.against == self.main.text for caption in self.false)

    def holds(self, caption: Caption) -> bool:
        """Whether a sentence of the same words has been dealt."""
        return any(caption.text == other.text for other in (*self.true, *self.false))

    def add(self, true: Caption) -> None:
        """Deal a true sentence against which none stands, unless it is held already."""
        if not self.holds(true):
            self.true.append(true)

    def give(self, true: Caption, false: Caption, edit: StrEnum) -> None:
        """Deal a sentence that is true of the sample, and one that stands against it."""
        if true is not self.main:
            self.true.append(true)
        self.false.append(false.as_false(edit, against=true.text))

    def captions(self) -> CaptionSet:
        """All that was dealt."""
        return CaptionSet(self.main, tuple(self.true[1:]), tuple(self.false))


def cross(one: Hand, first: Caption, other: Hand, second: Caption, edit: StrEnum) -> None:
    """Deal two sentences to two samples: each is true of its own, and false of the other."""
    one.give(first, second, edit)
    other.give(second, first, edit)


class _MemberHand(Hand):
    """What has been dealt to a member, and what is known there of the pool's claims, by number."""

    def __init__(self, member: Member, main: Caption, pool: Sequence[Claim]) -> None:
        super().__init__(main)
        self.edits = EditSelection(member.statement)
        self.hearing = member.hearing
        self.proves = cache(lambda number: member.hearing.proves(pool[number]))
        self.refutes = cache(lambda number: member.hearing.refutes(pool[number]))

    def kind(self, claim: Claim) -> EditKind:
        """The edit that leads from what is heard to a claim."""
        return self.edits.kind(Outline.of(claim))


def deal(
    members: Sequence[Member],
    mains: Sequence[Caption],
    pool: Sequence[Claim],
    tell: Tell,
    limit: int,
    rng: np.random.Generator,
    close: Collection[tuple[int, int]] | None = None,
) -> list[CaptionSet] | None:
    """Captions for the members of a group.

    Args:
        mains: The main caption of each, which says its statement; their texts differ.
        pool: What else may be said; a claim that comes twice may be worded twice.
        tell: Puts a claim of the pool into words; asked only for what is dealt.
        limit: Most true sentences of a member, its main caption included, and most false ones.
        close: Pairs of members, the lower first, whose main captions may stand against each other;
            all if None.

    Returns:
        One set a member; a negative at least stands against each main caption. None where that
        cannot be.
    """
    hands = [_MemberHand(*pair, pool) for pair in zip(members, mains, strict=True)]
    dealer = _Dealer(hands, pool, tell, limit, rng)
    if not dealer.deal_mains(close):
        return None
    dealer.deal_pool()
    return [hand.captions() for hand in hands]


class _Key(NamedTuple):
    """By what claims are sorted: the edit that leads to one, and what compared sentences share."""

    edit: EditKind
    form: Hashable


class _Dealer:
    """Deals crosses; a claim is put into words when it is first dealt, and a text is used once."""

    def __init__(
        self,
        hands: Sequence[_MemberHand],
        pool: Sequence[Claim],
        tell: Tell,
        limit: int,
        rng: np.random.Generator,
    ) -> None:
        self._hands = hands
        self._pool = pool
        self._tell_claim = tell
        self._limit = limit
        self._edits: Counter[EditKind] = Counter()
        self._spent: set[int] = set()
        self._used = {hand.main.text for hand in hands}
        outlines = [Outline.of(claim) for claim in pool]
        forms = [_form(*pair) for pair in zip(outlines, pool, strict=True)]
        self._by_key = [self._sort_claims(hand, outlines, forms, rng) for hand in hands]
        self._left = [list(claims) for claims in self._by_key]
        self._order = rng.permutation(len(hands)).tolist()

    def _sort_claims(
        self,
        hand: _MemberHand,
        outlines: Sequence[Outline],
        forms: Sequence[Hashable],
        rng: np.random.Generator,
    ) -> dict[_Key, list[int]]:
        """The pool by the edit that leads to a claim, and by the claim's form, shuffled."""
        claims: dict[_Key, list[int]] = {}
        for number in rng.permutation(len(outlines)).tolist():
            key = _Key(hand.edits.kind(outlines[number]), forms[number])
            claims.setdefault(key, []).append(number)
        return claims

    def deal_mains(self, close: Collection[tuple[int, int]] | None) -> bool:
        """Let a false sentence stand against each main caption; False where none can."""
        for one, other in combinations(self._order, 2):
            first, second = self._hands[one], self._hands[other]
            is_far = close is not None and (min(one, other), max(one, other)) not in close
            if first.is_compared or second.is_compared or is_far:
                continue
            edit = first.kind(second.main.claim)
            if (
                first.hearing.refutes(second.main.claim)
                and second.hearing.refutes(first.main.claim)
                and second.kind(first.main.claim) is edit
            ):
                self._cross(one, first.main, other, second.main, edit)
        return all(self._hands[one].is_compared or self._deal_main(one) for one in self._order)

    def _deal_main(self, one: int) -> bool:
        """Cross a main caption with a sentence of the pool."""
        hand = self._hands[one]
        main = hand.main.claim
        form = _form(Outline.of(main), main)
        for other in self._order:
            second = self._hands[other]
            if other == one or len(second.true) >= self._limit or not second.hearing.refutes(main):
                continue
            edit = second.kind(main)
            for number in self._by_key[one].get(_Key(edit, form), ()):
                if (
                    number not in self._spent
                    and hand.refutes(number)
                    and second.proves(number)
                    and (caption := self._tell(number))
                ):
                    self._cross(one, hand.main, other, caption, edit)
                    return True
        return False

    def deal_pool(self) -> None:
        """Deal in rounds, each time to one member a cross of the kind that is rarest so far."""
        left = list(self._order)
        while left:
            left = [one for one in left if self._has_room(one) and self._deal_one(one)]

    def _deal_one(self, one: int) -> bool:
        left = self._left[one]
        # A stable order: forms come as they were shuffled.
        for key in sorted(left, key=lambda key: self._edits[key.edit]):
            if self._deal_key(one, key):
                return True
            left.remove(key)  # sentences are spent and hands fill up: it will not do later
        return False

    def _deal_key(self, one: int, key: _Key) -> bool:
        others = [other for other in self._order if other != one and self._has_room(other)]
        others.sort(key=lambda other: len(self._hands[other].true))
        hand = self._hands[one]
        for number in self._by_key[one][key]:
            if number in self._spent or not hand.refutes(number):
                continue
            for other in others:
                if not self._hands[other].proves(number):
                    continue
                mirror = self._find_mirror(one, other, key)
                if mirror is None:
                    continue
                first, second = self._tell(mirror), self._tell(number)
                if first is not None and second is not None:
                    self._cross(one, first, other, second, key.edit)
                    return True
        return False

    def _find_mirror(self, one: int, other: int, key: _Key) -> int | None:
        """A sentence that is true of the one, and false of the other by the same kind of edit."""
        hand, second = self._hands[one], self._hands[other]
        return next(
            (
                number
                for number in self._by_key[other].get(key, ())
                if number not in self._spent and hand.proves(number) and second.refutes(number)
            ),
            None,
        )

    def _has_room(self, one: int) -> bool:
        hand = self._hands[one]
        return max(len(hand.true), len(hand.false)) < self._limit

    def _tell(self, number: int) -> Caption | None:
        """The words for a claim, None where another claim has taken them."""
        self._spent.add(number)
        caption = self._tell_claim(self._pool[number])
        if caption.text in self._used:
            return None
        self._used.add(caption.text)
        return caption

    def _cross(self, one: int, first: Caption, other: int, second: Caption, edit: EditKind) -> None:
        cross(self._hands[one], first, self._hands[other], second, edit)
        self._edits[edit] += 2


def _form(outline: Outline, claim: Claim) -> Hashable:
    """What compared sentences have in common: how many sounds, and what is said of them."""
    quantity = claim.quantity if isinstance(claim, Measured) else None
    return outline.denies, len(claim_labels(claim)), outline.composition is None, quantity
