"""Sounds whose likeness is known: seeded events, noise, tones; and catalogue rows of them."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
from scipy.signal import butter, sosfilt

from synth.audio.dsp import Audio
from synth.audio.fingerprint import fingerprint, to_bytes

RATE = 44_100


def noise(seed: int, seconds: float) -> Audio:
    draw = np.random.default_rng(seed).standard_normal(round(seconds * RATE))
    return (0.2 * draw).astype(np.float32)


def tone(hz: float, seconds: float) -> Audio:
    time = np.arange(round(seconds * RATE)) / RATE
    return (0.3 * np.sin(2 * np.pi * hz * time)).astype(np.float32)


def event(seed: int, seconds: float) -> Audio:
    """Noise through a drawn band, swelling and fading at a drawn pace, over a gliding tone."""
    draw = np.random.default_rng([seed, 1])
    low = draw.uniform(100, 800)
    band = butter(2, [low, low * draw.uniform(2, 6)], "band", fs=RATE, output="sos")
    time = np.arange(round(seconds * RATE)) / RATE
    swell = 0.6 + 0.4 * np.sin(2 * np.pi * draw.uniform(0.5, 4) * time + draw.uniform(0, 6))
    glide = np.sin(2 * np.pi * (draw.uniform(200, 900) * time + draw.uniform(-90, 90) * time**2))
    mixed = sosfilt(band, noise(1000 + seed, seconds)) * swell + 0.05 * glide
    return (0.5 * mixed / np.abs(mixed).max()).astype(np.float32)


def clip(name: str, audio: Audio | None = None, **values: Any) -> dict[str, Any]:
    """A row of a catalogue, as far as the firewall reads it."""
    words = b"" if audio is None else to_bytes(fingerprint(audio, RATE))
    sha256 = hashlib.sha256(name.encode()).hexdigest()
    row = {"id": name, "location": f"{name}.wav", "recording": name}
    return row | {"sha256": sha256, "fingerprint": words} | values
