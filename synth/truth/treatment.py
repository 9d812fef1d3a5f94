"""Treatments: what is done to a recording, and in what it then differs from itself.

Recordings carry their own rooms, distances and pitches. So of these only differences between two
treatments of one recording can be told.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from synth.scene.claim import Quantity


class Treatment(StrEnum):
    """How a recording is treated; see `EFFECTS` for what everybody hears of it."""

    HALL = "hall"
    FAR = "far"
    HIGH = "high"
    LOW = "low"
    FAST = "fast"
    SLOW = "slow"
    RISING = "rising"
    FALLING = "falling"


TREATMENT: Final = "treatment"
"""The category of the tag that tells a clip's treatment."""

EFFECTS: Final[Mapping[str, Mapping[Quantity, int]]] = {
    "": dict.fromkeys(
        (
            Quantity.AGAIN_FARTHER,
            Quantity.AGAIN_ROOMIER,
            Quantity.AGAIN_HIGHER,
            Quantity.AGAIN_FASTER,
        ),
        0,
    ),
    Treatment.HALL: {Quantity.AGAIN_ROOMIER: 1},
    Treatment.FAR: {Quantity.AGAIN_FARTHER: 1},
    Treatment.HIGH: {Quantity.AGAIN_HIGHER: 1},
    Treatment.LOW: {Quantity.AGAIN_HIGHER: -1},
    Treatment.FAST: {Quantity.AGAIN_FASTER: 1},
    Treatment.SLOW: {Quantity.AGAIN_FASTER: -1},
}
"""By treatment and quantity: 1 for more, -1 for less, 0 for the same; others are unclear."""


def find_treatment(tags: Iterable[Mapping[str, str]]) -> str:
    """The treatment that a clip's tags tell, "" for none."""
    return next((tag["name"] for tag in tags if tag["category"] == TREATMENT), "")
