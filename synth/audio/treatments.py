"""Treatments: one recording in a hall, further away, higher or lower, faster, getting louder.

All values are chosen, and so is the least change of each treatment: several times what is just
noticed, which is 5 % of a reverberation time (ISO 3382-1). Some sounds change less and are not
used: noise has no pitch to raise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
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
from synth.base.units import Decibels, Seconds, to_frames, to_gain
from synth.labels.lexicon import Treatment

# What is compared with another rendition of a sound: reverberation, brightness and so on. Silence
# around a sound changes none of these by much.


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
    floored = np.maximum(decibels, decibels.max() - _FALL_DB)
    fall = float((floored[:-_FALL_BLOCKS] - floored[_FALL_BLOCKS:]).max())
    return 60 * _FALL_BLOCKS * LEVEL_HOP_S / max(fall, 1e-3)


def measure_brightness(audio: Audio, rate: int) -> float:
    """The centroid of the A-weighted power spectrum, in octaves over 1 kHz; 0 for silence."""
    frames = min(_SPECTRUM_FRAMES, len(audio))
    if frames < 2:
        return 0.0
    pitches, powers = scipy.signal.welch(audio, rate, nperseg=frames)
    weighted = powers[1:] * 10 ** (librosa.A_weighting(pitches[1:]) / 10)
    total = float(weighted.sum())
    return float(np.log2((weighted * pitches[1:]).sum() / total / 1000)) if total else 0.0


def measure_level(audio: Audio, rate: int) -> Decibels:
    """The A-weighted level in dB where the sound is loudest; that of a full-scale sine is -3."""
    return float(weighted_levels(audio, rate).max(initial=SILENCE_DB))


def measure_slope(audio: Audio, rate: int) -> Decibels:
    """How far the A-weighted level of the second half is above that of the first.

    The halves are those of the time between the first and the last 50 ms block within 30 dB of the
    loudest. A steady sound under a gain that rises by 18 dB gives some 9 dB.
    """
    decibels = weighted_levels(audio, rate).astype(np.float64)
    audible = np.flatnonzero(decibels >= decibels.max(initial=SILENCE_DB) - _HEARD_DB)
    half = (audible[-1] + 1 - audible[0]) // 2 if len(audible) else 0
    if not half:
        return 0.0
    powers = 10 ** (decibels[audible[0] : audible[-1] + 1] / 10)
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


# The treatments.


TREATMENTS_VERSION: Final = 1
SEMITONES: Final = 5
TEMPO: Final = 1.5
RAMP_DB: Final[Decibels] = 18.0
FAR_DB: Final[Decibels] = -15.0
FAR_CUTOFF_HZ: Final = 1_000.0
_LEAST_FRAMES: Final = 4096


@dataclass(frozen=True, slots=True)
class Room:
    """A room, as a sound and the decaying noise that follows it.

    Args:
        decay_s: In which the noise decays by 60 dB.
        direct_db: Level of the direct sound over that of the noise.
    """

    decay_s: Seconds
    direct_db: Decibels

    def play(self, audio: Audio, rate: int, rng: np.random.Generator) -> Audio:
        """The sound in the room, with all of its tail."""
        frames = to_frames(self.decay_s, rate)
        response = rng.standard_normal(frames) * 10 ** (-3 * np.arange(frames) / frames)
        response *= to_gain(-self.direct_db) / np.linalg.norm(response)
        response[0] += 1
        return np.asarray(scipy.signal.fftconvolve(audio, response), dtype=np.float32)


HALL: Final = Room(decay_s=2.5, direct_db=-3.0)
FAR_ROOM: Final = Room(decay_s=1.0, direct_db=-6.0)


def _put_far(audio: Audio, rate: int, rng: np.random.Generator) -> Audio:
    """Dull, in a room, and quieter by `FAR_DB` where it is loudest, A-weighted."""
    cutoff = min(FAR_CUTOFF_HZ, 0.45 * rate)
    dull = scipy.signal.sosfilt(scipy.signal.butter(2, cutoff, fs=rate, output="sos"), audio)
    distant = FAR_ROOM.play(np.asarray(dull, dtype=np.float32), rate, rng)
    gain_db = measure_level(audio, rate) + FAR_DB - measure_level(distant, rate)
    return distant * np.float32(to_gain(gain_db))


def _shift(audio: Audio, rate: int, rng: np.random.Generator, *, semitones: float) -> Audio:
    """At another pitch, as long as before."""
    from librosa.effects import pitch_shift

    shifted = pitch_shift(_fill(audio), sr=rate, n_steps=semitones)
    return np.asarray(shifted[: len(audio)], dtype=np.float32)


def _stretch(audio: Audio, rate: int, rng: np.random.Generator, *, speed: float) -> Audio:
    """At another tempo, at the same pitch."""
    from librosa.effects import time_stretch

    stretched = time_stretch(_fill(audio), rate=speed)
    return np.asarray(stretched[: round(len(audio) / speed)], dtype=np.float32)


def _fill(audio: Audio) -> Audio:
    """Long enough for a frame of a spectrum."""
    return np.pad(audio, (0, max(0, _LEAST_FRAMES - len(audio))))


def _ramp(audio: Audio, rate: int, rng: np.random.Generator, *, rise_db: Decibels) -> Audio:
    """With a gain that rises or falls evenly from where the sound begins to where it ends."""
    span = active_span(audio, rate, RANGE_DB)
    if span is None:
        return audio
    ends = [min(-rise_db, 0.0), min(rise_db, 0.0)]
    gains_db = np.interp(np.arange(len(audio)), [span.onset, span.offset], ends)
    return audio * (10 ** (gains_db / 20)).astype(np.float32)


@dataclass(frozen=True, slots=True)
class RequiredChange:
    """What a treatment must at least change of a sound.

    Args:
        least: Difference, below 0 for less of it; of the logarithm to base 2 where `is_ratio`.
        own: What is measured after the treatment must reach this, or be below it where it is below
            0; None for anything.
        is_ratio: Whether the two are divided.
    """

    what: str
    measure: Callable[[Audio, int], float]
    least: float
    own: float | None = None
    is_ratio: bool = False

    def explain_lack(self, before: Audio, after: Audio, rate: int, share: float) -> str:
        """Why the change cannot be heard clearly; "" where `share` of the bounds can."""
        old, new = self.measure(before, rate), self.measure(after, rate)
        change = float(np.log2(new / old)) if self.is_ratio else new - old
        asked = (change, self.least), (new, self.own)
        if all(bound is None or value / bound >= share for value, bound in asked):
            return ""
        return f"its {self.what} was {old:.2f} and is {new:.2f}"


@dataclass(frozen=True, slots=True)
class TreatmentProcess:
    """How a recording is treated, and what that must change of it."""

    apply: Callable[[Audio, int, np.random.Generator], Audio]
    changes: tuple[RequiredChange, ...]


_LOUDER: Final = partial(RequiredChange, "slope in dB", measure_slope)
_BRIGHTER: Final = partial(RequiredChange, "brightness in octaves over 1 kHz", measure_brightness)
_LONGER: Final = partial(RequiredChange, "length in s", measure_length, is_ratio=True)
_OCTAVE: Final = 0.2
_RATIO: Final = 0.4
_SLOPE_DB: Final = 6.0
# What hums or hisses all through is shorter, and no faster.
_FASTER: Final = partial(RequiredChange, "attacks per s", measure_tempo, is_ratio=True)
_TEMPO_RATIO: Final = 0.25

TREATMENTS: Final[Mapping[Treatment, TreatmentProcess]] = {
    Treatment.HALL: TreatmentProcess(
        HALL.play,
        (RequiredChange("reverberation in s", measure_reverberation, 1.0, is_ratio=True),),
    ),
    Treatment.FAR: TreatmentProcess(
        _put_far, (RequiredChange("level in dBA", measure_level, FAR_DB + 3), _BRIGHTER(-_OCTAVE))
    ),
    Treatment.HIGH: TreatmentProcess(partial(_shift, semitones=SEMITONES), (_BRIGHTER(_OCTAVE),)),
    Treatment.LOW: TreatmentProcess(partial(_shift, semitones=-SEMITONES), (_BRIGHTER(-_OCTAVE),)),
    Treatment.FAST: TreatmentProcess(
        partial(_stretch, speed=TEMPO), (_LONGER(-_RATIO), _FASTER(_TEMPO_RATIO))
    ),
    Treatment.SLOW: TreatmentProcess(
        partial(_stretch, speed=1 / TEMPO), (_LONGER(_RATIO), _FASTER(-_TEMPO_RATIO))
    ),
    Treatment.RISING: TreatmentProcess(
        partial(_ramp, rise_db=RAMP_DB), (_LOUDER(_SLOPE_DB, own=_SLOPE_DB),)
    ),
    Treatment.FALLING: TreatmentProcess(
        partial(_ramp, rise_db=-RAMP_DB), (_LOUDER(-_SLOPE_DB, own=-_SLOPE_DB),)
    ),
}


def treat(treatment: Treatment, audio: Audio, rate: int, rng: np.random.Generator) -> Audio:
    """A treated sound."""
    return TREATMENTS[treatment].apply(audio, rate, rng)


def explain_lack(
    treatment: Treatment, before: Audio, after: Audio, rate: int, share: float = 1.0
) -> str:
    """Why a treated sound is not clearly another; "" where it is."""
    lacks = (
        change.explain_lack(before, after, rate, share) for change in TREATMENTS[treatment].changes
    )
    return next(filter(None, lacks), "")
