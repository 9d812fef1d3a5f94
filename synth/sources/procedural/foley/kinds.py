"""The sounds of foley, `n` frames long: animals, machines, people, weather, and signals."""

from __future__ import annotations

import numpy as np

from synth.sources.procedural.foley.signals import (
    RATE,
    FloatArray,
    band_noise,
    burst,
    curve,
    formants,
    frames,
    modes,
    onsets,
    phase,
    place,
    poisson_clicks,
    pulse_train,
    series,
    tilted_noise,
    unit_peak,
    unit_rms,
    wander,
)

# Animals: pulse trains of a voice through the moving resonances of a mouth; wings that chirp.


def cat(n: int, rng: np.random.Generator) -> FloatArray:
    """Meows: the pitch arches while the mouth opens (mi-), gapes (-a-) and rounds (-ow)."""
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


def crickets(n: int, rng: np.random.Generator) -> FloatArray:
    """A few crickets: a pure tone in chirps of three to five strokes, or in an endless trill."""
    out = np.zeros(n)
    for _ in range(rng.integers(2, 5)):
        tone = np.sin(2 * np.pi * phase(rng.uniform(3800, 5600) * wander(n, rng, 3, 0.003)))
        stroke = phase(rng.uniform(24, 45) * wander(n, rng, 2, 0.02)) + rng.uniform()
        strokes = rng.integers(3, 6)
        rest = strokes + rng.integers(2, 7) if rng.uniform() < 0.75 else strokes
        gate = np.floor(stroke) % rest < strokes
        out += rng.uniform(0.2, 1.0) * gate * tone * np.sin(np.pi * stroke) ** 2
    return out


def crow(n: int, rng: np.random.Generator) -> FloatArray:
    """Caws: a flat, hoarse voice, its pulses uneven, through a nasal beak."""
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


def dog(n: int, rng: np.random.Generator) -> FloatArray:
    """Barks: a short arch of pitch and mouth with a hard attack and a burst of breath."""
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


def frog(n: int, rng: np.random.Generator) -> FloatArray:
    """Croaks: slow pulses, each ringing in the throat sac, quickening towards the end."""
    throat, rate = rng.uniform(450, 950), rng.uniform(32, 65)
    upper = rng.uniform(2.1, 2.8)

    def croak() -> FloatArray:
        m = frames(rng.uniform(0.22, 0.5))
        rise = curve(m, (0.95, 1.0, 1.12))
        pulses = pulse_train(rate * rise * wander(m, rng, 20, 0.03), 3500)
        ringing = formants(pulses, (throat * rise, throat * upper * rise), (90, 160), (1.0, 0.6))
        return unit_peak(ringing) * curve(m, (0, 0.6, 1, 0), (0, 0.1, 0.8, 1))

    return series(n, rng, croak, (0.08, 0.35))


def rooster(n: int, rng: np.random.Generator) -> FloatArray:
    """Crowing: three short syllables and one long, falling one, shrill and a little hoarse."""
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


# Machines: firing cylinders, chopping blades, a whining motor.


def engine(n: int, rng: np.random.Generator) -> FloatArray:
    """A motor running: four cylinders that fire unevenly into an exhaust pipe, and its rattle."""
    firing = rng.uniform(28, 60) * wander(n, rng, 1.0, rng.uniform(0.02, 0.3))
    cylinder = np.floor(phase(firing)).astype(np.int64) % 4
    power = rng.uniform(0.6, 1.0, 4)[cylinder]
    puffs = pulse_train(firing, rng.uniform(400, 1200)) * power
    pipe = rng.uniform(70, 130) * np.array((1.0, 2.9, 5.2))
    exhaust = modes(puffs, pipe, np.array((0.02, 0.01, 0.006)), np.array((1.0, 0.8, 0.6)))
    rattle = band_noise(n, rng, 500, 3000) * (0.4 + np.sin(np.pi * phase(firing)) ** 4)
    hum = tilted_noise(n, rng, 6, 60)
    return unit_rms(exhaust) + rng.uniform(0.08, 0.2) * rattle + 0.1 * hum


