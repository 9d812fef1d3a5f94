"""Signals meant to be heard: horns, bells, alarms, sirens."""

from __future__ import annotations

import numpy as np

from synth.sources.procedural.foley.atoms import (
    RATE,
    FloatArray,
    band_noise,
    curve,
    draw_length,
    formants,
    frames,
    modes,
    onsets,
    phase,
    place,
    pulse_train,
    series,
    unit_peak,
    wander,
)

_BELL_RATIOS = np.array((0.5, 1.0, 1.19, 1.5, 2.0, 2.52, 3.01, 4.1, 5.4, 6.8))
"""Partials of a tuned bell to its strike note: hum, prime, tierce, quint, nominal and above."""


def car_horn(rng: np.random.Generator) -> FloatArray:
    """Honks: two brassy tones about a third apart, at steady pitch."""
    n = draw_length(rng)
    pitch, interval = rng.uniform(310, 460), rng.uniform(1.18, 1.27)
    bell = (rng.uniform(900, 1400), rng.uniform(2000, 2900))

    def honk() -> FloatArray:
        m = frames(rng.uniform(0.15, 1.0))
        glide = curve(m, (0.97, 1.0, 1.0), (0, min(1.0, 2000 / m), 1))
        tones = pulse_train(pitch * glide, 3500) + pulse_train(pitch * interval * glide, 3500)
        brassy = tones + 0.8 * formants(tones, bell, (300, 500), (1.0, 0.8))
        edge = frames(0.012)
        shape = np.minimum(np.minimum(np.arange(m), np.arange(m)[::-1]) / edge, 1.0)
        return np.tanh(unit_peak(brassy)) * shape

    return series(n, rng, honk, (0.08, 0.3))


def church_bells(rng: np.random.Generator) -> FloatArray:
    """Two or three bells struck in turn, each a bank of slowly dying partials."""
    n = draw_length(rng)
    starts = onsets(n, rng, (0.35, 0.8))
    count = int(rng.integers(2, 4))
    tenor = rng.uniform(220, 480)
    clapper = np.hanning(frames(rng.uniform(0.0003, 0.0012)))
    out = np.zeros(n)
    for i in range(count):
        own = starts[i::count]
        force = place(n, own, [rng.uniform(0.6, 1.0) * clapper for _ in own])
        note = tenor * 2 ** (rng.integers(0, 8) / 12)
        ratios = _BELL_RATIOS * rng.uniform(0.995, 1.005, _BELL_RATIOS.size)
        out += modes(force, note * ratios, 2.2 / ratios**0.9, rng.uniform(0.4, 1.0, ratios.size))
    return out


def clock_alarm(rng: np.random.Generator) -> FloatArray:
    """An alarm clock: groups of electronic beeps, or a hammer hurrying between two small bells."""
    n = draw_length(rng)
    if rng.uniform() < 0.3:
        gap = rng.uniform(0.045, 0.07)
        starts = onsets(n, rng, (0.95 * gap, 1.05 * gap))
        hammer = np.hanning(frames(0.0004))
        force = place(n, starts, [rng.uniform(0.7, 1.0) * hammer for _ in starts])
        frequencies = rng.uniform(1900, 2600) * np.array((1.0, 1.07, 1.73, 2.4, 2.9))
        return modes(force, frequencies, np.full(5, 0.12), rng.uniform(0.5, 1.0, 5))
    beep, count = frames(rng.uniform(0.05, 0.1)), int(rng.integers(2, 5))
    pitch, square = rng.uniform(2000, 3300), rng.uniform(0.12, 0.4)
    edge = np.minimum(np.arange(beep), np.arange(beep)[::-1]) / frames(0.003)
    turn = 2 * np.pi * pitch * np.arange(beep) / RATE
    tone = (np.sin(turn) + square * np.sin(3 * turn)) * np.minimum(edge, 1.0)
    pair = np.concatenate((tone, np.zeros(int(beep * rng.uniform(0.6, 1.1)))))
    rest = rng.uniform(0.15, 0.4)
    return series(n, rng, lambda: np.tile(pair, count), (rest, 1.02 * rest))


def siren(rng: np.random.Generator) -> FloatArray:
    """An emergency siren: a tone that wails slowly, yelps fast, or steps between two notes."""
    n = draw_length(rng)
    kind = rng.integers(3)
    rate = (rng.uniform(0.25, 0.5), rng.uniform(2.5, 4.5), rng.uniform(0.8, 1.3))[kind]
    sweep = np.sin(2 * np.pi * (phase(np.full(n, rate)) + rng.uniform()))
    if kind == 2:
        sweep = np.tanh(12 * sweep)
    octaves = (rng.uniform(0.5, 0.75), rng.uniform(0.4, 0.6), rng.uniform(0.17, 0.25))[kind]
    f0 = rng.uniform(750, 1100) * np.exp2(octaves * sweep) * wander(n, rng, 1, 0.01)
    tone = pulse_train(f0, rng.uniform(1500, 4000))
    return tone + 0.01 * band_noise(n, rng, 300, 4000)
