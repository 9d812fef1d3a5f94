"""Weather, water and fire: filtered noise, random drops and slow swells."""

from __future__ import annotations

import numpy as np

from synth.sources.procedural.foley.atoms import (
    RATE,
    FloatArray,
    band_noise,
    burst,
    draw_length,
    formants,
    frames,
    modes,
    onsets,
    phase,
    place,
    poisson_clicks,
    tilted_noise,
    unit_peak,
    unit_rms,
    wander,
)


def _spatter(
    n: int, rng: np.random.Generator, rate: float, band: tuple[float, float], spread: float
) -> FloatArray:
    """Tiny impacts, `rate` a second, of six different colours within `band` Hz."""
    out = np.zeros(n)
    for f in rng.uniform(*band, 6):
        clicks = poisson_clicks(n, rng, rate / 6, spread)
        out += modes(clicks, np.array([f]), rng.uniform(0.0003, 0.001, 1), np.ones(1))
    return out


def crackling_fire(rng: np.random.Generator) -> FloatArray:
    """Sparse snaps of very different strength over the low flutter of flames."""
    n = draw_length(rng)
    snaps = _spatter(n, rng, rng.uniform(15, 45), (800, 7000), 1.0)
    flames = tilted_noise(n, rng, 7, 90) * wander(n, rng, 7, 0.6)
    crumble = unit_rms(_spatter(n, rng, 300, (2000, 9000), 1.2))
    return np.tanh(2.5 * unit_peak(snaps)) + rng.uniform(0.03, 0.09) * flames + 0.015 * crumble


def rain(rng: np.random.Generator) -> FloatArray:
    """A dense hiss of distant drops with single drops near by striking leaves, roof or ground."""
    n = draw_length(rng)
    hiss = band_noise(n, rng, rng.uniform(1000, 2500), rng.uniform(8000, 14000))
    drops = _spatter(n, rng, rng.uniform(100, 500), (1200, 6500), 0.8)
    return wander(n, rng, 1.0, 0.15) * (hiss + rng.uniform(0.4, 1.2) * unit_rms(drops))


def sea_waves(rng: np.random.Generator) -> FloatArray:
    """Surf: a low roar that gathers, a bright crash, and foam hissing away."""
    n = draw_length(rng)
    waves = phase(rng.uniform(0.2, 0.4) * wander(n, rng, 0.5, 0.1)) + rng.uniform()
    gather = np.sin(np.pi * waves) ** 2
    crash = np.interp(waves % 1.0, (0, 0.2, 0.35, 0.6, 1), (0, 0.2, 1, 0.4, 0))
    roar = tilted_noise(n, rng, 6, 120) * (0.4 + 0.6 * gather)
    surf = band_noise(n, rng, 200, 1500) * (0.25 + crash)
    foam = band_noise(n, rng, 1200, 5500) * (0.12 + crash)
    return roar + rng.uniform(0.5, 0.9) * surf + rng.uniform(0.25, 0.6) * foam


def thunderstorm(rng: np.random.Generator) -> FloatArray:
    """Thunder: a crack torn into echoes that roll on as a rumble, over faint rain."""
    n = draw_length(rng)
    starts = onsets(n, rng, (0.15, 0.5))
    echoes = [
        rng.uniform(0.3, 1.0) * burst(n, rng.uniform(0.02, 0.15), rng.uniform(0.3, 1.0))
        for _ in starts
    ]
    rumble = tilted_noise(n, rng, rng.uniform(6, 9), rng.uniform(50, 130))
    rumble *= place(n, starts, echoes) * wander(n, rng, 12, 0.5)
    crack = band_noise(n, rng, 150, 2500) * burst(n, 0.005, rng.uniform(0.15, 0.5))
    crack *= wander(n, rng, 40, 1.0)
    patter = rng.uniform(0.003, 0.015) * band_noise(n, rng, 1500, 9000)
    return unit_peak(rumble) + rng.uniform(0.05, 0.5) * unit_peak(crack) + patter


def water_drops(rng: np.random.Generator) -> FloatArray:
    """Drips: each entrains a bubble, whose tone rises as it nears the surface."""
    n = draw_length(rng)
    base = rng.uniform(600, 1600)

    def plop() -> FloatArray:
        m = frames(0.12)
        glide = 1 + rng.uniform(2, 10) * np.arange(m) / RATE
        tone = np.sin(2 * np.pi * phase(base * rng.uniform(0.7, 1.4) * glide))
        tick = band_noise(m, rng, 2000, 8000) * burst(m, 0.0005, 0.002)
        return tone * burst(m, 0.002, rng.uniform(0.012, 0.035)) + rng.uniform(0.05, 0.2) * tick

    starts = onsets(n, rng, (0.1, 0.42))
    return place(n, starts, [rng.uniform(0.4, 1.0) * plop() for _ in starts])


def wind(rng: np.random.Generator) -> FloatArray:
    """Gusts: noise whistling through a gap, its pitch and strength rising together."""
    n = draw_length(rng)
    gust = wander(n, rng, 1.5, 0.45)
    tone = rng.uniform(280, 650) * gust**0.5
    howl = formants(
        rng.standard_normal(n),
        (tone, tone * rng.uniform(1.6, 2.2)),
        (rng.uniform(60, 160), 250),
        (1.0, rng.uniform(0.15, 0.4)),
    )
    return gust * (unit_rms(howl) + rng.uniform(0.5, 1.2) * tilted_noise(n, rng, 8, 80))
