"""What the sounds of foley are made of, and how they are recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, TypeAlias

import numpy as np
import scipy
from numpy.typing import NDArray

from synth.base.units import to_frames, to_gain

# DSP atoms that the foley classes are made of: noise, curves, oscillators, resonators, pacing.
#
# Signals are float64 arrays of shape (frames,) at 48 kHz. Times are in seconds, frequencies in Hz,
# gains linear. Nothing here holds state: every random draw comes from the generator passed in.


RATE: Final = 48_000
FloatArray: TypeAlias = NDArray[np.float64]
Track: TypeAlias = float | FloatArray
"""A parameter of a sound: constant, or one value a frame."""

_WINDOW: Final = 512  # 10.7 ms: long enough for a formant to ring, short enough for it to move
_HOP: Final = _WINDOW // 2


def frames(duration: float) -> int:
    """Sample frames in `duration` seconds."""
    return to_frames(duration, RATE)


def draw_length(rng: np.random.Generator) -> int:
    """Frames of a take, 1.5 to 4 s: one distribution for all classes, so that length tells none."""
    return frames(rng.uniform(1.5, 4.0))


def unit_peak(x: FloatArray) -> FloatArray:
    """`x` scaled to a peak of 1 (zeros stay zeros)."""
    return x / max(float(np.max(np.abs(x), initial=0.0)), 1e-12)


def unit_rms(x: FloatArray) -> FloatArray:
    """`x` scaled to a root mean square of 1 (zeros stay zeros)."""
    return x / max(float(np.sqrt(np.mean(x**2))), 1e-12)


# Noise


def band_noise(n: int, rng: np.random.Generator, low: float, high: float) -> FloatArray:
    """White noise through a Butterworth band-pass `low` to `high` Hz, unit RMS."""
    sos = scipy.signal.butter(1, (low, high), "bandpass", fs=RATE, output="sos")
    return unit_rms(scipy.signal.sosfilt(sos, rng.standard_normal(n)))


def tilted_noise(n: int, rng: np.random.Generator, slope: float, corner: float = 50) -> FloatArray:
    """Noise falling by `slope` dB per octave above `corner` Hz (3 pink, 6 brown), unit RMS."""
    size = 1 << (n - 1).bit_length()
    f = np.fft.rfftfreq(size, 1 / RATE)
    gain = np.maximum(f / corner, 1.0) ** (-slope / (20 * np.log10(2)))
    return unit_rms(np.fft.irfft(np.fft.rfft(rng.standard_normal(n), size) * gain, size)[:n])


def poisson_clicks(n: int, rng: np.random.Generator, rate: float, spread: float) -> FloatArray:
    """Impulses at random times, `rate` a second; log-normal heights, `spread` nepers, any sign."""
    x = np.zeros(n)
    k = max(1, rng.poisson(rate * n / RATE))
    heights = np.exp(spread * rng.standard_normal(k)) * rng.choice((-1.0, 1.0), k)
    np.add.at(x, rng.integers(0, n, k), heights)
    return x


# Curves


def curve(n: int, values: Sequence[float], at: Sequence[float] | None = None) -> FloatArray:
    """Straight lines through `values` over `n` frames, at places `at` in 0 to 1 (default even)."""
    places = np.linspace(0, 1, len(values)) if at is None else np.asarray(at)
    return np.interp(np.linspace(0, 1, n), places, values)


def wander(n: int, rng: np.random.Generator, rate: float, octaves: float) -> FloatArray:
    """Random factor around 1 that turns `rate` times a second, `octaves` standard deviation."""
    t = rng.uniform() + np.arange(n) * (rate / RATE)
    knots = rng.standard_normal(int(t[-1]) + 2)
    factor: FloatArray = np.exp2(octaves * np.interp(t, np.arange(knots.size), knots))
    return factor


def burst(n: int, attack: float, decay: float) -> FloatArray:
    """Linear rise in `attack` seconds, then exponential fall with time constant `decay`."""
    t = np.arange(n) / RATE
    return np.minimum(t / attack, 1.0) * np.exp(-np.maximum(t - attack, 0.0) / decay)


def phase(frequency: FloatArray) -> FloatArray:
    """Running phase in cycles of an oscillator with the given frequency at every frame."""
    return np.cumsum(frequency) / RATE


# Oscillators and resonators


def pulse_train(f0: FloatArray, roll_off: float) -> FloatArray:
    """Harmonic pulses of pitch `f0`: the harmonic at f Hz has amplitude exp(-f / roll_off).

    The sum of a^k cos(k theta) over all k has a closed form; the pulses peak near 1.
    """
    a = np.exp(-f0 / roll_off)
    c = np.cos(2 * np.pi * phase(f0))
    pulses: FloatArray = (1 - a) * (c - a) / (1 - 2 * a * c + a * a)
    return pulses


def formants(
    x: FloatArray, centres: Sequence[Track], widths: Sequence[float], gains: Sequence[float]
) -> FloatArray:
    """`x` through parallel resonances, in Hz, that may move, by overlap-add of short frames."""
    count = x.size // _HOP + 2
    padded = np.pad(x, (_HOP, count * _HOP + _WINDOW - x.size))
    blocks = np.lib.stride_tricks.sliding_window_view(padded, _WINDOW)[::_HOP][:count]
    window = np.sin(np.pi * np.arange(_WINDOW) / _WINDOW) ** 2
    # Twice the length leaves room for the ringing of the (causal) resonances.
    spectra = np.fft.rfft(blocks * window, 2 * _WINDOW)
    f = np.fft.rfftfreq(2 * _WINDOW, 1 / RATE)
    response = np.zeros(spectra.shape, complex)
    middles = np.minimum(np.arange(count) * _HOP, x.size - 1)
    for centre, width, gain in zip(centres, widths, gains, strict=True):
        c = np.broadcast_to(centre, x.size)[middles, None]
        damping = 1j * width * f
        response += gain * damping / (c * c - f * f + damping + 1e-9)
    rung = np.fft.irfft(spectra * response).reshape(count, 4, _HOP)
    out = np.zeros((count + 3, _HOP))
    for k in range(4):
        out[k : k + count] += rung[:, k]
    return out.reshape(-1)[_HOP : _HOP + x.size]


def modes(
    x: FloatArray, frequencies: FloatArray, decays: FloatArray, gains: FloatArray
) -> FloatArray:
    """`x` through a bank of modes: each rings gain * exp(-t / decay) * sin(2 pi f t)."""
    out = np.zeros(x.size)
    for f, decay, gain in zip(frequencies, decays, gains, strict=True):
        r, w = np.exp(-1 / (decay * RATE)), 2 * np.pi * f / RATE
        b = (0.0, gain * r * np.sin(w))
        out += scipy.signal.lfilter(b, (1.0, -2 * r * np.cos(w), r * r), x)
    return out


# Pacing


def onsets(n: int, rng: np.random.Generator, gap: tuple[float, float]) -> NDArray[np.int64]:
    """Onset frames of events with gaps drawn from `gap` seconds, the first within 80 ms."""
    gaps = rng.uniform(*gap, int(n / RATE / gap[0]) + 2)
    starts = ((rng.uniform(0, 0.08) + np.cumsum(gaps) - gaps[0]) * RATE).astype(np.int64)
    kept: NDArray[np.int64] = starts[starts < n]
    return kept


def place(n: int, starts: NDArray[np.int64], grains: Sequence[FloatArray]) -> FloatArray:
    """Sum of `grains`, each at its start frame, cut at `n`."""
    out = np.zeros(n)
    for start, grain in zip(starts, grains, strict=True):
        kept = grain[: n - start]
        out[start : start + kept.size] += kept
    return out


def series(
    n: int, rng: np.random.Generator, event: Callable[[], FloatArray], gap: tuple[float, float]
) -> FloatArray:
    """Calls of `event`, each up to 4 dB softer than full, `gap` seconds of rest between them."""
    grains: list[FloatArray] = []
    starts = [frames(rng.uniform(0, 0.08))]
    while starts[-1] < n - frames(0.08):  # no slivers at the end
        grains.append(event() * rng.uniform(0.63, 1.0))
        starts.append(starts[-1] + grains[-1].size + frames(rng.uniform(*gap)))
    return place(n, np.array(starts[:-1]), grains)


# From a dry sound to a field recording: room, distance, hiss, level and edited-in silence.


_SILENT_SHARE: Final = 1 / 3  # of takes that carry digital silence


def reverb(x: FloatArray, rng: np.random.Generator, decay: float, wet: float) -> FloatArray:
    """`x` in a room: reflections and a tail that falls 60 dB in `decay` s, `wet` times as loud."""
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