def helicopter(n: int, rng: np.random.Generator) -> FloatArray:
    """Rotor blades chopping the air eleven to nineteen times a second over a turbine's whine."""
    blade = rng.uniform(11, 19) * wander(n, rng, 0.7, 0.02)
    swing = phase(blade) % 1.0
    chop: FloatArray = np.minimum(swing / 0.12, 1.0) * np.exp(-rng.uniform(3.5, 6) * swing)
    thump = band_noise(n, rng, 40, 160) + rng.uniform(0.4, 0.8) * band_noise(n, rng, 200, 1800)
    wash = tilted_noise(n, rng, 4, 100)
    whine = pulse_train(np.full(n, rng.uniform(500, 1100)) * wander(n, rng, 2, 0.004), 2000)
    return thump * chop + 0.06 * wash + rng.uniform(0.01, 0.04) * unit_rms(whine)


def vacuum_cleaner(n: int, rng: np.random.Generator) -> FloatArray:
    """A motor's steady whine, rich in harmonics, within the broad rush of air."""
    motor = rng.uniform(190, 330) * wander(n, rng, 1.5, 0.01)
    whine = pulse_train(motor, rng.uniform(2500, 5000))
    body = modes(whine, rng.uniform(600, 3000, 3), np.full(3, 0.002), np.full(3, 0.08))
    rush = band_noise(n, rng, rng.uniform(250, 500), rng.uniform(4000, 7000))
    flutter = wander(n, rng, 3, 0.08)
    return flutter * (unit_rms(whine + body) * rng.uniform(0.5, 1.0) + 0.8 * rush)


# People and what their hands and feet do: laughter, claps, steps, knocks, typing.


def clapping(n: int, rng: np.random.Generator) -> FloatArray:
    """One to six people: each clap a burst of noise in the hollow of the hands."""
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


def door_wood_knock(n: int, rng: np.random.Generator) -> FloatArray:
    """Knuckles on a door: hard taps that ring in the low, dull modes of the wood."""
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


def footsteps(n: int, rng: np.random.Generator) -> FloatArray:
    """Walking: a heel thumps, and the sole scrapes over gravel, leaves or boards behind it."""
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


def keyboard_typing(n: int, rng: np.random.Generator) -> FloatArray:
    """Keys going down and up: two bright clicks apiece, in uneven fast succession."""
    k = 6
    frequencies, decays = rng.uniform(1500, 7500, k), rng.uniform(0.0015, 0.005, k)
    starts = onsets(n, rng, (0.05, 0.2))
    travel = (rng.uniform(0.04, 0.09, starts.size) * RATE).astype(np.int64)
    hits = rng.uniform(0.3, 1.0, starts.size)
    click = band_noise(frames(0.003), rng, 1500, 9000) * np.hanning(frames(0.003))
    both = np.concatenate((starts, np.minimum(starts + travel, n - 1)))
    force = place(n, both, [hit * click for hit in (*hits, *(0.35 * hits))])
    return modes(force, frequencies, decays, rng.uniform(0.3, 1.0, k)) + force


def laughing(n: int, rng: np.random.Generator) -> FloatArray:
    """Ha-ha-ha: breath, then voice in an open vowel, sinking in pitch and strength."""
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


# Weather, water and fire: filtered noise, random drops and slow swells.


def _spatter(
    n: int, rng: np.random.Generator, rate: float, band: tuple[float, float], spread: float
) -> FloatArray:
    """Tiny impacts, `rate` a second, of six different colours within `band` Hz."""
    out = np.zeros(n)
    for f in rng.uniform(*band, 6):
        clicks = poisson_clicks(n, rng, rate / 6, spread)
        out += modes(clicks, np.array([f]), rng.uniform(0.0003, 0.001, 1), np.ones(1))
    return out


def crackling_fire(n: int, rng: np.random.Generator) -> FloatArray:
    """Sparse snaps of very different strength over the low flutter of flames."""
    snaps = _spatter(n, rng, rng.uniform(15, 45), (800, 7000), 1.0)
    flames = tilted_noise(n, rng, 7, 90) * wander(n, rng, 7, 0.6)
    crumble = unit_rms(_spatter(n, rng, 300, (2000, 9000), 1.2))
    return np.tanh(2.5 * unit_peak(snaps)) + rng.uniform(0.03, 0.09) * flames + 0.015 * crumble


def rain(n: int, rng: np.random.Generator) -> FloatArray:
    """A dense hiss of distant drops with single drops near by striking leaves, roof or ground."""
    hiss = band_noise(n, rng, rng.uniform(1000, 2500), rng.uniform(8000, 14000))
    drops = _spatter(n, rng, rng.uniform(100, 500), (1200, 6500), 0.8)
    return wander(n, rng, 1.0, 0.15) * (hiss + rng.uniform(0.4, 1.2) * unit_rms(drops))


