"""Metrics: pure functions of similarities, each with its chance level and a bootstrap interval.

Conventions, for all metrics:

- Similarities are finite floats of any scale; larger means closer.
- A tie never helps. In a choice of one among several, tied best answers share the point; in a
  ranking, a wrong item that ties with a right one stands before it.
- Without anything to judge, value and interval are NaN and n is 0.
- Intervals are 95 % percentile bootstraps over the units judged, seeded: equal input, equal output.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
from jaxtyping import Bool, Float

RESAMPLES: Final = 1000
_RANKS: Final = (1, 5, 10)


@dataclass(frozen=True, slots=True)
class Metric:
    """A measured value.

    Args:
        value: The value; NaN where nothing was judged.
        low: Lower end of the 95 % interval.
        high: Upper end.
        chance: What a guess at random gives.
        n: Number of units judged.
    """

    value: float
    low: float
    high: float
    chance: float
    n: int

    def to_json(self) -> dict[str, Any]:
        """As JSON values; NaN becomes null."""
        return {
            name: None if isinstance(value, float) and math.isnan(value) else value
            for name, value in asdict(self).items()
        }


def bat(
    similarity: Float[np.ndarray, "samples 2"],
    is_after: Bool[np.ndarray, " samples"],
    seed: int = 0,
) -> Metric:
    """Before/after test (ACBA): is the own caption closer than the one with the word exchanged?

    The mean over the two words, so that a liking for one of them earns nothing. Where one word is
    missing, the other's share is the value. A tie counts one half; chance is 1/2.

    Args:
        similarity: To the own caption (column 0) and to the exchanged one (column 1).
        is_after: Whether the own caption says "after" (else "before").
        seed: Of the bootstrap.
    """
    _validate(similarity, (None, 2))
    if is_after.shape != similarity.shape[:1]:
        raise ValueError(f"is_after has shape {is_after.shape} for {len(similarity)} samples")
    points = (np.sign(similarity[:, 0] - similarity[:, 1]) + 1) / 2
    sides = [side for side in (points[~is_after], points[is_after]) if len(side)]
    return _measure(sides, lambda parts: float(np.mean([part.mean() for part in parts])), 0.5, seed)


def choice_accuracy(
    similarity: Float[np.ndarray, "queries options"],
    answer: Bool[np.ndarray, "queries options"],
    seed: int = 0,
) -> Metric:
    """Share of queries whose closest option is a right one; tied best options share the point.

    Args:
        similarity: Of each query to its own options.
        answer: Which options are right.
        seed: Of the bootstrap.
    """
    _validate(similarity, (None, None))
    if answer.shape != similarity.shape:
        raise ValueError(f"answer has shape {answer.shape}, similarity {similarity.shape}")
    if similarity.size == 0:
        return _measure([np.zeros(0)], _mean, math.nan, seed)
    best = similarity == similarity.max(axis=1, keepdims=True)
    points = (best & answer).sum(axis=1) / best.sum(axis=1)
    return _measure([points], _mean, float(answer.mean()), seed)


def triplet_accuracy(similarity: Float[np.ndarray, "groups 3 3"], seed: int = 0) -> Metric:
    """Forward, reversed or together (TeminAL, T3): each audio chooses among its group's texts.

    Args:
        similarity: Of audio m of a group to text m' of the same group; the right choice is m = m'.
        seed: Of the bootstrap, over groups.
    """
    _validate(similarity, (None, 3, 3))
    best = similarity == similarity.max(axis=2, keepdims=True, initial=-np.inf)
    own = np.eye(3, dtype=bool)[None]
    points = (best & own).sum(axis=2) / best.sum(axis=2)
    return _measure([points.mean(axis=1)], _mean, 1 / 3, seed)


def retrieval(
    similarity: Float[np.ndarray, "queries items"],
    correct: Bool[np.ndarray, "queries items"],
    seed: int = 0,
) -> dict[str, Metric]:
    """Recall at 1, 5 and 10, and the median rank, of the best-ranked right item.

    Args:
        similarity: Of every query to every item.
        correct: Which items are right; each query needs one.
        seed: Of the bootstrap, over queries.

    Returns:
        `r1`, `r5`, `r10` in 0 to 1, and `median_rank` from 1.
    """
    _validate(similarity, (None, None))
    if correct.shape != similarity.shape:
        raise ValueError(f"correct has shape {correct.shape}, similarity {similarity.shape}")
    if not correct.any(axis=1).all():
        raise ValueError("a query without a right item cannot be ranked")
    items = similarity.shape[1]
    best = np.where(correct, similarity, -np.inf).max(axis=1, initial=-np.inf)
    ranks = 1.0 + ((similarity >= best[:, None]) & ~correct).sum(axis=1)
    right = correct.sum(axis=1)
    metrics = {
        f"r{k}": _measure(
            [(ranks <= k).astype(float)], _mean, _recall_chance(right, items, k), seed
        )
        for k in _RANKS
    }
    expected = (items + 1) / (right + 1)
    chance = float(np.median(expected)) if len(expected) else math.nan
    metrics["median_rank"] = _measure(
        [ranks], lambda parts: float(np.median(parts[0])), chance, seed
    )
    return metrics


def _recall_chance(right: np.ndarray, items: int, k: int) -> float:
    """Mean chance that k items drawn without putting back hold a right one."""
    if not len(right):
        return math.nan
    wrong = items - right
    missed = np.ones(len(right))
    for drawn in range(min(k, items)):
        missed *= np.maximum(wrong - drawn, 0) / (items - drawn)
    return float(np.mean(1 - missed))


def _mean(parts: list[np.ndarray]) -> float:
    return float(parts[0].mean())


def _measure(
    parts: list[np.ndarray],
    statistic: Callable[[list[np.ndarray]], float],
    chance: float,
    seed: int,
) -> Metric:
    """A statistic of independent parts, each resampled on its own."""
    count = sum(map(len, parts))
    if not count:
        return Metric(math.nan, math.nan, math.nan, chance, 0)
    generator = np.random.Generator(np.random.Philox(seed))
    drawn = [
        statistic([part[generator.integers(len(part), size=len(part))] for part in parts])
        for _ in range(RESAMPLES)
    ]
    low, high = np.percentile(drawn, [2.5, 97.5])
    return Metric(statistic(parts), float(low), float(high), chance, count)


def _validate(similarity: np.ndarray, shape: tuple[int | None, ...]) -> None:
    wanted = similarity.ndim == len(shape) and all(
        size is None or size == given for size, given in zip(shape, similarity.shape, strict=True)
    )
    if not wanted:
        raise ValueError(f"similarities of shape {similarity.shape}, expected {shape}")
    if not np.isfinite(similarity).all():
        raise ValueError("similarities hold NaN or infinity")
