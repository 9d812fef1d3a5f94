"""Effects: in what a treated recording differs from itself, to every ear.

Recordings carry their own rooms, distances and pitches. So of these only differences between two
treatments of one recording can be told.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from synth.labels.treatment import Treatment
from synth.scene.claim import Quantity

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
