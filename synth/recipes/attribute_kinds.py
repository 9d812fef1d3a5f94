"""The attributes in which the members of a group of the recipe `attributes` differ."""

from __future__ import annotations

import math
from enum import StrEnum
from typing import Final

from synth.base.units import Seconds

PAUSE_S: Final = (0.3, 0.8)
"""Shortest and longest pause between two sounds where it does not matter."""

GAPS_S: Final = (2, 3, 4)
"""Pauses that are told."""

LENGTHS: Final = 2.5
"""Of two lengths that can be told from one another the longer is so many times the shorter."""

BED_S: Final[Seconds] = 2.5
"""A shorter sound has no start, middle and end to speak of."""


class Attribute(StrEnum):
    """What members differ in; named like the quantities of `synth.scene.claim`."""

    DURATION = "duration"
    LONGER = "longer"
    GAP = "gap"
    ONSET = "onset"
    POSITION = "position"
    LOUDER = "louder"
    BACKGROUND = "background"
    AGAIN_LOUDER = "again_louder"
    TREND = "trend"
    AGAIN_FARTHER = "again_farther"
    AGAIN_ROOMIER = "again_roomier"
    AGAIN_HIGHER = "again_higher"
    AGAIN_FASTER = "again_faster"

    @property
    def needs_treatment(self) -> bool:
        """Whether it is told of treated clips."""
        return self is Attribute.TREND or (
            self.value.startswith("again_") and self is not Attribute.AGAIN_LOUDER
        )

    def measure_room(self, longest_s: Seconds) -> Seconds:
        """How long a sample must be for its members.

        Args:
            longest_s: No sound lasts longer; one over which others are heard is cut as needed.
        """
        match self:
            case Attribute.DURATION:
                return math.ceil(LENGTHS)
            case Attribute.ONSET | Attribute.POSITION:
                return BED_S
            case Attribute.TREND | Attribute.BACKGROUND:
                return longest_s
            case Attribute.GAP:
                return 2 * longest_s + max(GAPS_S)
            case _:
                return 2 * longest_s + PAUSE_S[1]
