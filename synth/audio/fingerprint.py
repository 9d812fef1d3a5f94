"""Audio fingerprints: 32 bits every 46 ms, by which a sound is known again under another name.

The method is Haitsma and Kalker's ("A Highly Robust Audio Fingerprinting System", ISMIR 2002): the
spectrum is cut into 33 bands, and a bit says whether the level of a band over that of the next one
rises or falls from one frame to the next. Gain, equalisation and coding leave most of these signs
as they are, another recording of the same kind of sound does not. Other than the paper, levels are
in dB, so that a fixed filter changes nothing at all; bands and hop are wider, as sound events reach
higher than speech and a catalogue holds a fingerprint for every clip.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import numpy as np
import soxr
from jaxtyping import Float32, UInt32

from synth.audio.dsp import Audio
from synth.base.units import Decibels, Seconds

Words: TypeAlias = UInt32[np.ndarray, "_"]

FINGERPRINT_VERSION: Final = 1
FINGERPRINT_RATE: Final = 11_025
WINDOW_FRAMES: Final = 4096
HOP_FRAMES: Final = 512
HOP_S: Final[Seconds] = HOP_FRAMES / FINGERPRINT_RATE
BANDS_HZ: Final = (120.0, 4000.0)
BITS: Final = 32

NOTHING: Final = np.uint32(0)
"""The word of a frame that says nothing: silent, steady, as the last, or too quiet for a codec."""

RANGE_DB: Final[Decibels] = 50.0
"""A band this far below the strongest of its frame is level, a frame this far below the loudest
of its clip says nothing: coding leaves neither as it was."""

LEAST_CHANGE_DB: Final[Decibels] = 0.5
"""A frame whose bands change by less (root mean square) is steady: its signs are chance."""

_SILENCE: Final = 1e-12
_BLOCK: Final = 1024


def fingerprint(audio: Audio, rate: int) -> Words:
    """One word every `HOP_S` of `audio`, the first and last around its ends.

    Frames are `WINDOW_FRAMES` long (0.37 s) and reach half a window into silence on both sides, so
    that a sound of any length has words. Digital silence and steady tones give `NOTHING`.
    """
    if not len(audio):
        return np.zeros(0, dtype=np.uint32)
    if rate != FINGERPRINT_RATE:
        audio = soxr.resample(audio, rate, FINGERPRINT_RATE, quality="HQ")
    energy = _band_energy(audio)
    loudest = energy.max(axis=1, keepdims=True)
    floor = loudest * np.float32(10 ** (-RANGE_DB / 10)) + np.float32(_SILENCE)
    contrast = np.diff(10 * np.log10(energy + floor), axis=1)
    change = np.diff(contrast, axis=0)
    bits = (change > 0).astype(np.uint32) << np.arange(BITS, dtype=np.uint32)
    words: Words = bits.sum(axis=1, dtype=np.uint32)
    steady = np.sqrt(np.mean(np.square(change), axis=1)) < LEAST_CHANGE_DB
    quiet = (loudest < loudest.max() * np.float32(10 ** (-RANGE_DB / 10)))[:, 0]
    repeated = np.append(False, words[1:] == words[:-1])
    silent = loudest.max() <= _SILENCE
    words[steady | repeated | quiet[1:] | quiet[:-1] | silent] = NOTHING
    return words


def _band_energy(audio: Audio) -> Float32[np.ndarray, "frames bands"]:
    """Energy of each band in each frame."""
    half = WINDOW_FRAMES // 2
    hops = -(-len(audio) // HOP_FRAMES)
    padded = np.zeros(hops * HOP_FRAMES + WINDOW_FRAMES, dtype=np.float32)
    padded[half : half + len(audio)] = audio
    frames = np.lib.stride_tricks.sliding_window_view(padded, WINDOW_FRAMES)[::HOP_FRAMES]
    window = np.hanning(WINDOW_FRAMES + 1)[:-1].astype(np.float32)
    edges_hz = np.geomspace(*BANDS_HZ, BITS + 2)
    edges = np.rint(edges_hz * WINDOW_FRAMES / FINGERPRINT_RATE).astype(np.int64)
    energy = np.empty((len(frames), BITS + 1), dtype=np.float32)
    for begin in range(0, len(frames), _BLOCK):
        spectrum = np.fft.rfft(frames[begin : begin + _BLOCK] * window, axis=1)
        power = np.square(np.abs(spectrum[:, : edges[-1]]), dtype=np.float32)
        energy[begin : begin + _BLOCK] = np.add.reduceat(power, edges[:-1], axis=1)
    return energy


def to_bytes(words: Words) -> bytes:
    """A value of the catalogue's column `fingerprint`: the version, then the words, little-endian.

    No words give no bytes, which stand for a clip that has no fingerprint.
    """
    if not len(words):
        return b""
    return np.append(np.uint32(FINGERPRINT_VERSION), words).astype("<u4").tobytes()


def from_bytes(data: bytes) -> Words:
    """The words of `to_bytes`."""
    if len(data) % 4:
        raise ValueError(f"a fingerprint has 4 bytes a word, this one has {len(data)} bytes")
    stored = np.frombuffer(data, dtype="<u4").astype(np.uint32)
    if len(stored) and stored[0] != FINGERPRINT_VERSION:
        raise ValueError(f"a fingerprint of version {stored[0]}, expected {FINGERPRINT_VERSION}")
    return stored[1:]
