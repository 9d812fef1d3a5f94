"""Choices among the texts of one sample or one group: BAT, minimal pairs, triplets."""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float, Int

from train.bench.metrics.measure import Metric, check_similarity, mean_of, measure


def pair_accuracy(
    similarity: Float[np.ndarray, "pairs 2"],
    groups: Int[np.ndarray, " pairs"] | None = None,
    seed: int = 0,
) -> Metric:
    """The share of pairs whose true text (column 0) is closer than the false one; chance is 1/2.

    A tie counts one half. Vasilakis et al., section 3.2, call it triplet accuracy: an audio, a more
    and a less relevant caption.

    Args:
        similarity: Of an audio to its two texts.
        groups: Number of each pair's group; without, each stands alone.
        seed: Of the bootstrap, over groups.
    """
    check_similarity(similarity, (None, 2))
    return measure(mean_of(_points(similarity)), len(similarity), groups, 0.5, seed)


def bat(
    similarity: Float[np.ndarray, "samples 2"],
    is_after: Bool[np.ndarray, " samples"],
    groups: Int[np.ndarray, " samples"] | None = None,
    seed: int = 0,
) -> Metric:
    """Before/after test (ACBA, section 3.2): is the own text closer than the exchanged one?

    The mean over the two words, so that a liking for one of them earns nothing. Where one word is
    missing, the other's share is the value. A tie counts one half; chance is 1/2.

    Args:
        similarity: To the own text (column 0) and to the one with the word exchanged (column 1).
        is_after: Whether the own text says "after" (else "before").
        groups: Number of each sample's group; without, each stands alone.
        seed: Of the bootstrap, over groups.
    """
    check_similarity(similarity, (None, 2))
    if is_after.shape != similarity.shape[:1]:
        raise ValueError(f"is_after has shape {is_after.shape} for {len(similarity)} samples")
    points = _points(similarity)

    def average_words(chosen: np.ndarray) -> float:
        drawn, after = points[chosen], is_after[chosen]
        return float(np.mean([side.mean() for side in (drawn[~after], drawn[after]) if len(side)]))

    return measure(average_words, len(points), groups, 0.5, seed)


def triplet_accuracy(similarity: Float[np.ndarray, "groups 3 3"], seed: int = 0) -> Metric:
    """Forward, reversed or together (TeminAL, T3): each audio chooses among its group's texts.

    Args:
        similarity: Of audio m of a group to text m' of the same group; the right choice is m = m'.
        seed: Of the bootstrap, over groups.
    """
    check_similarity(similarity, (None, 3, 3))
    best = similarity == similarity.max(axis=2, keepdims=True, initial=-np.inf)
    own = np.eye(3, dtype=bool)[None]
    points = ((best & own).sum(axis=2) / best.sum(axis=2)).mean(axis=1)
    return measure(mean_of(points), len(points), None, 1 / 3, seed)


def _points(similarity: Float[np.ndarray, "pairs 2"]) -> Float[np.ndarray, " pairs"]:
    points: np.ndarray = (np.sign(similarity[:, 0] - similarity[:, 1]) + 1) / 2
    return points
