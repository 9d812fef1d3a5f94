"""Balance: the captions of a minimal-pair group, so dealt that no text betrays its truth.

Within a group every sentence is used as often where it is true as where it is false. Whatever can
be seen in a text alone - its words, its length, its style - then says nothing about which it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from synth.caption import Caption
from synth.contrast import CaptionSet, main
from synth.edit import Edit, Edits, Outline
from synth.scene import Scene
from synth.timeline import Timeline
from synth.truth import Hearing, Tolerance


@dataclass(frozen=True)
class Member:
    """One scene of a group.

    Args:
        statement: The scene over labels.
        timeline: What is heard.
        tolerance: What counts as a transition.
    """

    statement: Scene
    timeline: Timeline
    tolerance: Tolerance


class _Hand:
    """What has been dealt to a member."""

    def __init__(self, member: Member) -> None:
        self._hearing = Hearing(member.timeline, member.tolerance)
        self._edits = Edits(member.statement)
        self.true: list[Caption] = []
        self.false: list[Caption] = []

    def proves(self, caption: Caption) -> bool:
        return self._hearing.proves(caption.claim)

    def refutes(self, caption: Caption) -> bool:
        return self._hearing.refutes(caption.claim)

    def kind(self, claim: Outline) -> Edit:
        return self._edits.kind(claim)


def deal(
    members: Sequence[Member],
    mains: Sequence[Caption],
    pool: Sequence[Caption],
    limit: int,
    rng: np.random.Generator,
) -> list[CaptionSet] | None:
    """Captions for the members of a group.

    Args:
        members: The scenes.
        mains: The main caption of each.
        pool: Further sentences; their texts and those of `mains` all differ.
        limit: Most true sentences of a member, its main caption included, and most false ones.
        rng: Decides between equally good sentences.

    Returns:
        One set a member, each with a negative at least; None where a main caption is not proven, or
        cannot be used against another member.
    """
    hands = [_Hand(member) for member in members]
    kinds: Counter[Edit] = Counter()
    for hand, caption in zip(hands, mains, strict=True):
        hand.true.append(caption)
    for hand in hands:
        if not hand.proves(hand.true[0]):
            return None
        others = [hands[i] for i in rng.permutation(len(hands)) if hands[i] is not hand]
        against = [other for other in others if other.refutes(hand.true[0])]
        if not against:
            return None
        loser = min(against, key=lambda other: len(other.false))
        _give(loser, hand.true[0], loser.kind(Outline.of(hand.true[0].claim)), kinds)
    _deal_pool(hands, pool, limit, kinds, rng)
    if not all(hand.false for hand in hands):
        return None
    return [
        CaptionSet(
            main(hand.true[0]),
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
    pool: Sequence[Caption],
    limit: int,
    kinds: Counter[Edit],
    rng: np.random.Generator,
) -> None:
    """Deal in rounds, each time to one member a sentence of the kind that is rarest so far."""
    outlines = [Outline.of(caption.claim) for caption in pool]
    stacks: list[dict[Edit, list[Caption]]] = []
    for hand in hands:
        stack: dict[Edit, list[Caption]] = {kind: [] for kind in Edit}
        for i in rng.permutation(len(pool)).tolist():
            stack[hand.kind(outlines[i])].append(pool[i])
        stacks.append(stack)
    progress = True
    while progress:
        progress = False
        for hand, stack in zip(hands, stacks, strict=True):
            if len(hand.false) < limit and _deal_one(hand, stack, hands, limit, kinds):
                progress = True


def _deal_one(
    hand: _Hand,
    stack: dict[Edit, list[Caption]],
    hands: Sequence[_Hand],
    limit: int,
    kinds: Counter[Edit],
) -> bool:
    free = [other for other in hands if other is not hand and len(other.true) < limit]
    if not free:
        return False
    for kind in sorted(Edit, key=lambda kind: kinds[kind]):
        while stack[kind]:
            caption = stack[kind].pop()
            if not hand.refutes(caption):
                continue
            holders = [
                other for other in free if caption not in other.true and other.proves(caption)
            ]
            if holders:
                min(holders, key=lambda other: len(other.true)).true.append(caption)
                _give(hand, caption, kind, kinds)
                return True
    return False
