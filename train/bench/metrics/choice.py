"""Choosing one or two among several options, as zero-shot classification and ZSTE do."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Bool, Float, Int

from train.bench.metrics.measure import (
    Metric,
    check_correct,
    check_similarity,
    mean_of,
    measure,
)


def choose_one(
    similarity: Float[np.ndarray, "units options"],
    correct: Bool[np.ndarray, "units options"],
    groups: Int[np.ndarray, " units"] | None = None,
    seed: int = 0,
) -> Metric:
    """Top-1 accuracy: the share of units whose closest option is a right one.

    Tied best options share the point. Chance is the mean share of right options.

    Args:
        similarity: Of every unit to its options.
        correct: Which options are right; each unit needs one.
        groups: Number of each unit's group; without, each stands alone.
        seed: Of the bootstrap, over groups.
    """
    check_similarity(similarity, (None, None))
    check_correct(similarity, correct)
    if not correct.any(axis=1).all():
        raise ValueError("a unit without a right option cannot be judged")
    best = similarity == similarity.max(axis=1, keepdims=True, initial=-np.inf)
    points = (best & correct).sum(axis=1) / np.maximum(best.sum(axis=1), 1)
    chance = float(correct.mean()) if correct.size else math.nan
    return measure(mean_of(points), len(points), groups, chance, seed)


def choose_two(
    similarity: Float[np.ndarray, "units options"],
    correct: Bool[np.ndarray, "units options"],
    groups: Int[np.ndarray, " units"] | None = None,
    seed: int = 0,
) -> dict[str, Metric]:
    """ZSTE T2 and T5: the two closest options, of which two are right.

    Args:
        similarity: Of every unit to its options, two or more.
        correct: Which options are right, exactly two a unit.
        groups: Number of each unit's group; without, each stands alone.
        seed: Of the bootstrap, over groups.

    Returns:
        With n options, chance in brackets: `strict`, both chosen are right (1 / (n over 2));
        `half_credit`, a point for two and half a point for one (2 / n); `any`, at least one is
        right (1 - (n - 2 over 2) / (n over 2)).
    """
    check_similarity(similarity, (None, None))
    check_correct(similarity, correct)
    units, options = similarity.shape
    if options < 2 or (correct.sum(axis=1) != 2).any():
        raise ValueError("two options of every unit must be right")
    both, either, found = (
        _score_two(similarity, correct) if units else (np.zeros(0), np.zeros(0), np.zeros(0))
    )
    pairs = options * (options - 1)
    chances = {
        "strict": (both, 2 / pairs),
        "half_credit": (found / 2, 2 / options),
        "any": (either, 1 - (options - 2) * (options - 3) / pairs),
    }
    return {
        name: measure(mean_of(points), units, groups, chance, seed)
        for name, (points, chance) in chances.items()
    }


def _score_two(
    similarity: Float[np.ndarray, "units options"], correct: Bool[np.ndarray, "units options"]
) -> tuple[Float[np.ndarray, " units"], Float[np.ndarray, " units"], Float[np.ndarray, " units"]]:
    """Chances that both and that any of two chosen options are right, and how many on average."""
    edge = np.partition(similarity, -2, axis=1)[:, -2, None]
    above, tied = similarity > edge, similarity == edge
    # Either one option is above the edge and one of the tied ones fills the other place, or none
    # is above and two of the tied ones are drawn.
    sure = (above & correct).sum(axis=1)
    right, drawn_from = (tied & correct).sum(axis=1), tied.sum(axis=1)
    share = right / drawn_from
    one_place = above.any(axis=1)
    ways = np.maximum(drawn_from * (drawn_from - 1), 1)
    wrong = drawn_from - right
    both = np.where(one_place, sure * share, right * (right - 1) / ways)
    either = np.where(one_place, np.where(sure > 0, 1.0, share), 1 - wrong * (wrong - 1) / ways)
    found = np.where(one_place, sure + share, 2 * share)
    return both, either, found
