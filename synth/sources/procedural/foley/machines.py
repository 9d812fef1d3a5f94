"""Machines: firing cylinders, chopping blades, a whining motor."""

from __future__ import annotations

import numpy as np

from synth.sources.procedural.foley.atoms import (
    FloatArray,
    band_noise,
    draw_length,
    modes,
    phase,
    pulse_train,
    tilted_noise,
    unit_rms,
    wander,
)


def engine(rng: np.random.Generator) -> FloatArray:
    """A motor running: four cylinders that fire unevenly into an exhaust pipe, and its rattle."""
    n = draw_length(rng)
    firing = rng.uniform(28, 60) * wander(n, rng, 1.0, rng.uniform(0.02, 0.3))
    cylinder = np.floor(phase(firing)).astype(np.int64) % 4
    power = rng.uniform(0.6, 1.0, 4)[cylinder]
    puffs = pulse_train(firing, rng.uniform(400, 1200)) * power
    pipe = rng.uniform(70, 130) * np.array((1.0, 2.9, 5.2))
    exhaust = modes(puffs, pipe, np.array((0.02, 0.01, 0.006)), np.array((1.0, 0.8, 0.6)))
    rattle = band_noise(n, rng, 500, 3000) * (0.4 + np.sin(np.pi * phase(firing)) ** 4)
    hum = tilted_noise(n, rng, 6, 60)
    return unit_rms(exhaust) + rng.uniform(0.08, 0.2) * rattle + 0.1 * hum


def helicopter(rng: np.random.Generator) -> FloatArray:
    """Rotor blades chopping the air eleven to nineteen times a second over a turbine's whine."""
    n = draw_length(rng)
    blade = rng.uniform(11, 19) * wander(n, rng, 0.7, 0.02)
    swing = phase(blade) % 1.0
    chop: FloatArray = np.minimum(swing / 0.12, 1.0) * np.exp(-rng.uniform(3.5, 6) * swing)
    thump = band_noise(n, rng, 40, 160) + rng.uniform(0.4, 0.8) * band_noise(n, rng, 200, 1800)
    wash = tilted_noise(n, rng, 4, 100)
    whine = pulse_train(np.full(n, rng.uniform(500, 1100)) * wander(n, rng, 2, 0.004), 2000)
    return thump * chop + 0.06 * wash + rng.uniform(0.01, 0.04) * unit_rms(whine)


def vacuum_cleaner(rng: np.random.Generator) -> FloatArray:
    """A motor's steady whine, rich in harmonics, within the broad rush of air."""
    n = draw_length(rng)
    motor = rng.uniform(190, 330) * wander(n, rng, 1.5, 0.01)
    whine = pulse_train(motor, rng.uniform(2500, 5000))
    body = modes(whine, rng.uniform(600, 3000, 3), np.full(3, 0.002), np.full(3, 0.08))
    rush = band_noise(n, rng, rng.uniform(250, 500), rng.uniform(4000, 7000))
    flutter = wander(n, rng, 3, 0.08)
    return flutter * (unit_rms(whine + body) * rng.uniform(0.5, 1.0) + 0.8 * rush)
