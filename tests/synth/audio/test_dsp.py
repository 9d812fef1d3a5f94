"""Signals: fades, 16-bit samples, measurements and attacks, against plain definitions."""

from __future__ import annotations

import math

import numpy as np
import pyloudnorm
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from synth.audio.dsp import (
    SILENCE_DB,
    ActiveSpan,
    Audio,
    Fade,
    a_weight,
    active_span,
    attacks,
    fade_in,
    from_pcm,
    levels,
    loudness,
    peak,
    ramp_cut,
    remove_rumble,
    to_pcm,
    weighted_levels,
)
from tests.kit.cases import cases

RATE = 16_000
HOP = 800  # 50 ms


def tone(frames: int, amplitude: float = 0.5) -> np.ndarray:
    phase = np.arange(frames) * (2 * np.pi * 440 / RATE)
    return (amplitude * np.sin(phase)).astype(np.float32)


def silence(frames: int) -> np.ndarray:
    return np.zeros(frames, dtype=np.float32)


@cases("frames", [1, 2, 3, 1000])
def test_fades_are_complementary(frames: int) -> None:
    linear, power = fade_in(frames, Fade.LINEAR), fade_in(frames, Fade.EQUAL_POWER)
    assert np.allclose(linear + linear[::-1], 1, atol=1e-6)
    assert np.allclose(power**2 + power[::-1] ** 2, 1, atol=1e-6)
    for gains in (linear, power):
        assert gains.dtype == np.float32
        assert (np.diff(gains) > 0).all()
        assert gains.min() > 0
        assert gains.max() < 1 or frames == 1


@given(hnp.arrays(np.float32, st.integers(0, 40), elements=st.floats(-1, 32767 / 32768, width=32)))
def test_pcm_round_trip_is_within_half_a_step(audio: np.ndarray) -> None:
    pcm = to_pcm(audio)
    assert pcm.dtype == np.int16
    assert np.abs(from_pcm(pcm) - audio).max(initial=0) <= 0.5 / 32768 + 1e-7
    assert np.array_equal(to_pcm(from_pcm(pcm)), pcm)


def test_every_pcm_value_survives_and_what_is_over_full_scale_saturates() -> None:
    pcm = np.arange(-32768, 32768).astype(np.int16)
    assert np.array_equal(to_pcm(from_pcm(pcm)), pcm)
    loud = np.array([1.0, 1.5, 100, -1.0, -1.5, -100], dtype=np.float32)
    assert to_pcm(loud).tolist() == [32767] * 3 + [-32768] * 3
    assert peak(np.array([0.25, -0.5], dtype=np.float32)) == 0.5
    assert peak(silence(0)) == 0.0


def test_levels_are_rms_of_50_ms_blocks() -> None:
    audio = np.concatenate([np.full(HOP, 0.1), np.zeros(HOP), np.full(10, 1.0)]).astype(np.float32)
    assert levels(audio, RATE).tolist() == pytest.approx([-20, SILENCE_DB, 0], abs=1e-4)
    for measure in (levels, weighted_levels):
        assert measure(silence(2 * HOP + 1), RATE).tolist() == [SILENCE_DB] * 3
        assert measure(silence(0), RATE).tolist() == []


def weigh_frequency(hertz: np.ndarray) -> np.ndarray:
    """The A-weighting of IEC 61672-1 in dB."""
    a, b, c, d = (pole**2 for pole in (20.6, 107.7, 737.9, 12_194.0))
    f = hertz**2
    gain = d * f**2 / ((f + a) * (f + d) * ((f + b) * (f + c)) ** 0.5)
    return 20 * np.log10(gain) + 2.0


ALL_RATES = [4_000, 8_000, 11_025, 22_050, 44_100, 96_000]


