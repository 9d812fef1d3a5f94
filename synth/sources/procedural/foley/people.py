"""People and what their hands and feet do: laughter, claps, steps, knocks, typing."""

from __future__ import annotations

import numpy as np

from synth.sources.procedural.foley.atoms import (
    RATE,
    FloatArray,
    band_noise,
    burst,
    curve,
    draw_length,
    formants,
    frames,
    modes,
    onsets,
    place,
    pulse_train,
    series,
    unit_peak,
    wander,
)


def clapping(rng: np.random.Generator) -> FloatArray:
    """One to six people: each clap a burst of noise in the hollow of the hands."""
    n = draw_length(rng)
    out = np.zeros(n)
    for _ in range(rng.integers(1, 7)):
        gap, hollow = rng.uniform(0.2, 0.38), rng.uniform(900, 1900)
        starts = onsets(n, rng, (0.93 * gap, 1.07 * gap))
        m = frames(0.06)
        claps = [
            rng.uniform(0.6, 1.0)
            * band_noise(m, rng, 0.6 * hollow, 2.2 * hollow)
            * burst(m, 0.001, rng.uniform(0.006, 0.011))
            for _ in starts
        ]
        out += rng.uniform(0.5, 1.0) * place(n, starts, claps)
    return out


def door_wood_knock(rng: np.random.Generator) -> FloatArray:
    """Knuckles on a door: hard taps that ring in the low, dull modes of the wood."""
    n = draw_length(rng)
    gap = rng.uniform(0.14, 0.32)
    starts = onsets(n, rng, (0.9 * gap, 1.15 * gap))
    if gap < 0.2:  # brisk knocks come in groups
        group = rng.integers(3, 6)
        starts = starts[np.arange(starts.size) % group < group - 1]
    blow = np.hanning(frames(rng.uniform(0.0006, 0.002)))
    force = place(n, starts, [rng.uniform(0.5, 1.0) * blow for _ in starts])
    ratios = np.array((1.0, 1.62, 2.41, 3.57, 5.1, 8.3, 13.0)) * rng.uniform(0.93, 1.07, 7)
    decays = rng.uniform(0.018, 0.035) / ratios**0.7
    return modes(force, rng.uniform(110, 240) * ratios, decays, rng.uniform(0.5, 1.0, 7))


def footsteps(rng: np.random.Generator) -> FloatArray:
    """Walking: a heel thumps, and the sole scrapes over gravel, leaves or boards behind it."""
    n = draw_length(rng)
    gap, thump = rng.uniform(0.32, 0.5), rng.uniform(60, 110)
    low, grit = rng.uniform(400, 1200), rng.uniform(0.15, 0.6)
    starts = onsets(n, rng, (0.95 * gap, 1.05 * gap))

    def step() -> FloatArray:
        m = frames(0.26)
        heel = np.sin(2 * np.pi * thump * np.arange(m) / RATE) * burst(m, 0.003, 0.03)
        scrape = band_noise(m, rng, low, 6 * low) * wander(m, rng, 250, 1.0)
        sole = scrape * burst(m, rng.uniform(0.03, 0.07), rng.uniform(0.03, 0.06))
        return heel + grit * sole

    return place(n, starts, [rng.uniform(0.6, 1.0) * step() for _ in starts])


def keyboard_typing(rng: np.random.Generator) -> FloatArray:
    """Keys going down and up: two bright clicks apiece, in uneven fast succession."""
    n = draw_length(rng)
    k = 6
    frequencies, decays = rng.uniform(1500, 7500, k), rng.uniform(0.0015, 0.005, k)
    starts = onsets(n, rng, (0.05, 0.2))
    travel = (rng.uniform(0.04, 0.09, starts.size) * RATE).astype(np.int64)
    hits = rng.uniform(0.3, 1.0, starts.size)
    click = band_noise(frames(0.003), rng, 1500, 9000) * np.hanning(frames(0.003))
    both = np.concatenate((starts, np.minimum(starts + travel, n - 1)))
    force = place(n, both, [hit * click for hit in (*hits, *(0.35 * hits))])
    return modes(force, frequencies, decays, rng.uniform(0.3, 1.0, k)) + force


def laughing(rng: np.random.Generator) -> FloatArray:
    """Ha-ha-ha: breath, then voice in an open vowel, sinking in pitch and strength."""
    n = draw_length(rng)
    pitch = rng.choice((rng.uniform(130, 210), rng.uniform(230, 360)))
    tract = 0.85 + pitch / 1000 + rng.uniform(-0.05, 0.05)
    rate, husky = rng.uniform(0.14, 0.22), rng.uniform(0.03, 0.09)
    vowel = np.array(((730, 1150, 2500), (580, 1800, 2600), (650, 1000, 2500))[rng.integers(3)])

    def ha(height: float) -> FloatArray:
        m = frames(rate * rng.uniform(0.9, 1.1))
        f0 = pitch * height * curve(m, (0.95, 1.1, 0.9)) * wander(m, rng, 40, 0.02)
        voiced = curve(m, (0, 0, 1, 0.8, 0), (0, 0.25, 0.4, 0.7, 0.95))
        breath = curve(m, (0.4, 1, 0.3, 0.4), (0, 0.15, 0.4, 1))
        source = pulse_train(f0, 2200) * voiced + husky * band_noise(m, rng, 600, 7000) * breath
        return formants(source, tuple(tract * vowel), (110, 130, 220), (1.0, 0.6, 0.3))

    def laugh() -> FloatArray:
        count = rng.integers(4, 9)
        fall = np.linspace(1.25, 0.85, count)
        return unit_peak(np.concatenate([h * ha(h * rng.uniform(0.95, 1.05)) for h in fall]))

    return series(n, rng, laugh, (0.1, 0.3))
