"""Foley: 24 classes of everyday sounds made from mathematics, with nothing to download.

`synthesize(label, rng)` is one field recording of a class, a pure function of its arguments.
The labels are those that ESC-50 gives to the same sounds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from synth.sources.procedural.foley import kinds
from synth.sources.procedural.foley.signals import RATE, FloatArray, record

__all__ = ["CLASSES", "RATE", "VERSION", "synthesize"]

VERSION: Final = 1
"""Raised when any class comes to sound different, so that kept recordings are made anew."""

_SOUNDS: Final[Mapping[str, Callable[[np.random.Generator], FloatArray]]] = MappingProxyType(
    {
        "car_horn": kinds.car_horn,
        "cat": kinds.cat,
        "church_bells": kinds.church_bells,
        "clapping": kinds.clapping,
        "clock_alarm": kinds.clock_alarm,
        "crackling_fire": kinds.crackling_fire,
        "crickets": kinds.crickets,
        "crow": kinds.crow,
        "dog": kinds.dog,
        "door_wood_knock": kinds.door_wood_knock,
        "engine": kinds.engine,
        "footsteps": kinds.footsteps,
        "frog": kinds.frog,
        "helicopter": kinds.helicopter,
        "keyboard_typing": kinds.keyboard_typing,
        "laughing": kinds.laughing,
        "rain": kinds.rain,
        "rooster": kinds.rooster,
        "sea_waves": kinds.sea_waves,
        "siren": kinds.siren,
        "thunderstorm": kinds.thunderstorm,
        "vacuum_cleaner": kinds.vacuum_cleaner,
        "water_drops": kinds.water_drops,
        "wind": kinds.wind,
    }
)

CLASSES: Final[tuple[str, ...]] = tuple(sorted(_SOUNDS))
"""The 24 labels, sorted."""


def synthesize(label: str, rng: np.random.Generator) -> NDArray[np.float32]:
    """One mono recording of a class at 48 kHz.

    Args:
        label: One of `CLASSES`.
        rng: The only source of variety; equal states give equal bits.

    Returns:
        Shape (frames,), 1.5 to 5 s, within [-1, 1], peak -20 to -1 dBFS. About one take in three
        has up to 1 s of digital silence around the sound, which itself lasts 1.5 s or more.
    """
    sound = _SOUNDS.get(label)
    if sound is None:
        raise ValueError(f"unknown foley class {label!r}; known: {', '.join(CLASSES)}")
    return record(sound(rng), rng)
