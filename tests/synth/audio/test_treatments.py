"""Treatments do what their names say, by other measures than their own; and those measures."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from synth.audio.dsp import Audio, attacks, levels
from synth.audio.treatments import (
    TREATMENTS,
    explain_lack,
    measure_brightness,
    measure_length,
    measure_level,
    measure_reverberation,
    measure_slope,
    measure_tempo,
    treat,
)
from synth.base.rng import Randomness
from synth.labels.lexicon import Treatment
from synth.sources.procedural import foley
from synth.sources.reading.files import read_recording
from tests.kit.cases import cases

RATE = 22_050
STEP = 2 ** (5 / 12)
CLASSES = ("dog", "rain", "church_bells", "footsteps", "engine")


def apply(name: str, audio: Audio, rate: int = RATE) -> Audio:
    return treat(Treatment(name), audio, rate, Randomness(0).at("test", 0))


def bursts(*moments: float) -> Audio:
    """Knocks at moments in s."""
    sound = np.zeros(round((moments[-1] + 0.5) * RATE), np.float32)
    each = np.random.default_rng(0).normal(0, 0.2, RATE // 5)
    each *= np.exp(-np.arange(len(each)) * 30 / RATE)
    for moment in moments:
        at = round(moment * RATE)
        sound[at : at + len(each)] += each.astype(np.float32)
    return sound


def voice(pitch: float = 220.0) -> Audio:
    """Two seconds of a tone with overtones."""
    phases = 2 * np.pi * pitch * np.arange(2 * RATE) / RATE
    parts = [np.sin(phases * number) / number for number in range(1, 8)]
    return (0.2 * np.sum(parts, axis=0)).astype(np.float32)


def find_pitch(audio: Audio) -> float:
    """The frequency of its strongest partial, the first of a voice."""
    spectrum = np.abs(np.fft.rfft(audio * np.hanning(len(audio)), 4 * len(audio)))
    return float(spectrum.argmax() * RATE / (4 * len(audio)))


def find_centroid(audio: Audio, rate: int) -> float:
    spectrum = np.abs(np.fft.rfft(audio)) ** 2
    return float(spectrum @ np.fft.rfftfreq(len(audio), 1 / rate) / spectrum.sum())


@cache
def sounds(root: Path | None) -> tuple[tuple[str, Audio, int], ...]:
    """Clips of ESC-50, or takes of procedural sounds."""
    if root is not None:
        chosen = sorted((root / "audio").iterdir())[10::45]
        found = ((path.name, read_recording(path)) for path in chosen)
        return tuple((name, each.audio, each.rate) for name, each in found)
    return tuple(
        (name, foley.synthesize(name, Randomness(0).at(f"foley/{name}", 0)), foley.RATE)
        for name in CLASSES
    )


def test_a_hall_decays_as_long_as_it_says() -> None:
    heard = apply("hall", bursts(0.0))
    # Schroeder's backward integration, from 5 to 35 dB below the begin.
    remains = 10 * np.log10(np.cumsum(np.square(heard[::-1], dtype=np.float64))[::-1])
    fall = remains - remains[0]
    at = np.flatnonzero((fall < -5) & (fall > -35))
    slope_db = np.polyfit(at / RATE, fall[at], 1)[0]
    assert -60 / slope_db == pytest.approx(2.5, rel=0.1)
    assert len(heard) - len(bursts(0.0)) == pytest.approx(2.5 * RATE, abs=2)


@cases(("name", "factor"), [("high", STEP), ("low", 1 / STEP)])
def test_a_pitch_moves_by_five_semitones_and_the_length_stays(name: str, factor: float) -> None:
    heard = apply(name, voice())
    assert find_pitch(heard) / find_pitch(voice()) == pytest.approx(factor, rel=0.01)
    assert len(heard) == len(voice())


@cases(("name", "speed"), [("fast", 1.5), ("slow", 1 / 1.5)])
def test_a_tempo_changes_and_the_pitch_stays(name: str, speed: float) -> None:
    assert find_pitch(apply(name, voice())) == pytest.approx(220, rel=0.01)
    moments = np.array([0.0, 0.6, 1.2, 1.8])
    found = np.flatnonzero(attacks(apply(name, bursts(*moments)), RATE, rise_db=12)) * 0.05
    assert len(found) == len(moments)
    assert np.abs(found - found[0] - moments / speed).max() < 0.11


@cases(("name", "ends_db"), [("rising", (-18, 0)), ("falling", (0, -18))])
def test_a_ramp_goes_from_begin_to_end_of_the_sound(name: str, ends_db: tuple[int, int]) -> None:
    sound = np.pad(voice(), RATE)
    change = (levels(apply(name, sound), RATE) - levels(sound, RATE))[21:60]
    assert change[[0, -1]] == pytest.approx(ends_db, abs=1.2)
    assert np.ptp(np.diff(change)) < 0.1


@pytest.mark.parametrize("library", ["foley", pytest.param("ESC-50", marks=pytest.mark.slow)])
def test_what_is_accepted_of_real_sounds_is_what_the_name_says(
    library: str, shared_data: Callable[[str], Path]
) -> None:
    root = shared_data(library) if library != "foley" else None
    accepted = 0
    for label, audio, rate in sounds(root):
        for name in TREATMENTS:
            heard = apply(name, audio, rate)
            if explain_lack(Treatment(name), audio, heard, rate):
                continue
            accepted += 1
            told = (label, name)
            bright = measure_brightness(heard, rate) - measure_brightness(audio, rate)
            centroids = [find_centroid(each, rate) for each in (audio, heard)]
            decays = measure_reverberation(heard, rate) / measure_reverberation(audio, rate)
            level = measure_level(heard, rate) - measure_level(audio, rate)
            match name:
                case "hall":
                    assert decays >= 2, told
                    assert len(heard) > len(audio) + 2 * rate, told
                case "far":
                    assert level == pytest.approx(-15, abs=0.1), told
                    assert bright <= -0.2, told
                case "high":
                    assert 0.2 <= bright < 0.6, told
                    assert centroids[1] > centroids[0], told
                case "low":
                    assert -0.6 < bright <= -0.2, told
                    assert centroids[1] < centroids[0], told
                case "fast":
                    assert len(heard) == round(len(audio) / 1.5), told
                case "slow":
                    assert len(heard) == round(len(audio) * 1.5), told
                case "rising" | "falling":
                    assert level <= 0, told
                    half = len(heard) // 2
                    parts = [measure_level(each, rate) for each in (heard[:half], heard[half:])]
                    assert (parts[1] > parts[0]) == (name == "rising"), told
            if name in ("fast", "slow", "rising", "falling"):
                assert abs(bright) < 0.5, told
    assert accepted >= 5 * len(TREATMENTS) // 2


@cases(
    ("name", "sound"),
    [
        ("high", np.random.default_rng(0).normal(0, 0.1, RATE).astype(np.float32)),
        ("fast", np.random.default_rng(0).normal(0, 0.1, 3 * RATE).astype(np.float32)),
        ("slow", voice()),
        ("fast", bursts(0.0, 1.0)),
        ("slow", bursts(0.0, 1.2, 2.4)),
        ("fast", bursts(*(np.arange(20) / 7))),
        ("rising", bursts(0.0)),
        ("hall", apply("hall", bursts(0.0))),
    ],
)
def test_a_sound_that_hardly_changes_is_told(name: str, sound: Audio) -> None:
    assert " was " in explain_lack(Treatment(name), sound, apply(name, sound), RATE)


@cases("name", ["fast", "slow"])
def test_a_rhythm_that_a_person_could_count_is_faster_or_slower(name: str) -> None:
    sound = bursts(*(np.arange(6) / 2))
    assert explain_lack(Treatment(name), sound, apply(name, sound), RATE) == ""


@cases("name", TREATMENTS)
def test_a_click_can_be_treated(name: str) -> None:
    click = np.array([0.0, 0.5, -0.5, 0.0], np.float32)
    heard = apply(name, click)
    assert heard.dtype == np.float32
    assert np.isfinite(heard).all()


# Measures of a sound: each tells what its name says, whatever silence lies around.


LOW_RATE = 16_000
MEASURES = (measure_brightness, measure_length, measure_level, measure_reverberation, measure_slope)


def tone(pitch: float, seconds: float = 1.0) -> Audio:
    return np.sin(2 * np.pi * pitch * np.arange(round(seconds * LOW_RATE)) / LOW_RATE).astype(
        np.float32
    )


def noise(seconds: float, decay_s: float = np.inf) -> Audio:
    moments = np.arange(round(seconds * LOW_RATE)) / LOW_RATE
    plain = np.random.default_rng(0).normal(0, 0.1, len(moments))
    return (plain * 10 ** (-3 * moments / decay_s)).astype(np.float32)


def test_the_reverberation_of_decaying_noise_is_its_decay() -> None:
    for decay_s in (0.6, 1.0, 2.5, 4.0):
        found = measure_reverberation(noise(decay_s, decay_s), LOW_RATE)
        assert found == pytest.approx(decay_s, rel=0.25)
        # What goes on before, and the number of sounds, do not count.
        twice = np.concatenate([noise(1.0), noise(decay_s, decay_s), noise(decay_s, decay_s)])
        assert measure_reverberation(twice, LOW_RATE) == pytest.approx(decay_s, rel=0.25)
    # What breaks off has the least.
    assert measure_reverberation(noise(1.0), LOW_RATE) == pytest.approx(0.45, abs=0.01)


def test_the_brightness_of_a_tone_is_its_pitch() -> None:
    for pitch in (250, 1000, 4000):
        found = measure_brightness(tone(pitch), LOW_RATE)
        assert found == pytest.approx(np.log2(pitch / 1000), abs=0.02)
    # A hum that nobody hears does not count.
    assert measure_brightness(tone(30) + tone(2000), LOW_RATE) == pytest.approx(1.0, abs=0.02)


@cases("gain_db", [0, -12, -40])
def test_the_level_is_that_of_the_loudest_place(gain_db: int) -> None:
    sound = tone(1000) * np.float32(10 ** (gain_db / 20))
    assert measure_level(sound, LOW_RATE) == pytest.approx(gain_db - 3.01, abs=0.1)
    follows = np.concatenate([sound, sound * np.float32(0.1)])
    assert measure_level(follows, LOW_RATE) == pytest.approx(gain_db - 3.01, abs=0.1)


def test_the_slope_of_a_ramp_is_half_of_it() -> None:
    sound = tone(1000, 4.0) * (10 ** (np.linspace(-18, 0, 4 * LOW_RATE) / 20)).astype(np.float32)
    assert measure_slope(sound, LOW_RATE) == pytest.approx(9, abs=0.3)
    assert measure_slope(sound[::-1].copy(), LOW_RATE) == pytest.approx(-9, abs=0.3)
    assert measure_slope(tone(1000), LOW_RATE) == pytest.approx(0, abs=0.3)


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
    knocks = np.zeros(round((count / per_s + 0.5) * LOW_RATE), np.float32)
    knock = noise(0.5, 0.1)
    for number in range(count):
        at = round(number / per_s * LOW_RATE)
        knocks[at:][: len(knock)] += knock[: len(knocks) - at]
    tempo = measure_tempo(knocks, LOW_RATE)
    assert tempo == pytest.approx(per_s if countable else math.nan, rel=0.1, nan_ok=True)


@cases("measure", MEASURES)
def test_silence_around_a_sound_changes_nothing(measure: Callable[[Audio, int], float]) -> None:
    plain = noise(1.5, 2.0) + tone(700, 1.5)
    around = np.pad(plain, LOW_RATE)
    assert measure(around, LOW_RATE) == pytest.approx(measure(plain, LOW_RATE), abs=0.1)
    assert math.isnan(measure_tempo(plain, LOW_RATE))
    for frames in (0, 1, 100, LOW_RATE):
        assert np.isfinite(measure(np.zeros(frames, np.float32), LOW_RATE))
    assert measure_length(np.pad(noise(1.0), LOW_RATE // 2), LOW_RATE) == pytest.approx(
        1.0, abs=0.05
    )
