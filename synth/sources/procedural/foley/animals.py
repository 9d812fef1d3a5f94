"""Animals: pulse trains of a voice through the moving resonances of a mouth; wings that chirp."""

from __future__ import annotations

import numpy as np

from synth.sources.procedural.foley.atoms import (
    FloatArray,
    band_noise,
    curve,
    draw_length,
    formants,
    frames,
    phase,
    pulse_train,
    series,
    unit_peak,
    wander,
)


def cat(rng: np.random.Generator) -> FloatArray:
    """Meows: the pitch arches while the mouth opens (mi-), gapes (-a-) and rounds (-ow)."""
    n = draw_length(rng)
    pitch, tract = rng.uniform(420, 680), rng.uniform(0.9, 1.2)

    def meow() -> FloatArray:
        m = frames(rng.uniform(0.45, 1.0))
        f0 = pitch * curve(m, (0.8, 1.0, 1.05, 0.95, 0.7)) * wander(m, rng, 12, 0.02)
        voice = pulse_train(f0, 3000) + 0.01 * band_noise(m, rng, 1500, 6000)
        voice = formants(
            voice,
            (
                tract * curve(m, (450, 950, 1150, 950, 550)),
                tract * curve(m, (2700, 2300, 1800, 1500, 1100)),
                tract * 3600.0,
            ),
            (150, 200, 350),
            (1.0, 0.8, 0.3),
        )
        return unit_peak(voice) * curve(m, (0, 0.7, 1, 0.6, 0), (0, 0.12, 0.4, 0.75, 1))

    return series(n, rng, meow, (0.1, 0.3))


def crickets(rng: np.random.Generator) -> FloatArray:
    """A few crickets: a pure tone in chirps of three to five strokes, or in an endless trill."""
    n = draw_length(rng)
    out = np.zeros(n)
    for _ in range(rng.integers(2, 5)):
        tone = np.sin(2 * np.pi * phase(rng.uniform(3800, 5600) * wander(n, rng, 3, 0.003)))
        stroke = phase(rng.uniform(24, 45) * wander(n, rng, 2, 0.02)) + rng.uniform()
        strokes = rng.integers(3, 6)
        rest = strokes + rng.integers(2, 7) if rng.uniform() < 0.75 else strokes
        gate = np.floor(stroke) % rest < strokes
        out += rng.uniform(0.2, 1.0) * gate * tone * np.sin(np.pi * stroke) ** 2
    return out


def crow(rng: np.random.Generator) -> FloatArray:
    """Caws: a flat, hoarse voice, its pulses uneven, through a nasal beak."""
    n = draw_length(rng)
    pitch, beak, hoarse = rng.uniform(330, 520), rng.uniform(0.88, 1.15), rng.uniform(0.3, 0.7)

    def caw() -> FloatArray:
        m = frames(rng.uniform(0.28, 0.5))
        f0 = pitch * curve(m, (0.85, 1.05, 1.0, 0.8)) * wander(m, rng, 300, 0.08)
        rattle = np.sin(2 * np.pi * phase(rng.uniform(55, 90) * f0 / pitch))
        voice = pulse_train(f0, 5000) + 0.06 * band_noise(m, rng, 900, 5000)
        centres = (beak * curve(m, (900, 1250, 1200, 1000)), beak * 1900.0, beak * 3300.0)
        voice = formants(
            voice * (1 - hoarse * (0.5 + 0.5 * rattle)), centres, (220, 250, 500), (1.0, 0.9, 0.35)
        )
        shape = curve(m, (0, 1, 0.9, 0.6, 0), (0, 0.1, 0.5, 0.85, 1))
        return np.tanh(1.5 * unit_peak(voice)) * shape

    return series(n, rng, caw, (0.1, 0.4))


def dog(rng: np.random.Generator) -> FloatArray:
    """Barks: a short arch of pitch and mouth with a hard attack and a burst of breath."""
    n = draw_length(rng)
    size = rng.uniform(0.7, 1.5)  # above 1 a small dog with a short, high mouth
    pitch, breath = 330 * size * rng.uniform(0.8, 1.2), rng.uniform(0.03, 0.12)

    def bark() -> FloatArray:
        m = frames(rng.uniform(0.13, 0.22))
        f0 = pitch * rng.uniform(0.92, 1.08) * curve(m, (0.65, 1.15, 1.0, 0.55))
        voice = pulse_train(f0 * wander(m, rng, 120, 0.04), 2500)
        voice += breath * band_noise(m, rng, 500, 6000)
        mouth = size * curve(m, (0.7, 1.15, 1.0, 0.65))
        voice = formants(
            voice, (700 * mouth, 1350 * mouth, 2900 * mouth), (180, 250, 500), (1.0, 0.7, 0.2)
        )
        shape = curve(m, (0, 1, 0.85, 0.3, 0), (0, 0.07, 0.35, 0.75, 1))
        return np.tanh(2.5 * unit_peak(voice)) * shape

    return series(n, rng, bark, (0.08, 0.38))


def frog(rng: np.random.Generator) -> FloatArray:
    """Croaks: slow pulses, each ringing in the throat sac, quickening towards the end."""
    n = draw_length(rng)
    throat, rate = rng.uniform(450, 950), rng.uniform(32, 65)
    upper = rng.uniform(2.1, 2.8)

    def croak() -> FloatArray:
        m = frames(rng.uniform(0.22, 0.5))
        rise = curve(m, (0.95, 1.0, 1.12))
        pulses = pulse_train(rate * rise * wander(m, rng, 20, 0.03), 3500)
        ringing = formants(pulses, (throat * rise, throat * upper * rise), (90, 160), (1.0, 0.6))
        return unit_peak(ringing) * curve(m, (0, 0.6, 1, 0), (0, 0.1, 0.8, 1))

    return series(n, rng, croak, (0.08, 0.35))


def rooster(rng: np.random.Generator) -> FloatArray:
    """Crowing: three short syllables and one long, falling one, shrill and a little hoarse."""
    n = draw_length(rng)
    pitch, hoarse = rng.uniform(620, 950), rng.uniform(0.02, 0.06)
    head = rng.uniform(0.9, 1.15)

    def syllable(length: float, contour: tuple[float, ...]) -> FloatArray:
        m = frames(length * rng.uniform(0.85, 1.2))
        f0 = pitch * curve(m, contour) * wander(m, rng, 150, hoarse)
        voice = pulse_train(f0, 6000) + 0.02 * band_noise(m, rng, 2000, 7000)
        centres = (head * 1500.0, head * 2700.0, head * 4200.0)
        voice = formants(voice, centres, (400, 500, 700), (0.8, 1.0, 0.5))
        return unit_peak(voice) * curve(m, (0, 1, 0.9, 0), (0, 0.12, 0.7, 1))

    def crow_call() -> FloatArray:
        rest = np.zeros(frames(0.03))
        calls = ((0.2, (0.7, 0.85, 0.8)), (0.12, (0.9, 1.0)), (0.25, (0.95, 1.1, 1.0)))
        parts = [np.concatenate((syllable(*call), rest)) for call in calls]
        last = syllable(rng.uniform(0.6, 1.0), (1.0, 1.25, 1.2, 1.1, 0.7))
        return np.concatenate((*parts, last))

    return series(n, rng, crow_call, (0.1, 0.35))
