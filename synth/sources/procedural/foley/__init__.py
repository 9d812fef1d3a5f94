"""Foley: 24 classes of everyday sounds made from mathematics, with nothing to download.

`synthesize(label, rng)` is one field recording of a class, a pure function of its arguments.
The labels are those that ESC-50 gives to the same sounds.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

from synth.sources.procedural.foley import kinds
from synth.sources.procedural.foley.signals import RATE, draw_length, record

__all__ = ["CLASSES", "RATE", "VERSION", "synthesize"]

VERSION: Final = 1
"""Raised when any class comes to sound different, so that kept recordings are made anew."""

CLASSES: Final = (
    *("car_horn", "cat", "church_bells", "clapping", "clock_alarm", "crackling_fire", "crickets"),
    *("crow", "dog", "door_wood_knock", "engine", "footsteps", "frog", "helicopter"),
    *("keyboard_typing", "laughing", "rain", "rooster", "sea_waves", "siren", "thunderstorm"),
    *("vacuum_cleaner", "water_drops", "wind"),
)
"""The 24 labels, sorted; functions of `kinds`."""


def synthesize(label: str, rng: np.random.Generator) -> NDArray[np.float32]:
    """One mono recording of a class at 48 kHz.

    Returns:
        Shape (frames,), 1.5 to 5 s, within [-1, 1], peak -20 to -1 dBFS. About one take in three
        has up to 1 s of digital silence around the sound, which itself lasts 1.5 s or more.
    """
    if label not in CLASSES:
        raise ValueError(f"unknown foley class {label!r}; known: {', '.join(CLASSES)}")
    return record(getattr(kinds, label)(draw_length(rng), rng), rng)
