"""Units: one rounding rule, exact lengths, levels that come back."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.base.units import resampled_frames, to_decibels, to_frames, to_gain, to_seconds

RATES = st.sampled_from([8_000, 16_000, 22_050, 32_000, 44_100, 48_000, 96_000])


def test_seconds_to_frames() -> None:
    for seconds, rate, frames in (
        (10, 48_000, 480_000),
        (0, 44_100, 0),
        (0.5, 3, 2),
        (1 / 3, 44_100, 14_700),
        (1e-9, 8_000, 0),
    ):
        assert to_frames(seconds, rate) == frames
    for wrong in (-0.1, math.nan, math.inf):
        with pytest.raises(ValueError, match="finite"):
            to_frames(wrong, 48_000)


@given(st.integers(0, 2**40), RATES)
def test_frames_survive_seconds(frames: int, rate: int) -> None:
    assert to_frames(to_seconds(frames, rate), rate) == frames


@given(st.integers(0, 10**9), RATES, RATES)
def test_resampled_frames_are_rounded_exactly(frames: int, rate: int, target: int) -> None:
    exact = Fraction(frames * target, rate)
    assert resampled_frames(frames, rate, target) == math.floor(exact + Fraction(1, 2))


@given(st.floats(-119, 60))
def test_decibels_and_gain_are_inverse(decibels: float) -> None:
    assert to_decibels(to_gain(decibels)) == pytest.approx(decibels, abs=1e-9)
    assert to_decibels(0.0) == to_decibels(1e-30) == -120.0
