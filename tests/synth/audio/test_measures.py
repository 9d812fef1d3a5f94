"""Measures of a sound: each tells what its name says, whatever silence lies around."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from synth.audio.dsp import Audio
from synth.audio.treatments import (
    measure_brightness,
    measure_length,
    measure_level,
    measure_reverberation,
    measure_slope,
    measure_tempo,
)
from tests.kit.cases import cases

RATE = 16_000
MEASURES = (measure_brightness, measure_length, measure_level, measure_reverberation, measure_slope)


def tone(pitch: float, seconds: float = 1.0) -> Audio:
    return np.sin(2 * np.pi * pitch * np.arange(round(seconds * RATE)) / RATE).astype(np.float32)


def noise(seconds: float, decay_s: float = np.inf) -> Audio:
    moments = np.arange(round(seconds * RATE)) / RATE
    plain = np.random.default_rng(0).normal(0, 0.1, len(moments))
    return (plain * 10 ** (-3 * moments / decay_s)).astype(np.float32)


def test_the_reverberation_of_decaying_noise_is_its_decay() -> None:
    for decay_s in (0.6, 1.0, 2.5, 4.0):
        found = measure_reverberation(noise(decay_s, decay_s), RATE)
        assert found == pytest.approx(decay_s, rel=0.25)
        # What goes on before, and the number of sounds, do not count.
        twice = np.concatenate([noise(1.0), noise(decay_s, decay_s), noise(decay_s, decay_s)])
        assert measure_reverberation(twice, RATE) == pytest.approx(decay_s, rel=0.25)
    # What breaks off has the least.
    assert measure_reverberation(noise(1.0), RATE) == pytest.approx(0.45, abs=0.01)


def test_the_brightness_of_a_tone_is_its_pitch() -> None:
    for pitch in (250, 1000, 4000):
        found = measure_brightness(tone(pitch), RATE)
        assert found == pytest.approx(np.log2(pitch / 1000), abs=0.02)
    # A hum that nobody hears does not count.
    assert measure_brightness(tone(30) + tone(2000), RATE) == pytest.approx(1.0, abs=0.02)


@cases("gain_db", [0, -12, -40])
def test_the_level_is_that_of_the_loudest_place(gain_db: int) -> None:
    sound = tone(1000) * np.float32(10 ** (gain_db / 20))
    assert measure_level(sound, RATE) == pytest.approx(gain_db - 3.01, abs=0.1)
    follows = np.concatenate([sound, sound * np.float32(0.1)])
    assert measure_level(follows, RATE) == pytest.approx(gain_db - 3.01, abs=0.1)


def test_the_slope_of_a_ramp_is_half_of_it() -> None:
    sound = tone(1000, 4.0) * (10 ** (np.linspace(-18, 0, 4 * RATE) / 20)).astype(np.float32)
    assert measure_slope(sound, RATE) == pytest.approx(9, abs=0.3)
    assert measure_slope(sound[::-1].copy(), RATE) == pytest.approx(-9, abs=0.3)
    assert measure_slope(tone(1000), RATE) == pytest.approx(0, abs=0.3)


@cases(
    ("count", "per_s", "countable"),
    [
        (3, 2.0, True),
        (6, 1.2, True),
        (9, 6.0, True),
        (2, 2.0, False),
        (4, 0.5, False),
        (20, 9.5, False),
    ],
)
def test_a_tempo_is_told_of_what_a_person_can_count(
    count: int, per_s: float, countable: bool
) -> None:
    knocks = np.zeros(round((count / per_s + 0.5) * RATE), np.float32)
    knock = noise(0.5, 0.1)
    for number in range(count):
        at = round(number / per_s * RATE)
        knocks[at:][: len(knock)] += knock[: len(knocks) - at]
    tempo = measure_tempo(knocks, RATE)
    assert tempo == pytest.approx(per_s if countable else math.nan, rel=0.1, nan_ok=True)


@cases("measure", MEASURES)
def test_silence_around_a_sound_changes_nothing(measure: Callable[[Audio, int], float]) -> None:
    plain = noise(1.5, 2.0) + tone(700, 1.5)
    around = np.pad(plain, RATE)
    assert measure(around, RATE) == pytest.approx(measure(plain, RATE), abs=0.1)
    assert math.isnan(measure_tempo(plain, RATE))
    for frames in (0, 1, 100, RATE):
        assert np.isfinite(measure(np.zeros(frames, np.float32), RATE))
    assert measure_length(np.pad(noise(1.0), RATE // 2), RATE) == pytest.approx(1.0, abs=0.05)
