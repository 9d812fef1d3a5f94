"""Signal arithmetic on mono float32 arrays: fades, 16-bit samples, measurements."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Final, TypeAlias

import numpy as np
import scipy  # its parts are loaded when they are used
from jaxtyping import Float32, Float64, Int8, Int16

from synth.base.units import Decibels, Frames
from synth.scene.timeline import CUT_S, Fade

_ATTACK_HOP_S: Final = 0.01
_ATTACK_HOPS: Final = (1.0, 1.0, 1.0)
_ATTACK_DB: Final[Decibels] = 4.0
_ATTACK_RANGE_DB: Final = 45.0

Audio: TypeAlias = Float32[np.ndarray, "_"]
Pcm: TypeAlias = Int16[np.ndarray, "_"]

_STRETCH: Final = 64
_REACH: Final = 10
"""Samples at either side that tell what lies between two of them."""

_AT_ONCE: Final = 1 << 18
"""Samples whose true peak is found at a time; many stretches."""

PCM_SCALE: Final = 32768.0
SILENCE_DB: Final = -120.0
LEVEL_HOP_S: Final = 0.05
LOUDNESS_BLOCK_S: Final = 0.4
_GATE: Final = 10 ** ((0.691 - 70) / 10)
"""The power of a block of -70 LUFS; quieter ones do not count."""


def fade_in(frames: Frames, fade: Fade) -> Audio:
    """Rising gain in (0, 1), sampled at frame centres; its reverse is the matching fade-out."""
    ramp = (np.arange(frames, dtype=np.float32) + np.float32(0.5)) / np.float32(max(frames, 1))
    return fade.rise(ramp)


def peak(audio: Audio) -> float:
    """Largest absolute sample value, 0 for no samples."""
    return float(max(audio.max(initial=0.0), -audio.min(initial=0.0)))


def true_peak(audio: Audio, floor: float) -> float:
    """Largest absolute value between samples: of four times as many (ITU-R BS.1770-5, annex 2).

    Args:
        floor: What lies among samples below this is not looked at; 0 where all are below.
    """
    highest = 0.0
    for start in range(0, len(audio), _AT_ONCE):
        block = audio[start : start + _AT_ONCE]
        loud = np.unique((np.flatnonzero((block > floor) | (block < -floor)) + start) // _STRETCH)
        at = loud[:, np.newaxis] * _STRETCH + np.arange(-_REACH, _STRETCH + _REACH + 1)
        around = np.where((at >= 0) & (at < len(audio)), audio.take(at, mode="clip"), np.float32(0))
        between = scipy.signal.upfirdn(_interpolator(), around, 4, axis=1)
        highest = max(highest, peak(between[:, 8 * _REACH :][:, : 4 * _STRETCH + 1].ravel()))
    return highest


@lru_cache(maxsize=1)
def _interpolator() -> Float32[np.ndarray, " taps"]:
    """The filter by which `scipy.signal.resample_poly` puts three samples between two."""
    taps = 4 * scipy.signal.firwin(8 * _REACH + 1, 0.25, window=("kaiser", 5.0))
    return np.asarray(taps, dtype=np.float32)


def to_pcm(audio: Audio) -> Pcm:
    """Rounded to 16 bits; the caller keeps the peak below full scale, what is over saturates."""
    scaled = np.rint(audio * np.float32(PCM_SCALE))
    return np.clip(scaled, -PCM_SCALE, PCM_SCALE - 1, out=scaled).astype(np.int16)


def from_pcm(pcm: Pcm) -> Audio:
    """16-bit samples as float32 in [-1, 1)."""
    return pcm.astype(np.float32) / np.float32(PCM_SCALE)


def block_frames(rate: int) -> Frames:
    """Length of a block of `levels` at a rate in Hz."""
    return max(1, round(LEVEL_HOP_S * rate))


def levels(audio: Audio, rate: int) -> Float32[np.ndarray, " blocks"]:
    """RMS level in dBFS of each 50 ms block, the last one over what is left of it."""
    hop = block_frames(rate)
    starts = np.arange(0, len(audio), hop)
    if not len(starts):
        return np.zeros(0, dtype=np.float32)
    energy = np.add.reduceat(np.square(audio, dtype=np.float64), starts)
    counts = np.diff(np.append(starts, len(audio)))
    rms = np.sqrt(energy / counts)
    return (20 * np.log10(np.maximum(rms, 10 ** (SILENCE_DB / 20)))).astype(np.float32)


def attacks(audio: Audio, rate: int, rise_db: Decibels = _ATTACK_DB) -> Int8[np.ndarray, " blocks"]:
    """How often the sound may be said to begin, or to begin anew, in each block of `levels`.

    Each is a peak of the level over 30 ms, within 45 dB of the loudest, that rises out of its
    surroundings on both sides. Rather too many are found than too few: who counts sounds by them
    must not miss one.
    """
    hop, block = max(1, round(_ATTACK_HOP_S * rate)), block_frames(rate)
    marks = np.zeros(-(-len(audio) // block), dtype=np.int8)
    starts = np.arange(0, len(audio), hop)
    if not len(starts):
        return marks
    energy = np.add.reduceat(np.square(audio, dtype=np.float64), starts)
    lengths = np.diff(np.append(starts, len(audio))).astype(np.float64)
    # Over 10 ms the pitch of a low voice is heard as beats.
    energies, counts = (
        scipy.ndimage.convolve1d(values, _ATTACK_HOPS, mode="constant")
        for values in (energy, lengths)
    )
    powers = energies / counts
    decibels = 10 * np.log10(np.maximum(powers, 10 ** (SILENCE_DB / 10)))
    floor = max(float(decibels.max()) - _ATTACK_RANGE_DB, SILENCE_DB)
    # A sound that is cut off begins and ends all the same.
    padded = np.pad(np.maximum(decibels, floor), 1, constant_values=floor)
    # Of peaks that are equal to the last bit each would be taken for the highest.
    apart = padded - 1e-9 * np.arange(len(padded))
    peaks, _ = scipy.signal.find_peaks(apart, prominence=rise_db)
    counts_by_block = np.bincount(starts[peaks - 1] // block, minlength=len(marks))
    return counts_by_block.clip(max=np.iinfo(np.int8).max).astype(np.int8)


def weighted_levels(audio: Audio, rate: int) -> Float32[np.ndarray, " blocks"]:
    """A-weighted level in dB of each block of `levels`; a sine of 1 kHz has the same in both."""
    return levels(a_weight(audio, rate), rate)


def a_weight(audio: Audio, rate: int) -> Audio:
    """The sound as an ear weighs it: A-weighted (IEC 61672-1), with no part of it moved in time."""
    if not len(audio):
        return audio
    return np.asarray(scipy.signal.oaconvolve(audio, _a_filter(rate), mode="same"), np.float32)


@lru_cache(maxsize=16)
def _a_filter(rate: int) -> Float32[np.ndarray, " taps"]:
    """A symmetric filter of 100 ms, within 0.2 dB of the standard's curve from 50 Hz on."""
    size = 1 << (2 * rate).bit_length()
    squares = np.square(np.fft.rfftfreq(size, 1 / rate))
    poles = np.square([12_194.217, 20.598997, 107.65265, 737.86223])
    gains = poles[0] * np.square(squares) / (squares + poles[0]) / (squares + poles[1])
    gains *= 10**0.1 / np.sqrt((squares + poles[2]) * (squares + poles[3]))
    half = round(0.05 * rate)
    taps = np.roll(np.fft.irfft(gains, size), half)[: 2 * half + 1]
    return np.asarray(taps * np.hanning(2 * half + 3)[1:-1], dtype=np.float32)


