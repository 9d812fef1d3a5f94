"""Balance: the captions of a minimal-pair group, so dealt that no text betrays its truth.

Within a group every sentence is used as often where it is true as where it is false. Whatever can
be seen in a text alone - its words, its length, its style - then says nothing about which it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np

from synth.captions.caption import Caption
from synth.captions.contrast import CaptionSet, as_main
from synth.scene.claim import Claim
from synth.scene.edit import Edit, Edits, Outline
from synth.scene.scene import Scene
from synth.truth.truth import Hearing


@dataclass(frozen=True)
class Member:
    """One scene of a group.

    Args:
        statement: The scene over labels.
        hearing: What is heard. It proves the statement.
    """

    statement: Scene
    hearing: Hearing


_EDITS: Final = tuple(Edit)

Tell: TypeAlias = Callable[[Claim], Caption]
"""Puts a claim into words."""


class _Pool:
    """Claims that are put into words when one is first dealt; a text is used once."""

    def __init__(self, claims: Sequence[Claim], tell: Tell, used: Iterable[str]) -> None:
        self.claims = claims
        self.outlines = [Outline.of(claim) for claim in claims]
        self._tell = tell
        self._used = set(used)
        self._captions: dict[int, Caption | None] = {}

    def caption(self, number: int) -> Caption | None:
        """The words for a claim, None where another claim has taken them."""
        if number not in self._captions:
            caption = self._tell(self.claims[number])
            self._captions[number] = None if caption.text in self._used else caption
            self._used.add(caption.text)
        return self._captions[number]


class _Hand:
    """What has been dealt to a member."""

    def __init__(self, member: Member) -> None:
        self.hearing = member.hearing
        self.edits = Edits(member.statement)
        self.true: list[Caption] = []
        self.false: list[Caption] = []
        self.held: set[int] = set()


def deal(
    members: Sequence[Member],
    mains: Sequence[Caption],
    pool: Sequence[Claim],
    tell: Tell,
    limit: int,
    rng: np.random.Generator,
) -> list[CaptionSet] | None:
    """Captions for the members of a group.

    Args:
        members: The scenes.
        mains: The main caption of each, which says its statement; their texts differ.
        pool: What else may be said; a claim that comes twice may be worded twice.
        tell: Puts a claim of the pool into words; asked only for what is dealt.
        limit: Most true sentences of a member, its main caption included, and most false ones.
        rng: Decides between equally good sentences.

    Returns:
        One set a member, each with a negative at least; None where a main caption cannot be used
        against another member.
    """
    hands = [_Hand(member) for member in members]
    kinds: Counter[Edit] = Counter()
    for hand, caption in zip(hands, mains, strict=True):
        hand.true.append(caption)
    for hand in hands:
        own = hand.true[0].claim
        others = [hands[i] for i in rng.permutation(len(hands)) if hands[i] is not hand]
        against = [other for other in others if other.hearing.refutes(own)]
        if not against:
            return None
        loser = min(against, key=lambda other: len(other.false))
        _give(loser, hand.true[0], loser.edits.kind(Outline.of(own)), kinds)
    _deal_pool(hands, _Pool(pool, tell, (caption.text for caption in mains)), limit, kinds, rng)
    if not all(hand.false for hand in hands):
        return None
    return [
        CaptionSet(
            as_main(hand.true[0]),
            tuple(caption.of_kind("restatement") for caption in hand.true[1:]),
            tuple(hand.false),
        )
        for hand in hands
    ]


def _give(hand: _Hand, caption: Caption, kind: Edit, kinds: Counter[Edit]) -> None:
    kinds[kind] += 1
    hand.false.append(caption.of_kind(kind.value))


def _deal_pool(
    hands: Sequence[_Hand],
    pool: _Pool,
    limit: int,
    kinds: Counter[Edit],
    rng: np.random.Generator,
) -> None:
    """Deal in rounds, each time to one member a sentence of the kind that is rarest so far."""
    stacks: list[dict[Edit, list[int]]] = []
    for hand in hands:
        stack: dict[Edit, list[int]] = {kind: [] for kind in _EDITS}
        for number in rng.permutation(len(pool.claims)).tolist():
            stack[hand.edits.kind(pool.outlines[number])].append(number)
        stacks.append(stack)
    progress = True
    while progress:
        progress = False
        for hand, stack in zip(hands, stacks, strict=True):
            if len(hand.false) < limit and _deal_one(hand, stack, hands, pool, limit, kinds):
                progress = True


def _deal_one(
    hand: _Hand,
    stack: dict[Edit, list[int]],
    hands: Sequence[_Hand],
    pool: _Pool,
    limit: int,
    kinds: Counter[Edit],
) -> bool:
    free = [other for other in hands if other is not hand and len(other.true) < limit]
    if not free:
        return False
    for kind in sorted(_EDITS, key=kinds.__getitem__):
        while stack[kind]:
            number = stack[kind].pop()
            claim = pool.claims[number]
            if not hand.hearing.refutes(claim):
                continue
            holders = [
                other for other in free if number not in other.held and other.hearing.proves(claim)
            ]
            if holders and (caption := pool.caption(number)):
                holder = min(holders, key=lambda other: len(other.true))
                holder.true.append(caption)
                holder.held.add(number)
                _give(hand, caption, kind, kinds)
                return True
    return False
