"""Dealing: the clips of a split as a deck, dealt to groups until it is used up, then dealt anew.

Group k of a round is computed from the round's number and nothing else: every round has as many
groups of each size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

import numpy as np

from synth.base.errors import PlanError
from synth.base.rng import Randomness
from synth.labels.lexicon import are_confusable
from synth.recipes.clips import Clip, by_label

Hand: TypeAlias = tuple[Clip, ...]


@dataclass(frozen=True)
class ClipDealer:
    """Deals clips without replacement.

    In a round no clip is dealt twice. Few are dealt not at all: less than one hand, and what a
    label has more of than there are groups. Other ones are left in the next round.

    Args:
        clips: The deck.
        most: Clips of the largest hand; a hand has 3 to so many, each number equally often.
        randomness: The corpus's.
        operation: Name of the draws.
    """

    clips: tuple[Clip, ...]
    most: int
    randomness: Randomness
    operation: str

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Clips of each hand of a round."""
        found: list[int] = []
        left = len(self.clips)
        while left >= (size := 3 + len(found) % (self.most - 2)):
            found.append(size)
            left -= size
        if not found:
            raise PlanError(
                f"recipe.scenes.without_replacement: {len(self.clips)} clips do not make one group",
                fix="add clips, or set without_replacement: false",
            )
        return tuple(found)

    def hand(self, index: int) -> Hand:
        """The clips of a group, of labels that cannot be confused; fewer where too few fit."""
        round_, place = divmod(index, len(self.sizes))
        if round_ not in self._rounds:
            self._rounds.clear()
            self._rounds[round_] = self._deal(self.randomness.at(self.operation, round_))
        return self._rounds[round_][place]

    @cached_property
    def _rounds(self) -> dict[int, list[Hand]]:
        """The round that was asked for last."""
        return {}

    @cached_property
    def _stacks(self) -> Sequence[list[Clip]]:
        found = by_label(self.clips)
        return [found[label] for label in sorted(found)]

    @cached_property
    def _foes(self) -> Sequence[list[int]]:
        """The stacks that each may not meet, itself among them."""
        labels = [stack[0].labels[0] for stack in self._stacks]
        return [
            [at for at, other in enumerate(labels) if are_confusable(label, other)]
            for label in labels
        ]

    def _deal(self, rng: np.random.Generator) -> list[Hand]:
        """Deal the largest stacks first, each clip to a hand that lacks most."""
        hands: list[list[Clip]] = [[] for _ in self.sizes]
        room = np.array(self.sizes)[rng.permutation(len(self.sizes))]
        met = np.zeros((len(self._stacks), len(hands)), dtype=np.bool_)
        order = rng.permutation(len(self._stacks)).tolist()
        for stack in sorted(order, key=lambda at: -len(self._stacks[at])):
            clips = self._stacks[stack]
            free = (room > 0) & ~met[self._foes[stack]].any(axis=0)
            wanting = np.lexsort((rng.random(len(hands)), -room))
            chosen = wanting[free[wanting]][: len(clips)]
            for place, take in zip(chosen.tolist(), rng.permutation(len(clips)), strict=False):
                hands[place].append(clips[take])
            room[chosen] -= 1
            met[stack, chosen] = True
        return [tuple(hand[at] for at in rng.permutation(len(hand))) for hand in hands]
