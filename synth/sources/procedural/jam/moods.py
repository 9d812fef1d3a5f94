"""The moods: rules over tempo, mode, density, register and room. What is not tagged is denied."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from synth.base.units import Seconds
from synth.sources.procedural.jam.tune import DRUMS, Tune

SLOW: Final = 84
"""The most bpm of a slow loop."""
FAST: Final = 100
"""The least bpm of a fast one; there is none between."""
SPARSE: Final = 3.0
"""The most onsets a second of a sparse loop."""
LOW: Final = 62
"""The highest note of a low loop: the D above middle C; none has its highest note just above."""
HALL: Final[Seconds] = 2.0
"""The least reverberation time of a hall; that of any other room is below 1 s."""


def _slow(tune: Tune) -> bool:
    return tune.bpm <= SLOW


def _fast(tune: Tune) -> bool:
    return tune.bpm >= FAST


def _sparse(tune: Tune) -> bool:
    return tune.onset_rate <= SPARSE


def calm(tune: Tune) -> bool:
    """Slow and sparse."""
    return _slow(tune) and _sparse(tune)


def dark(tune: Tune) -> bool:
    """In minor, every note low."""
    return tune.mode == "minor" and tune.top <= LOW


def dreamy(tune: Tune) -> bool:
    """Slow and sparse in a hall, without drums."""
    return calm(tune) and tune.room.decay >= HALL and DRUMS not in tune.instruments


def energetic(tune: Tune) -> bool:
    """Fast and dense, with drums."""
    return _fast(tune) and not _sparse(tune) and DRUMS in tune.instruments


def happy(tune: Tune) -> bool:
    """Fast and in major."""
    return tune.mode == "major" and _fast(tune)


def sad(tune: Tune) -> bool:
    """Slow, sparse and in minor."""
    return tune.mode == "minor" and calm(tune)


MOODS: Final[Mapping[str, Callable[[Tune], bool]]] = MappingProxyType(
    {
        "calm": calm,
        "dark": dark,
        "dreamy": dreamy,
        "energetic": energetic,
        "happy": happy,
        "sad": sad,
    }
)
