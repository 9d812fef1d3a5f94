from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from experiments.harness.estimate import (
    Cell,
    Claim,
    ClaimVerdict,
    claim_alike,
    claim_near,
    estimate_difference,
    estimate_metric,
    judge,
)
from train.bench.metrics.measure import Metric, mean_of, measure


def measured(*values: float, half: float = 0.02) -> tuple[Metric, ...]:
    return tuple(Metric(value, value - half, value + half, 0.5, 100) for value in values)


def test_an_interval_holds_both_seeds_and_items() -> None:
    alone = estimate_metric(measured(0.7))
    assert (alone.low, alone.high) == pytest.approx((0.68, 0.72))
    same = estimate_metric(measured(0.7, 0.7, 0.7))
    assert (same.low, same.high) == pytest.approx((0.68, 0.72)), "more seeds give no more items"
    spread = estimate_metric(measured(0.6, 0.7, 0.8, half=0.0))
    # Student's t of two degrees of freedom: 4.303 * 0.1 / sqrt(3).
    assert spread.high - spread.value == pytest.approx(4.3027 * 0.1 / math.sqrt(3), rel=1e-4)
    assert estimate_metric(measured(0.9, 1.0, 1.0, half=0.0)).high == 1.0


def test_a_difference_is_taken_seed_by_seed() -> None:
    found = estimate_difference(measured(0.7, 0.8, half=0.0), measured(0.5, 0.6, half=0.0))
    assert (found.low, found.value, found.high) == pytest.approx((0.2, 0.2, 0.2))


def test_two_arms_on_the_same_items_are_compared_draw_by_draw() -> None:
    points = np.random.default_rng(0).integers(2, size=50).astype(float)
    better_by_a_tenth = np.clip(points + (np.arange(50) % 10 == 0), 0, 1)
    one, other = (
        measure(mean_of(each), 50, None, 0.5, seed=0) for each in (better_by_a_tenth, points)
    )
    same = estimate_difference([one], [one])
    assert (same.low, same.high) == (0.0, 0.0)
    alone = replace(other, draws=None)
    paired, unpaired = estimate_difference([one], [other]), estimate_difference([one], [alone])
    assert paired.value == unpaired.value > 0
    assert paired.high - paired.low < (unpaired.high - unpaired.low) / 2
    # The difference of 50 items is a mean of zeros and ones, too.
    spread = float(np.std(better_by_a_tenth - points)) / math.sqrt(50)
    assert paired.high - paired.value == pytest.approx(1.96 * spread, rel=0.1)
    elsewhere = measure(mean_of(points), 50, None, 0.5, seed=1)
    assert estimate_difference([one], [elsewhere]).high == pytest.approx(unpaired.high, rel=0.1)


@pytest.mark.parametrize(
    ("claim", "verdict"),
    [
        (Claim("a over b", Cell("a", "m"), Cell("b", "m"), above=0.0), ClaimVerdict.HOLDS),
        (Claim("b over a", Cell("b", "m"), Cell("a", "m"), above=0.0), ClaimVerdict.FAILS),
        (Claim("by far", Cell("a", "m"), Cell("b", "m"), above=0.39), ClaimVerdict.IN_MEAN),
        (claim_near("at chance", Cell("b", "m"), 0.5), ClaimVerdict.HOLDS),
        (claim_near("at chance", Cell("a", "m"), 0.5), ClaimVerdict.FAILS),
        (claim_alike("the same", Cell("a", "m"), Cell("a", "m")), ClaimVerdict.HOLDS),
        (Claim("aim", Cell("a", "m"), above=0.89), ClaimVerdict.IN_MEAN),
        (Claim("at most", Cell("b", "m"), below=0.55), ClaimVerdict.HOLDS),
    ],
)
def test_claims_are_judged_by_their_whole_interval(claim: Claim, verdict: ClaimVerdict) -> None:
    results = {"a": {"m": measured(0.89, 0.9, 0.91)}, "b": {"m": measured(0.49, 0.5, 0.51)}}
    assert judge(claim, results).verdict is verdict
