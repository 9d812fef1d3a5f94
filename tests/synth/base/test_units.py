"""Units and randomness: one rounding rule, exact lengths, streams that never meet."""

from __future__ import annotations

import hashlib
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.base.packing import pack_sizes
from synth.base.rng import Randomness, digest, digest_pieces, uniform_hash
from synth.base.units import resampled_frames, to_decibels, to_frames, to_gain, to_seconds
from tests.kit.cases import cases

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


# Randomness: pinned, so that a corpus of today can be built again years later.


TEXTS = st.lists(st.text(max_size=6), max_size=4)


def test_draws_for_seed_7_are_pinned() -> None:
    rng = Randomness(7).at("acba/train", 3)
    assert rng.integers(1_000_000, size=4).tolist() == PINNED_INTEGERS
    assert Randomness(7).at("acba/train", 3).random() == PINNED_RANDOM
    assert Randomness(7).at("x", 0).permutation(8).tolist() == PINNED_PERMUTATION
    assert uniform_hash("split", "7", "freesound/1") == PINNED_HASH


PINNED_INTEGERS = [62199, 179717, 216764, 489085]
PINNED_RANDOM = 0.17971747137191696
PINNED_PERMUTATION = [5, 3, 7, 6, 0, 2, 4, 1]
PINNED_HASH = 0.0357806471405564


def test_digest_is_sha256_of_the_framed_parts() -> None:
    assert digest("ab", "é") == hashlib.sha256("2:ab2:é".encode()).hexdigest()
    assert digest() == hashlib.sha256().hexdigest()
    assert len({digest("ab"), digest("a", "b"), digest("", "ab"), digest("1:a", "b")}) == 4


@given(TEXTS, TEXTS)
def test_different_lists_have_different_digests(one: list[str], other: list[str]) -> None:
    assert (digest(*one) == digest(*other)) == (one == other)


def test_uniform_hash_is_even() -> None:
    values = [uniform_hash("split", str(i)) for i in range(2000)]
    counts = np.histogram(values, bins=10, range=(0, 1))[0]
    assert counts.sum() == 2000, "all are between 0 and 1"
    assert counts.min() > 150


@given(st.integers(0, 2**64 - 1), st.text(max_size=5), st.integers(0, 2**40))
def test_an_item_is_a_pure_function_of_seed_operation_and_index(
    seed: int, operation: str, index: int
) -> None:
    again = Randomness(seed).at(operation, index).random(4).tolist()
    assert Randomness(seed).at(operation, index).random(4).tolist() == again


def test_streams_do_not_meet() -> None:
    streams = [
        tuple(Randomness(seed).at(operation, index).integers(2**63, size=64).tolist())
        for seed in (0, 1, 2**64 - 1)
        for operation in ("a", "b", "a/b")
        for index in (0, 1, 2, 1_000_000)
    ]
    drawn = [number for stream in streams for number in stream]
    assert len(set(drawn)) == len(drawn)
    # A long one does not run into the next item.
    here = set(Randomness(7).at("a", 0).integers(2**63, size=50_000).tolist())
    assert not here & set(Randomness(7).at("a", 1).integers(2**63, size=50_000).tolist())


@cases("seed", [-1, 2**64])
def test_a_seed_out_of_range_is_refused(seed: int) -> None:
    with pytest.raises(OverflowError):
        Randomness(seed).at("a", 0)


@given(st.lists(st.text(), max_size=5))
def test_pieces_are_digested_as_the_text_that_they_make(pieces: list[str]) -> None:
    assert digest_pieces(lambda: iter(pieces)) == digest("".join(pieces))
