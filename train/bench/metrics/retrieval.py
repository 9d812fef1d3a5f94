"""Retrieval: ranks, recall, median rank and average precision, and what these are by chance."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice
from typing import Final

import numpy as np
from jaxtyping import Bool, Float, Int

from train.bench.metrics.measure import (
    Metric,
    check_correct,
    check_similarity,
    mean_of,
    measure,
)

RANKS: Final = (1, 5, 10)
AP_RANKS: Final = 10


def retrieval(
    similarity: Float[np.ndarray, "queries items"],
    correct: Bool[np.ndarray, "queries items"],
    groups: Int[np.ndarray, " queries"] | None = None,
    seed: int = 0,
) -> dict[str, Metric]:
    """Recall at 1, 5 and 10, mAP@10, and the median rank.

    A query may have several right items, as an audio has several captions: recall and median rank
    are those of the best-ranked right one, mAP@10 counts all of them.

    Args:
        similarity: Of every query to every item.
        correct: Which items are right; each query needs one.
        groups: Number of each query's group; without, each stands alone.
        seed: Of the bootstrap, over groups.

    Returns:
        `r1`, `r5`, `r10` and `map10` in 0 to 1, and `median_rank` from 1.
    """
    check_retrieval(similarity, correct)
    items, right = similarity.shape[1], correct.sum(axis=1)
    points = query_points(similarity, correct)
    ranks = points.pop("median_rank")
    metrics = {
        name: measure(mean_of(each), len(each), groups, chance(name, right, items), seed)
        for name, each in points.items()
    }
    metrics["median_rank"] = measure(
        lambda chosen: float(np.median(ranks[chosen])),
        len(ranks),
        groups,
        chance("median_rank", right, items),
        seed,
    )
    return metrics


def check_retrieval(similarity: np.ndarray, correct: np.ndarray) -> None:
    """Refuse what cannot be ranked."""
    check_similarity(similarity, (None, None))
    check_correct(similarity, correct)
    if not correct.any(axis=1).all():
        raise ValueError("a query without a right item cannot be ranked")


def query_points(
    similarity: Float[np.ndarray, "queries items"], correct: Bool[np.ndarray, "queries items"]
) -> dict[str, Float[np.ndarray, " queries"]]:
    """What each query adds to each metric; under `median_rank` its rank."""
    ranks = best_ranks(similarity, correct)
    return {
        **{f"r{k}": (ranks <= k).astype(float) for k in RANKS},
        f"map{AP_RANKS}": average_precision_at(similarity, correct, AP_RANKS),
        "median_rank": ranks,
    }


def chance(name: str, right: Int[np.ndarray, " queries"], items: int) -> float:
    """The chance level of one of the metrics.

    Args:
        name: Key of `query_points`.
        right: Number of right items of each query.
    """
    if name == "median_rank":
        return median_rank_chance(right, items)
    if name == f"map{AP_RANKS}":
        return average_precision_chance(right, items, AP_RANKS)
    return recall_chance(right, items, int(name.removeprefix("r")))


_ROUNDING: Final = 1e-9


def best_ranks(
    similarity: Float[np.ndarray, "queries items"], correct: Bool[np.ndarray, "queries items"]
) -> Float[np.ndarray, " queries"]:
    """Rank, from 1, of the best right item; wrong items that tie with it stand before it."""
    best = np.where(correct, similarity, -np.inf).max(axis=1, initial=-np.inf)
    ranks: np.ndarray = 1.0 + ((similarity >= best[:, None]) & ~correct).sum(axis=1)
    return ranks


def average_precision_at(
    similarity: Float[np.ndarray, "queries items"],
    correct: Bool[np.ndarray, "queries items"],
    k: int,
) -> Float[np.ndarray, " queries"]:
    """AP@k: the mean of the precisions at the right items among the first k.

    The sum is divided by the right items that k places can hold, min(right, k).
    """
    found = np.zeros(len(similarity))
    items = similarity.shape[1]
    places = min(k, items)
    for query, (row, right) in enumerate(zip(similarity, correct, strict=True)):
        # Only what reaches the last place counts, so that a long row need not be sorted whole.
        edge = np.partition(row, items - places)[items - places]
        near = np.flatnonzero(row >= edge)
        order = near[np.lexsort((right[near], -row[near]))][:places]
        hits = right[order]
        precision = np.cumsum(hits) / np.arange(1, places + 1)
        found[query] = (precision * hits).sum() / min(right.sum(), k)
    return found


def average_precision_chance(right: Int[np.ndarray, " queries"], items: int, k: int) -> float:
    """Mean AP@k of random rankings of `items`, of which `right` are right.

    Place i holds a right item with chance R/N; given that, (i - 1)(R - 1)/(N - 1) of those before
    it are right on average.
    """
    if not len(right):
        return math.nan
    place = np.arange(1, min(k, items) + 1)
    kinds, counts = np.unique(right, return_counts=True)
    before = (place - 1) * (kinds[:, None] - 1) / max(items - 1, 1)
    expected = (kinds[:, None] / items * (1 + before) / place).sum(axis=1)
    return float(np.average(expected / np.minimum(kinds, k), weights=counts))


def recall_chance(right: Int[np.ndarray, " queries"], items: int, k: int) -> float:
    """Mean chance that k items drawn at random hold a right one."""
    if not len(right):
        return math.nan
    *_, found = islice(_hit_chances(right, items), k)
    return found


def median_rank_chance(right: Int[np.ndarray, " queries"], items: int) -> float:
    """Smallest rank that the best right item of a query reaches with a chance of one half."""
    if not len(right):
        return math.nan
    chances = enumerate(_hit_chances(right, items), start=1)
    return float(next(rank for rank, found in chances if found >= 0.5 - _ROUNDING))


def _hit_chances(right: Int[np.ndarray, " queries"], items: int) -> Iterator[float]:
    """Mean chance that 1, 2, ... items drawn without putting back hold a right one."""
    kinds, counts = np.unique(right, return_counts=True)
    missed = np.ones(len(kinds))
    for drawn in range(items):
        missed *= np.maximum(items - kinds - drawn, 0) / (items - drawn)
        yield float(1 - np.average(missed, weights=counts))
