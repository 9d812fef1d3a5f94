"""The drum kit: each piece is one sound, drawn once a loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import numpy as np
from scipy import signal

from synth.base.units import Seconds, to_frames
from synth.sources.procedural.jam.timbres import RATE, Signal, noise, partials, seconds
from synth.sources.procedural.jam.tune import CLAP, HAT, KICK, OPEN_HAT, RIDE, RIM, SNARE


def _time(duration: Seconds) -> Signal:
    return seconds(to_frames(duration, RATE))


def kick(rng: np.random.Generator) -> Signal:
    """A skin that falls in pitch, and the click of the beater."""
    t = _time(0.4)
    sweep = rng.uniform(42, 58) * t + rng.uniform(3.0, 4.5) * (1 - np.exp(-t / 0.03))
    body = np.sin(2 * np.pi * sweep) * np.exp(-t / rng.uniform(0.09, 0.14))
    return body + 0.1 * noise(t.size, rng, 1000, 6000) * np.exp(-t / 0.004)


def snare(rng: np.random.Generator) -> Signal:
    """Two modes of the skin and the rattle of the wires."""
    t = _time(0.3)
    pitch = rng.uniform(170, 220)
    skin = partials(t.size, pitch * np.array((1.0, 1.72)), np.full(2, 0.06), np.full(2, 0.5))
    return skin + 0.35 * noise(t.size, rng, 1500, 9000) * np.exp(-t / rng.uniform(0.06, 0.1))


def rim(rng: np.random.Generator) -> Signal:
    """The stick laid across the drum: a short wooden knock."""
    f = rng.uniform(800, 1100) * np.array((0.45, 1.0, 1.9))
    knock = partials(to_frames(0.12, RATE), f, np.full(3, 0.018), np.array((0.4, 1.0, 0.5)))
    return knock + 0.2 * noise(knock.size, rng, 2000, 7000) * np.exp(-seconds(knock.size) / 0.01)


def clap(rng: np.random.Generator) -> Signal:
    """Several hands within 30 ms."""
    t = _time(0.25)
    hands = sum(np.exp(-np.maximum(t - lag, 0) / 0.006) * (t >= lag) for lag in (0, 0.01, 0.02))
    tail = np.exp(-np.maximum(t - 0.03, 0) / 0.06) * (t >= 0.03)
    x: Signal = 0.4 * noise(t.size, rng, 900, 4000)
    x *= hands + tail
    return x


def _cymbal(rng: np.random.Generator, duration: Seconds, decay: Seconds) -> Signal:
    t = _time(duration)
    f = rng.uniform(3000, 11_000, 12)
    metal = partials(t.size, f, np.full(12, decay), rng.uniform(0.05, 0.15, 12))
    hiss = signal.lfilter((1.0, -0.95), (1.0,), noise(t.size, rng, 4000, 16_000))
    return np.asarray((metal + 0.15 * hiss * np.exp(-t / decay)) * np.minimum(1.0, t[::-1] / 0.01))


def hat(rng: np.random.Generator) -> Signal:
    """The hi-hat closed."""
    return 0.5 * _cymbal(rng, 0.1, 0.022)


def open_hat(rng: np.random.Generator) -> Signal:
    """The hi-hat open, and shut again."""
    return 0.7 * _cymbal(rng, 0.22, 0.12)


def ride(rng: np.random.Generator) -> Signal:
    """A large cymbal that rings on."""
    return 0.6 * _cymbal(rng, 0.9, 0.22)


KIT: Final[Mapping[int, Callable[[np.random.Generator], Signal]]] = MappingProxyType(
    {
        KICK: kick,
        RIM: rim,
        SNARE: snare,
        CLAP: clap,
        HAT: hat,
        OPEN_HAT: open_hat,
        RIDE: ride,
    }
)
"""Every piece, by its number."""
