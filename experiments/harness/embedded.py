"""The embedded sounds and music as experiments hear them, where no other library is given."""

from __future__ import annotations

from typing import Final

from experiments.harness.experiment import Scale
from experiments.harness.library import SoundLibrary

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

_JAM_SPLITS: Final = {"train": ["1", "2", "3"], "val": ["4"], "test": ["5"]}


def make_foley(scale: Scale) -> SoundLibrary:
    """Half of the classes, 40 recordings of each, at `tiny`; else all of them, 200 of each."""
    if scale is Scale.TINY:
        return SoundLibrary("foley", {"classes": TINY_CLASSES, "takes": 40})
    return SoundLibrary("foley", {"takes": 200})


def make_jam(tracks: int) -> SoundLibrary:
    """So many tracks; they need not be composed to know their folds."""
    return SoundLibrary("jam", {"tracks": tracks}, _JAM_SPLITS)
