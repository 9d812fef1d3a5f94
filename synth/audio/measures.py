"""What of a sound is compared with another rendition of it: reverberation, brightness and so on.

Silence around a sound changes none of these by much.
"""

from __future__ import annotations

import math
from typing import Final

import librosa  # their parts are loaded when they are used
import numpy as np
import scipy

from synth.audio.dsp import (
    LEVEL_HOP_S,
    SILENCE_DB,
    Audio,
    active_span,
    attacks,
    levels,
    weighted_levels,
)
from synth.base.units import Decibels, Seconds

RANGE_DB: Final[Decibels] = 50.0
"""A sound lasts from the first to the last 50 ms block that is at most so far below the loudest."""

_HEARD_DB: Final = 30.0
_FALL_DB: Final = 40.0
_FALL_BLOCKS: Final = 6
_SPECTRUM_FRAMES: Final = 4096
_DISTINCT_DB: Final = (10.0, 20.0)
_LEAST_ATTACKS: Final = 3
_TEMPOS: Final = (1.0, 8.0)
"""Per second, the slowest and the fastest that a person counts."""


def measure_reverberation(audio: Audio, rate: int) -> Seconds:
    """The time that 60 dB take where the level falls fastest, over 0.3 s.

    No sound ends faster than its room lets it: in a reverberant room no pause between two sounds is
    deep. Of the fall 40 dB count, so that 0.45 s is the least; a sound that ends slowly by itself
    measures as much as a reverberant one.
    """
    if not len(audio):
        return 0.0
    around = (_FALL_BLOCKS, _FALL_BLOCKS)
    decibels = np.pad(levels(audio, rate), around, constant_values=SILENCE_DB)
    heard = np.maximum(decibels, decibels.max() - _FALL_DB)
    fall = float((heard[:-_FALL_BLOCKS] - heard[_FALL_BLOCKS:]).max())
    return 60 * _FALL_BLOCKS * LEVEL_HOP_S / max(fall, 1e-3)


def measure_brightness(audio: Audio, rate: int) -> float:
    """The centroid of the A-weighted power spectrum, in octaves over 1 kHz; 0 for silence."""
    frames = min(_SPECTRUM_FRAMES, len(audio))
    if frames < 2:
        return 0.0
    pitches, powers = scipy.signal.welch(audio, rate, nperseg=frames)
    heard = powers[1:] * 10 ** (librosa.A_weighting(pitches[1:]) / 10)
    total = float(heard.sum())
    return float(np.log2((heard * pitches[1:]).sum() / total / 1000)) if total else 0.0


def measure_level(audio: Audio, rate: int) -> Decibels:
    """The A-weighted level in dB where the sound is loudest; that of a full-scale sine is -3."""
    return float(weighted_levels(audio, rate).max(initial=SILENCE_DB))


def measure_slope(audio: Audio, rate: int) -> Decibels:
    """How far the A-weighted level of the second half is above that of the first.

    The halves are those of the time between the first and the last 50 ms block within 30 dB of the
    loudest. A steady sound under a gain that rises by 18 dB gives some 9 dB.
    """
    decibels = weighted_levels(audio, rate).astype(np.float64)
    heard = np.flatnonzero(decibels >= decibels.max(initial=SILENCE_DB) - _HEARD_DB)
    half = (heard[-1] + 1 - heard[0]) // 2 if len(heard) else 0
    if not half:
        return 0.0
    powers = 10 ** (decibels[heard[0] : heard[-1] + 1] / 10)
    return float(10 * np.log10(powers[-half:].mean() / powers[:half].mean()))


def measure_tempo(audio: Audio, rate: int) -> float:
    """Attacks per second; NaN where nobody could count them, or too few.

    Those count whose 50 ms block is within 20 dB of the loudest.
    """
    decibels = levels(audio, rate)
    loud = decibels >= decibels.max(initial=SILENCE_DB) - _DISTINCT_DB[1]
    marks = attacks(audio, rate, _DISTINCT_DB[0]) * loud
    blocks = np.repeat(np.arange(len(marks)), marks)
    if len(blocks) < _LEAST_ATTACKS:
        return math.nan
    tempo = (len(blocks) - 1) / (max(int(blocks[-1] - blocks[0]), 1) * LEVEL_HOP_S)
    return tempo if _TEMPOS[0] <= tempo <= _TEMPOS[1] else math.nan


def measure_length(audio: Audio, rate: int) -> Seconds:
    """How long the sound lasts, without the silence around it."""
    span = active_span(audio, rate, RANGE_DB)
    return (span.offset - span.onset) / rate if span else 0.0