def sea_waves(n: int, rng: np.random.Generator) -> FloatArray:
    """Surf: a low roar that gathers, a bright crash, and foam hissing away."""
    waves = phase(rng.uniform(0.2, 0.4) * wander(n, rng, 0.5, 0.1)) + rng.uniform()
    gather = np.sin(np.pi * waves) ** 2
    crash = np.interp(waves % 1.0, (0, 0.2, 0.35, 0.6, 1), (0, 0.2, 1, 0.4, 0))
    roar = tilted_noise(n, rng, 6, 120) * (0.4 + 0.6 * gather)
    surf = band_noise(n, rng, 200, 1500) * (0.25 + crash)
    foam = band_noise(n, rng, 1200, 5500) * (0.12 + crash)
    return roar + rng.uniform(0.5, 0.9) * surf + rng.uniform(0.25, 0.6) * foam


def thunderstorm(n: int, rng: np.random.Generator) -> FloatArray:
    """Thunder: a crack torn into echoes that roll on as a rumble, over faint rain."""
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


def water_drops(n: int, rng: np.random.Generator) -> FloatArray:
    """Drips: each entrains a bubble, whose tone rises as it nears the surface."""
    base = rng.uniform(600, 1600)

    def plop() -> FloatArray:
        m = frames(0.12)
        glide = 1 + rng.uniform(2, 10) * np.arange(m) / RATE
        tone = np.sin(2 * np.pi * phase(base * rng.uniform(0.7, 1.4) * glide))
        tick = band_noise(m, rng, 2000, 8000) * burst(m, 0.0005, 0.002)
        return tone * burst(m, 0.002, rng.uniform(0.012, 0.035)) + rng.uniform(0.05, 0.2) * tick

    starts = onsets(n, rng, (0.1, 0.42))
    return place(n, starts, [rng.uniform(0.4, 1.0) * plop() for _ in starts])


def wind(n: int, rng: np.random.Generator) -> FloatArray:
    """Gusts: noise whistling through a gap, its pitch and strength rising together."""
    gust = wander(n, rng, 1.5, 0.45)
    tone = rng.uniform(280, 650) * gust**0.5
    howl = formants(
        rng.standard_normal(n),
        (tone, tone * rng.uniform(1.6, 2.2)),
        (rng.uniform(60, 160), 250),
        (1.0, rng.uniform(0.15, 0.4)),
    )
    return gust * (unit_rms(howl) + rng.uniform(0.5, 1.2) * tilted_noise(n, rng, 8, 80))


# Signals meant to be heard: horns, bells, alarms, sirens.


_BELL_RATIOS = np.array((0.5, 1.0, 1.19, 1.5, 2.0, 2.52, 3.01, 4.1, 5.4, 6.8))
"""Partials of a tuned bell to its strike note: hum, prime, tierce, quint, nominal and above."""


def car_horn(n: int, rng: np.random.Generator) -> FloatArray:
    """Honks: two brassy tones about a third apart, at steady pitch."""
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


def church_bells(n: int, rng: np.random.Generator) -> FloatArray:
    """Two or three bells struck in turn, each a bank of slowly dying partials."""
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


def clock_alarm(n: int, rng: np.random.Generator) -> FloatArray:
    """An alarm clock: groups of electronic beeps, or a hammer hurrying between two small bells."""
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


def siren(n: int, rng: np.random.Generator) -> FloatArray:
    """An emergency siren: a tone that wails slowly, yelps fast, or steps between two notes."""
    kind = rng.integers(3)
    rate = (rng.uniform(0.25, 0.5), rng.uniform(2.5, 4.5), rng.uniform(0.8, 1.3))[kind]
    sweep = np.sin(2 * np.pi * (phase(np.full(n, rate)) + rng.uniform()))
    if kind == 2:
        sweep = np.tanh(12 * sweep)
    octaves = (rng.uniform(0.5, 0.75), rng.uniform(0.4, 0.6), rng.uniform(0.17, 0.25))[kind]
    f0 = rng.uniform(750, 1100) * np.exp2(octaves * sweep) * wander(n, rng, 1, 0.01)
    tone = pulse_train(f0, rng.uniform(1500, 4000))
    return tone + 0.01 * band_noise(n, rng, 300, 4000)
