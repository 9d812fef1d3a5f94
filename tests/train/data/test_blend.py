"""How many samples each corpus gives is a pure function of the step, and follows its weight."""

from __future__ import annotations

import math
import re
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.base.errors import SpecError
from train.data.order import Blend, Stream

WEIGHTS = st.lists(st.integers(1, 40), min_size=1, max_size=7)


@given(WEIGHTS, st.integers(1, 50))
def test_each_corpus_keeps_to_its_weight_within_a_sample_after_every_step(
    weights: list[int], batch: int
) -> None:
    blend = Blend.of(weights, batch)
    fewest, most = blend.extremes
    for step in range(300):
        seen = blend.before(step)
        assert sum(seen) == step * batch
        for count, weight in zip(seen, weights, strict=True):
            assert abs(count - Fraction(step * batch * weight, sum(weights))) < 1
        counts = np.subtract(blend.before(step + 1), seen)
        assert (fewest <= counts).all()
        assert (counts <= most).all()
    assert min(fewest) >= 0


@given(WEIGHTS, st.integers(1, 8))
def test_the_schedule_is_that_of_the_naive_one(weights: list[int], batch: int) -> None:
    """Place by place, of all samples that may come now the one that is due first."""
    blend = Blend.of(weights, batch)
    total = sum(weights)
    given_so_far = [0] * len(weights)
    for place in range(40 * batch):
        if place % batch == 0:
            assert blend.before(place // batch) == given_so_far
        due = [
            (math.ceil(Fraction((count + 1) * total, weight)), corpus)
            for corpus, (count, weight) in enumerate(zip(given_so_far, weights, strict=True))
            if math.floor(Fraction(count * total, weight)) <= place
        ]
        given_so_far[min(due)[1]] += 1


def test_weights_are_taken_as_they_are_written() -> None:
    assert Blend.of([0.7, 0.2, 0.1], 10).before(3) == [21, 6, 3]
    assert Blend.of([1 / 3, 1 / 3, 1 / 3], 3).before(7) == [7, 7, 7]
    assert Blend.of([3, 1], 4).before(10**9) == [3 * 10**9, 10**9]


@pytest.mark.parametrize("weights", [[1, 0], [0.5, -1], [math.nan, 1], [math.inf, 1]])
def test_weights_that_are_none_are_told(weights: list[float]) -> None:
    with pytest.raises(SpecError, match="expected numbers above 0"):
        Blend.of(weights, 4)


@pytest.mark.parametrize("weights", [[0.1234567, 0.8765434], [48_213, 120_007]])
def test_weights_that_are_too_fine_are_told(weights: list[float]) -> None:
    told = ", ".join(map(str, weights))
    with pytest.raises(SpecError, match=rf"weights {re.escape(told)} are too fine"):
        Blend.of(weights, 4)
    shares = [round(weight / sum(weights), 4) for weight in weights]
    assert sum(Blend.of(shares, 4).before(100)) == 400


SIZES = st.integers(1, 40)


@given(SIZES, st.lists(st.integers(0, 12), min_size=1, max_size=40), st.integers(0, 3))
def test_a_corpus_is_passed_through_wholly_before_it_repeats(
    size: int, counts: list[int], seed: int
) -> None:
    samples = np.arange(100, 100 + size)
    stream = Stream(samples, max(counts), seed, "mix-0")
    ends = np.cumsum([0, *counts]).tolist()
    batches = [stream.take(*each).tolist() for each in pairwise(ends)]
    seen = [sample for batch in batches for sample in batch]
    for start in range(0, len(seen), size):
        epoch = seen[start : start + size]
        assert len(set(epoch)) == len(epoch)
        assert set(epoch) <= set(samples.tolist())
        assert len(epoch) < size or set(epoch) == set(samples.tolist())
    if size >= 3 * max(counts):
        assert all(len(set(batch)) == len(batch) for batch in batches)
    # Whoever begins in the middle, or goes back, gets the same.
    again = Stream(samples, max(counts), seed, "mix-0")
    for number in reversed(range(len(counts))):
        assert again.take(ends[number], ends[number + 1]).tolist() == batches[number]


def test_every_pass_has_another_order() -> None:
    stream = Stream(np.arange(50), 4, 0, "mix-0")
    orders = [tuple(stream.take(start, start + 50)) for start in range(0, 500, 50)]
    assert len(set(orders)) == 10
