"""Units: one rounding rule, exact lengths, levels that come back."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.base.packing import pack_sizes
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


# Sizes packed into batches: full, whole, and no size left out of every epoch


@given(st.lists(st.integers(1, 24), min_size=2, max_size=14), st.integers(0, 12))
def test_every_size_has_its_turn_and_what_is_left_out_fits_nowhere(
    sizes: list[int], spare: int
) -> None:
    batch = max(sizes) + spare
    kinds, groups = np.unique(sizes, return_counts=True)
    packing = pack_sizes(np.array(sizes), batch)
    loads = packing @ kinds
    assert packing.any(axis=(0, 1)).all()
    assert loads.max() <= batch
    for turn, held in zip(loads, packing.sum(axis=1), strict=True):
        assert (held <= groups).all()
        assert all((turn + size > batch).all() for size in kinds[held < groups])
    # The second turn asks for no fewer groups a batch, which is what processes share.
    fewest = packing.sum(axis=2).min(axis=1)
    assert fewest[-1] >= fewest[0]
    # A sample is alone only where all others fill a batch.
    if loads.min() == 1 and len(kinds) > 1:
        assert kinds.tolist() == [1, batch]
        assert groups[0] == 1
