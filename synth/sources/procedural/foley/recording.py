"""From a dry sound to a field recording: room, distance, hiss, level and edited-in silence."""

from __future__ import annotations

from typing import Final

import numpy as np
import scipy  # its parts are loaded when they are used
from numpy.typing import NDArray

from synth.base.units import to_gain
from synth.sources.procedural.foley.atoms import (
    RATE,
    FloatArray,
    frames,
    tilted_noise,
    unit_peak,
    unit_rms,
)

_SILENT_SHARE: Final = 1 / 3  # of takes that carry digital silence


def reverb(x: FloatArray, rng: np.random.Generator, decay: float, wet: float) -> FloatArray:
    """`x` in a room: a few early reflections and a noise tail that falls 60 dB in `decay` s.

    Args:
        x: Dry signal, shape (frames,).
        rng: Source of the room.
        decay: Reverberation time, seconds.
        wet: RMS of the room's sound over that of the dry sound.
    """
    m = frames(decay)
    tail = rng.standard_normal(m) * np.exp(-6.9 * np.arange(m) / m)
    tail[: frames(0.008)] = 0.0
    early = frames(0.002) + rng.integers(0, max(m // 4, 1), 6)
    tail[np.minimum(early, m - 1)] += rng.uniform(2, 5, 6) * rng.choice((-1.0, 1.0), 6)
    # Air and walls eat the highs.
    tail = scipy.signal.lfilter((0.5,), (1.0, -0.5), tail)
    room: FloatArray = scipy.signal.oaconvolve(x, tail)[: x.size]
    return x + wet * unit_rms(room) * float(np.sqrt(np.mean(x**2)))


def record(dry: FloatArray, rng: np.random.Generator) -> NDArray[np.float32]:
    """The recording of a dry sound, near or far, in a room or outdoors.

    Args:
        dry: Sound, shape (frames,), any level.
        rng: Source of the circumstances.

    Returns:
        Shape (frames,), peak -20 to -1 dBFS; one take in three has up to 1 s of digital silence
        before or behind the sound, or shared between both.
    """
    distance = rng.uniform()
    x = reverb(unit_peak(dry), rng, rng.uniform(0.1, 0.9), 0.02 + 0.4 * distance * rng.uniform())
    cutoff = 18_000 * (4_500 / 18_000) ** (distance * rng.uniform())
    colour = rng.uniform(-0.4, 0.4)  # of the microphone: up to 7 dB from lows to highs
    low_pass = scipy.signal.butter(2, cutoff, "lowpass", fs=RATE, output="sos")
    x = unit_peak(scipy.signal.sosfilt(low_pass, scipy.signal.lfilter((1.0, colour), (1.0,), x)))
    x += to_gain(rng.uniform(-75, -55)) * tilted_noise(x.size, rng, rng.uniform(0, 4))
    fade_in, fade_out = frames(0.005), frames(0.03)
    x[:fade_in] *= np.linspace(0, 1, fade_in)
    x[-fade_out:] *= np.linspace(1, 0, fade_out)
    x = unit_peak(x) * to_gain(rng.uniform(-20, -1))
    return np.pad(x, _silence(rng)).astype(np.float32)


def _silence(rng: np.random.Generator) -> tuple[int, int]:
    if rng.uniform() >= _SILENT_SHARE:
        return 0, 0
    total = rng.uniform(0.1, 1.0)
    before = rng.choice((0.0, rng.uniform(), 1.0))
    return frames(total * before), frames(total * (1 - before))
