"""Attacks: how often a sound may be said to begin, block by block."""

from __future__ import annotations

import numpy as np
import pytest

from synth.audio.dsp import Audio, attacks, levels

RATE = 16_000


def burst(seconds: float = 0.2, seed: int = 0) -> Audio:
    """Noise that dies away, as a knock does."""
    frames = round(seconds * RATE)
    noise = np.random.default_rng(seed).normal(0, 0.2, frames)
    return (noise * np.exp(-np.arange(frames) * 25 / RATE)).astype(np.float32)


def silence(seconds: float) -> Audio:
    return np.zeros(round(seconds * RATE), np.float32)


def test_each_burst_is_one_and_lies_in_its_block() -> None:
    sound = np.concatenate([silence(0.12), burst(), silence(0.3), burst(seed=1)])
    found = attacks(sound, RATE)
    assert len(found) == len(levels(sound, RATE))
    assert np.flatnonzero(found).tolist() == [2, 12]
    assert found.sum() == 2


@pytest.mark.parametrize("gap_s", [0.1, 0.15])
def test_bursts_that_follow_closely_are_counted_apart(gap_s: float) -> None:
    sound = np.concatenate([burst(gap_s), burst(seed=1)])
    assert attacks(sound, RATE).sum() == 2


def test_a_steady_sound_begins_once_however_low_its_pitch() -> None:
    moments = np.arange(RATE) / RATE
    for pitch in (90.0, 150.0, 440.0):
        tone = (0.3 * np.sin(2 * np.pi * pitch * moments)).astype(np.float32)
        assert attacks(tone, RATE).sum() == 1
    noise = np.random.default_rng(0).normal(0, 0.1, RATE).astype(np.float32)
    assert attacks(noise, RATE).sum() == 1


def test_what_is_faint_counts_up_to_45_db_below_the_loudest() -> None:
    for level_db, expected in ((-35.0, 2), (-50.0, 1)):
        faint = burst(seed=1) * np.float32(10 ** (level_db / 20))
        sound = np.concatenate([burst(), silence(0.2), faint])
        assert attacks(sound, RATE).sum() == expected


def test_silence_and_nothing_have_none() -> None:
    assert attacks(silence(0.5), RATE).sum() == 0
    assert len(attacks(silence(0), RATE)) == 0
    assert attacks(burst()[:5], RATE).tolist() == [1]
