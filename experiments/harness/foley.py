"""The embedded sounds as an experiment hears them, where no other library is given."""

from __future__ import annotations

from typing import Final

from experiments.harness.experiment import Scale
from experiments.harness.library import Library

TINY_CLASSES: Final = (
    "car_horn",
    "cat",
    "church_bells",
    "crickets",
    "crow",
    "dog",
    "footsteps",
    "helicopter",
    "laughing",
    "rain",
    "siren",
    "water_drops",
)


def foley(scale: Scale) -> Library:
    """Half of the classes, 40 recordings of each, at `tiny`; else all of them, 200 of each."""
    if scale is Scale.TINY:
        return Library("foley", {"classes": TINY_CLASSES, "takes": 40})
    return Library("foley", {"takes": 200})
