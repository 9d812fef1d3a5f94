"""Metrics: pure functions of similarities, each with its chance level and a bootstrap interval.

Conventions, for all metrics:

- Similarities are finite floats of any scale; larger means closer.
- A tie never helps. In a choice of one among several, tied best answers share the point; in a
  ranking, a wrong item that ties with a right one stands before it.
- Without anything to judge, value and interval are NaN and n is 0.
- Intervals are 95 % percentile bootstraps, seeded: equal input, equal output. What is drawn anew is
  whole groups of units, where units share clips and so are not independent.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from typing import Any, Final

import numpy as np
from jaxtyping import Bool, Float, Int

RESAMPLES: Final = 1000
_RANKS: Final = (1, 5, 10)
_ROUNDING: Final = 1e-9


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
    groups: Int[np.ndarray, " samples"] | None = None,
    seed: int = 0,
) -> Metric:
    """Before/after test (ACBA): is the own caption closer than the one with the word exchanged?

    The mean over the two words, so that a liking for one of them earns nothing. Where one word is
    missing, the other's share is the value. A tie counts one half; chance is 1/2.

    Args:
        similarity: To the own caption (column 0) and to the exchanged one (column 1).
        is_after: Whether the own caption says "after" (else "before").
        groups: Number of each sample's group; without, each stands alone.
        seed: Of the bootstrap, over groups.
    """
    _validate(similarity, (None, 2))
    if is_after.shape != similarity.shape[:1]:
        raise ValueError(f"is_after has shape {is_after.shape} for {len(similarity)} samples")
    points = (np.sign(similarity[:, 0] - similarity[:, 1]) + 1) / 2

    def balanced(chosen: np.ndarray) -> float:
        drawn, after = points[chosen], is_after[chosen]
        return float(np.mean([side.mean() for side in (drawn[~after], drawn[after]) if len(side)]))

    return _measure(balanced, len(points), groups, 0.5, seed)


def triplet_accuracy(similarity: Float[np.ndarray, "groups 3 3"], seed: int = 0) -> Metric:
    """Forward, reversed or together (TeminAL, T3): each audio chooses among its group's texts.

    Args:
        similarity: Of audio m of a group to text m' of the same group; the right choice is m = m'.
        seed: Of the bootstrap, over groups.
    """
    _validate(similarity, (None, 3, 3))
    best = similarity == similarity.max(axis=2, keepdims=True, initial=-np.inf)
    own = np.eye(3, dtype=bool)[None]
    points = ((best & own).sum(axis=2) / best.sum(axis=2)).mean(axis=1)
    return _measure(_mean(points), len(points), None, 1 / 3, seed)


def retrieval(
    similarity: Float[np.ndarray, "queries items"],
    correct: Bool[np.ndarray, "queries items"],
    groups: Int[np.ndarray, " queries"] | None = None,
    seed: int = 0,
) -> dict[str, Metric]:
    """Recall at 1, 5 and 10, and the median rank, of the best-ranked right item.

    Args:
        similarity: Of every query to every item.
        correct: Which items are right; each query needs one.
        groups: Number of each query's group; without, each stands alone.
        seed: Of the bootstrap, over groups.

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
            _mean((ranks <= k).astype(float)),
            len(ranks),
            groups,
            _recall_chance(right, items, k),
            seed,
        )
        for k in _RANKS
    }
    metrics["median_rank"] = _measure(
        lambda chosen: float(np.median(ranks[chosen])),
        len(ranks),
        groups,
        _median_rank_chance(right, items),
        seed,
    )
    return metrics


def _found_by_chance(right: np.ndarray, items: int) -> Iterator[float]:
    """Mean chance that 1, 2, ... items drawn without putting back hold a right one."""
    kinds, counts = np.unique(right, return_counts=True)
    missed = np.ones(len(kinds))
    for drawn in range(items):
        missed *= np.maximum(items - kinds - drawn, 0) / (items - drawn)
        yield float(1 - np.average(missed, weights=counts))


def _recall_chance(right: np.ndarray, items: int, k: int) -> float:
    """Mean chance that k items drawn at random hold a right one."""
    if not len(right):
        return math.nan
    *_, found = islice(_found_by_chance(right, items), k)
    return found


def _median_rank_chance(right: np.ndarray, items: int) -> float:
    """Smallest rank that the best right item of a query reaches with a chance of one half."""
    if not len(right):
        return math.nan
    chances = enumerate(_found_by_chance(right, items), start=1)
    return float(next(rank for rank, found in chances if found >= 0.5 - _ROUNDING))


def _mean(points: np.ndarray) -> Callable[[np.ndarray], float]:
    return lambda chosen: float(points[chosen].mean())


def _measure(
    statistic: Callable[[np.ndarray], float],
    count: int,
    groups: np.ndarray | None,
    chance: float,
    seed: int,
) -> Metric:
    """A statistic of units, given by position, with an interval from drawing whole groups."""
    if groups is not None and groups.shape != (count,):
        raise ValueError(f"groups has shape {groups.shape} for {count} units")
    if not count:
        return Metric(math.nan, math.nan, math.nan, chance, 0)
    numbers = np.arange(count) if groups is None else groups
    _, group, sizes = np.unique(numbers, return_inverse=True, return_counts=True)
    order = np.argsort(group, kind="stable")
    starts = np.cumsum(sizes) - sizes
    generator = np.random.Generator(np.random.Philox(seed))
    drawn = []
    for _ in range(RESAMPLES):
        chosen = generator.integers(len(sizes), size=len(sizes))
        taken = sizes[chosen]
        # The members of group g are order[starts[g] : starts[g] + sizes[g]].
        places = np.arange(taken.sum()) + np.repeat(
            starts[chosen] - np.cumsum(taken) + taken, taken
        )
        drawn.append(statistic(order[places]))
    low, high = np.percentile(drawn, [2.5, 97.5])
    return Metric(statistic(np.arange(count)), float(low), float(high), chance, count)


def _validate(similarity: np.ndarray, shape: tuple[int | None, ...]) -> None:
    wanted = similarity.ndim == len(shape) and all(
        size is None or size == given for size, given in zip(shape, similarity.shape, strict=True)
    )
    if not wanted:
        raise ValueError(f"similarities of shape {similarity.shape}, expected {shape}")
    if not np.isfinite(similarity).all():
        raise ValueError("similarities hold NaN or infinity")