def remove_rumble(audio: Audio, rate: int) -> Audio:
    """The sound without a constant offset and without what lies below hearing.

    A Butterworth high-pass of order 3 at 20 Hz runs forwards and backwards, so that no part moves:
    -36 dB at 10 Hz, -6 dB at 20 Hz, -0.8 dB at 30 Hz. Digital silence at the ends stays so.
    """
    sounds = audio != 0
    if not sounds.any():
        return audio
    quiet = np.zeros_like(audio)
    inside = slice(sounds.argmax(), len(audio) - sounds[::-1].argmax())
    sections = _rumble_filter(rate)
    around = min(rate // 5, inside.stop - inside.start - 1)
    quiet[inside] = scipy.signal.sosfiltfilt(sections, audio[inside], padtype="even", padlen=around)
    return quiet


@lru_cache(maxsize=16)
def _rumble_filter(rate: int) -> Float64[np.ndarray, "2 6"]:
    return np.asarray(scipy.signal.butter(3, 20, "highpass", fs=rate, output="sos"))


def ramp_cut(audio: Audio, rate: int, *, begins: bool, ends: bool) -> None:
    """Let a sound that is cut out of another begin or end within 5 ms, lest it clicks."""
    frames = min(round(CUT_S * rate), len(audio) // 2)
    rising = fade_in(frames, Fade.LINEAR)
    if begins:
        audio[:frames] *= rising
    if ends:
        audio[len(audio) - frames :] *= rising[::-1]


@dataclass(frozen=True, slots=True)
class ActiveSpan:
    """Where a recording sounds: frames from `onset` (included) to `offset` (excluded)."""

    onset: Frames
    offset: Frames


def active_span(audio: Audio, rate: int, range_db: Decibels) -> ActiveSpan | None:
    """From the first to the last 50 ms block within `range_db` of the loudest; None for silence."""
    block_levels = levels(audio, rate)
    if not len(block_levels) or block_levels.max() < SILENCE_DB + 1:
        return None
    threshold = max(float(block_levels.max()) - range_db, SILENCE_DB + 1)
    loud = np.flatnonzero(block_levels >= threshold)
    hop = block_frames(rate)
    return ActiveSpan(int(loud[0]) * hop, min((int(loud[-1]) + 1) * hop, len(audio)))


def loudness(audio: Audio, rate: int) -> Decibels:
    """Integrated loudness in LUFS (ITU-R BS.1770-4), blocks shortened for audio under 0.4 s.

    Gated out or silent audio gives -120. Blocks begin and end as pyloudnorm's.
    """
    if len(audio) < 2:
        return SILENCE_DB
    block = min(LOUDNESS_BLOCK_S, len(audio) / rate)
    if block * rate > len(audio):  # the quotient was rounded up
        block = math.nextafter(block, 0.0)
    numbers = np.arange(round((len(audio) / rate - block) / (block / 4)) + 1) / 4
    edges = (block * np.stack((numbers, numbers + 1), axis=1) * rate).astype(np.int64).ravel()
    squares = np.square(scipy.signal.sosfilt(_k_filter(rate), audio))
    powers = np.add.reduceat(squares, edges[edges < len(audio)])[::2] / (block * rate)
    loud = powers[powers >= _GATE]
    gated = loud[loud > loud.mean() / 10] if len(loud) else loud
    return -0.691 + 10 * math.log10(gated.mean()) if len(gated) else SILENCE_DB


@lru_cache(maxsize=16)
def _k_filter(rate: int) -> Float64[np.ndarray, "2 6"]:
    """The standard's filter as two sections, one behind the other."""
    from pyloudnorm import (
        IIRfilter,
    )  # and SciPy with it: half a second to those who measure nothing

    shelf = IIRfilter(4.0, 1 / np.sqrt(2), 1500.0, rate, "high_shelf")
    high = IIRfilter(0.0, 0.5, 38.0, rate, "high_pass")
    return np.array([[*stage.b, *stage.a] for stage in (shelf, high)])


def between_class_gains(
    first_db: Decibels, second_db: Decibels, ratio: float
) -> tuple[float, float]:
    """The linear gains of two sounds that are mixed between classes (Tokozume et al., 2018).

    t = 1 / (1 + 10^((G1 - G2) / 20) (1 - r) / r); the mix is (t x1 + (1 - t) x2) /
    sqrt(t^2 + (1 - t)^2).

    Args:
        first_db: G1, the A-weighted level of the first sound where it is loudest.
        second_db: G2, that of the second.
        ratio: r, above 0 and below 1; 0.5 weighs both alike.
    """
    t = 1 / (1 + 10 ** ((first_db - second_db) / 20) * (1 - ratio) / ratio)
    norm = math.hypot(t, 1 - t)
    return t / norm, (1 - t) / norm
