"""Retrieval: recall, median rank and mean average precision of ranked items."""

from __future__ import annotations

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
from train.bench.metrics.ranking import (
    average_precision_at,
    average_precision_chance,
    best_ranks,
    median_rank_chance,
    recall_chance,
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