@cases("rate", ALL_RATES)
def test_sounds_are_weighted_by_the_curve_and_no_part_is_moved(rate: int) -> None:
    click = silence(2 * rate + 1)
    click[rate] = 1.0
    weighted = a_weight(click, rate)
    assert np.allclose(weighted, weighted[::-1], atol=1e-6)
    hertz = np.fft.rfftfreq(len(click), 1 / rate)
    inside = (hertz >= 50) & (hertz <= 0.9 * min(rate / 2, 16_000))
    gains_db = 20 * np.log10(np.abs(np.fft.rfft(weighted))[inside])
    assert np.allclose(gains_db, weigh_frequency(hertz[inside]), atol=0.3)
    # 99.9 % of the energy of a click lies within 2 ms of it.
    near = weighted[rate - rate // 500 : rate + rate // 500 + 1]
    assert np.sum(near**2) > 0.999 * np.sum(weighted**2)


@cases("rate", ALL_RATES)
@cases(("hertz", "weight_db"), [(100, -19.1), (1000, 0.0), (1500, 0.9)])
def test_a_sine_is_weighted_by_its_frequency(rate: int, hertz: int, weight_db: float) -> None:
    phase = np.arange(rate + 7) * (2 * np.pi * hertz / rate)
    audio = (0.5 * np.sin(phase)).astype(np.float32)
    assert np.allclose(weighted_levels(audio, rate)[1:-2], -9.03 + weight_db, atol=0.15)


@cases("rate", ALL_RATES)
def test_an_offset_and_what_lies_below_hearing_are_removed(rate: int) -> None:
    rng = np.random.default_rng(rate)
    moments = np.arange(4 * rate) / rate
    for hertz, least_db, most_db in (
        (5, -90, -60),
        (10, -37, -35),
        (20, -6.5, -5.5),
        (25, -2.5, -1.5),
        (30, -0.8, 0),
        (100, -0.05, 0.05),
        (1500, -0.05, 0.05),
    ):
        tone = np.sin(2 * np.pi * hertz * moments).astype(np.float32)
        kept = remove_rumble(tone, rate)[rate:-rate]
        assert least_db <= 20 * np.log10(np.std(kept) / np.std(tone)) <= most_db, hertz
    for frames in (1, 2, rate // 100, rate // 10, rate):
        assert peak(remove_rumble(np.full(frames, 0.09, dtype=np.float32), rate)) < 1e-6
        noise = (0.09 + rng.normal(0, 0.1, frames)).astype(np.float32)
        assert abs(remove_rumble(noise, rate).mean()) < 1e-3 or frames < rate // 10
    # The ends too; and of white noise nothing else goes.
    noise = rng.normal(0, 0.1, 4 * rate).astype(np.float32)
    kept = remove_rumble(noise + np.float32(0.09), rate)
    for part in (kept, kept[:rate], kept[-rate:]):
        assert abs(part.mean()) < 1e-3
    hertz = np.fft.rfftfreq(len(noise), 1 / rate)
    before, after = (np.fft.rfft(each)[hertz > 60] for each in (noise, kept))
    assert np.std(after - before) < 0.02 * np.std(before)


def test_digital_silence_around_a_sound_stays_so() -> None:
    noise = np.random.default_rng(0).normal(0, 0.1, RATE).astype(np.float32)
    kept = remove_rumble(np.concatenate([silence(HOP), noise, silence(3)]), RATE)
    assert np.array_equal(
        kept, np.concatenate([silence(HOP), remove_rumble(noise, RATE), silence(3)])
    )
    assert remove_rumble(silence(HOP), RATE).tolist() == [0.0] * HOP


@cases("frames", [0, 1, 2, 7, 500])
@cases("begins", [False, True])
@cases("ends", [False, True])
def test_a_cut_begins_and_ends_within_5_ms(frames: int, begins: bool, ends: bool) -> None:
    audio = np.ones(frames, dtype=np.float32)
    ramp_cut(audio, RATE, begins=begins, ends=ends)
    ramp = min(80, frames // 2)
    expected = [
        min(
            min((at + 0.5) / ramp, 1) if begins and ramp else 1,
            min((frames - at - 0.5) / ramp, 1) if ends and ramp else 1,
        )
        for at in range(frames)
    ]
    assert audio.tolist() == pytest.approx(expected, abs=1e-6)


@cases(
    ("parts", "span"),
    [
        ([silence(3 * HOP), tone(5 * HOP), silence(7 * HOP)], (3 * HOP, 8 * HOP)),
        # A pause inside belongs to the sound.
        ([tone(HOP), silence(9 * HOP), tone(HOP), silence(HOP)], (0, 11 * HOP)),
        # The span of a last partial block ends with the audio.
        ([tone(2 * HOP + 17)], (0, 2 * HOP + 17)),
        ([tone(2)[1:]], (0, 1)),
        *(([silence(frames)], None) for frames in (0, 1, 10 * HOP)),
    ],
)
def test_silence_around_a_sound_is_left_out(
    parts: list[np.ndarray], span: tuple[int, int] | None
) -> None:
    assert active_span(np.concatenate(parts), RATE, 50.0) == (ActiveSpan(*span) if span else None)


def test_a_noise_floor_is_left_out_where_it_is_below_the_range() -> None:
    noise = np.random.default_rng(0).normal(size=12 * HOP).astype(np.float32) * 0.001  # -60 dB
    noise[4 * HOP : 6 * HOP] += tone(2 * HOP, 0.9)
    assert active_span(noise, RATE, 50.0) == ActiveSpan(4 * HOP, 6 * HOP)
    assert active_span(noise, RATE, 70.0) == ActiveSpan(0, 12 * HOP)
    # Between -120 and -119 dB the threshold lay above the loudest block: IndexError.
    for level_db in (-119.9, -119.5, -119.01, -119.0, -118.9, -125.0):
        audio = np.full(4 * HOP, 10 ** (level_db / 20), dtype=np.float32)
        assert active_span(audio, RATE, 50.0) in (None, ActiveSpan(0, 4 * HOP))


@given(hnp.arrays(np.float32, st.integers(1, 5000), elements=st.sampled_from([0.0, 1e-6, 0.3])))
def test_the_span_holds_the_loudest_block_and_lies_inside(audio: np.ndarray) -> None:
    span = active_span(audio, RATE, 50.0)
    if span is None:
        assert np.abs(audio).max() < 1e-4
        return
    assert 0 <= span.onset < span.offset <= len(audio)
    assert span.onset % HOP == 0
    assert levels(audio[span.onset : span.offset], RATE).max() == levels(audio, RATE).max()


@cases("rate", [16_000, 44_100, 48_000])
def test_loudness_of_a_full_scale_997_hz_sine(rate: int) -> None:
    sine = np.sin(np.arange(3 * rate) * (2 * np.pi * 997 / rate)).astype(np.float32)
    assert loudness(sine, rate) == pytest.approx(-3.01, abs=0.1)
    assert loudness(sine * np.float32(0.1), rate) == pytest.approx(-23.01, abs=0.1)


@given(
    st.integers(0, 40_000),
    st.sampled_from([8_000, 22_050, 44_100, 48_000, 96_000]),
    st.sampled_from([0.0, 0.25]),
)
@example(7, 48_000, 0.25)  # (7 / 48000) * 48000 is more than 7 in floating point: ValueError
def test_any_length_at_any_rate_has_a_loudness(frames: int, rate: int, level: float) -> None:
    sound = np.full(frames, level, dtype=np.float32)
    sound[frames // 2 :] *= np.random.default_rng(frames).uniform(-1, 1, frames - frames // 2)
    found = loudness(sound, rate)
    assert found == SILENCE_DB or level
    if frames > 1:
        whole = frames / rate
        block = min(0.4, whole if whole * rate <= frames else math.nextafter(whole, 0.0))
        meter = pyloudnorm.Meter(rate, block_size=block)
        with np.errstate(divide="ignore", invalid="ignore"):
            expected = meter.integrated_loudness(sound.astype(np.float64))
        assert found == pytest.approx(max(expected, SILENCE_DB), abs=1e-6)


# Attacks: how often a sound may be said to begin, block by block


def burst(seconds: float = 0.2, seed: int = 0) -> Audio:
    """Noise that dies away, as a knock does."""
    frames = round(seconds * RATE)
    noise = np.random.default_rng(seed).normal(0, 0.2, frames)
    return (noise * np.exp(-np.arange(frames) * 25 / RATE)).astype(np.float32)


def test_each_burst_is_one_and_lies_in_its_block() -> None:
    sound = np.concatenate([silence(1920), burst(), silence(4800), burst(seed=1)])
    starts = attacks(sound, RATE)
    assert len(starts) == len(levels(sound, RATE))
    assert np.flatnonzero(starts).tolist() == [2, 12]
    assert starts.sum() == 2
    assert attacks(silence(8000), RATE).sum() == 0
    assert len(attacks(silence(0), RATE)) == 0
    assert attacks(burst()[:5], RATE).tolist() == [1]


@cases(
    ("first", "pause", "second_db", "count"),
    [
        # Bursts that follow closely are counted apart.
        (0.1, 0, 0.0, 2),
        (0.15, 0, 0.0, 2),
        # What is faint counts up to 45 dB below the loudest.
        (0.2, 3200, -35.0, 2),
        (0.2, 3200, -50.0, 1),
    ],
)
def test_two_bursts_are_counted(first: float, pause: int, second_db: float, count: int) -> None:
    second = burst(seed=1) * np.float32(10 ** (second_db / 20))
    sound = np.concatenate([burst(first), silence(pause), second])
    assert attacks(sound, RATE).sum() == count


def test_a_steady_sound_begins_once_however_low_its_pitch() -> None:
    moments = np.arange(RATE) / RATE
    for pitch in (90.0, 150.0, 440.0):
        tone = (0.3 * np.sin(2 * np.pi * pitch * moments)).astype(np.float32)
        assert attacks(tone, RATE).sum() == 1
    noise = np.random.default_rng(0).normal(0, 0.1, RATE).astype(np.float32)
    assert attacks(noise, RATE).sum() == 1
