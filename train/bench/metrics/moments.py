"""When a sound is heard, as windows: R@1, mAP, and which queries get no window.

R@1 and mAP are those of QVHighlights (Lei et al., 2021), which Lighthouse uses. A query of which
nothing is predicted scores 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final, TypeAlias

import numpy as np
from jaxtyping import Bool, Float, Int

from train.bench.metrics.measure import Metric, mean_of, measure

R1_IOUS: Final = (0.5, 0.7)
AP_IOUS: Final = tuple(round(0.5 + 0.05 * step, 2) for step in range(10))
MOST_PREDICTED: Final = 10
"""Windows of a query that count."""

Windows: TypeAlias = Float[np.ndarray, "_windows 2"]
"""Start and end in seconds."""
ScoredWindows: TypeAlias = Float[np.ndarray, "_windows 3"]
"""The same with a score, the best one first."""


def moment_retrieval(
    predicted: Sequence[ScoredWindows],
    targets: Sequence[Windows],
    lengths: Float[np.ndarray, " queries"],
    groups: Int[np.ndarray, " queries"] | None = None,
    seed: int = 0,
) -> dict[str, Metric]:
    """R@1 at IoU 0.5 and 0.7, and mAP over IoU 0.5 to 0.95 in steps of 0.05.

    Chance is one window drawn at random, from all that lie in the recording.

    Args:
        targets: The windows of each query, one at least.
        lengths: Of each query's recording, in seconds.

    Returns:
        `r1@0.5`, `r1@0.7` and `map`.
    """
    queries = [*zip(predicted, targets, lengths.tolist(), strict=True)]
    if not all(map(len, targets)):
        raise ValueError("a query without a window cannot be judged")
    heads = [(windows[:MOST_PREDICTED], target) for windows, target, _ in queries]
    ious = [overlap(windows[:, :2], target) for windows, target in heads]
    firsts = np.array([iou[0].max() if len(iou) else 0.0 for iou in ious])
    precisions = [
        np.mean([_average_precision(iou, windows[:, 2], least) for least in AP_IOUS])
        for iou, (windows, _) in zip(ious, heads, strict=True)
    ]
    guesses = {
        least: np.array([guess(target, length, least) for _, target, length in queries])
        for least in {*R1_IOUS, *AP_IOUS}
    }
    shares = np.array([1 / len(target) for target in targets])
    points = {f"r1@{at}": ((firsts >= at).astype(float), guesses[at]) for at in R1_IOUS}
    points["map"] = np.array(precisions), shares * np.mean([guesses[at] for at in AP_IOUS], axis=0)
    return {
        name: measure(mean_of(of_query), len(of_query), groups, float(by_chance.mean()), seed)
        for name, (of_query, by_chance) in points.items()
    }


def overlap(first: Windows, second: Windows) -> Float[np.ndarray, "first second"]:
    """Intersection over union of every two windows; 0 for two of no length."""
    starts, ends = first[:, None, 0], first[:, None, 1]
    shared = np.minimum(ends, second[:, 1]) - np.maximum(starts, second[:, 0])
    shared = np.maximum(shared, 0)
    union = (ends - starts) + (second[:, 1] - second[:, 0]) - shared
    return np.asarray(np.divide(shared, union, out=np.zeros_like(shared), where=union > 0))


def _average_precision(
    iou: Float[np.ndarray, "predicted targets"],
    scores: Float[np.ndarray, " predicted"],
    least: float,
) -> float:
    """Interpolated average precision; each window is found once, by the best that overlaps it."""
    free = np.full(iou.shape[1], True)
    right = np.zeros(len(iou))
    order = np.argsort(-scores, kind="stable")
    for rank, row in enumerate(iou[order]):
        open_to = np.where(free, row, -1)
        best = int(open_to.argmax())
        if open_to[best] >= least:
            free[best] = False
            right[rank] = 1
    precision = right.cumsum() / np.arange(1, len(right) + 1)
    ahead = np.maximum.accumulate(precision[::-1])[::-1]
    return float((ahead * right).sum() / iou.shape[1])


def guess(windows: Windows, length: float, least: float) -> float:
    """How likely a random window overlaps one of these, which are apart, by so much at least.

    Args:
        length: Of the recording. A window is any two moments in it.
        least: Intersection over union, at least 0.5: two windows are never met at once.
    """
    area = 0.0
    for start, end in windows:
        # By how much a guess starts and ends earlier or later: of each of the four cases, those
        # that are near enough form a triangle, which ends where the recording does.
        size, behind = (1 - least) * (end - start), length - end
        area += _triangle(size, 1, 1, math.inf, math.inf)  # it lies within
        area += _triangle(size, least, least, start, behind)  # it starts earlier, ends later
        area += _triangle(size, 1, least, math.inf, behind)  # both later
        area += _triangle(size, least, 1, start, math.inf)  # both earlier
    return 2 * area / length**2


def _triangle(size: float, a: float, b: float, most_x: float, most_y: float) -> float:
    """Area of the points with a x + b y <= size, where x and y are from 0 to their most."""
    cut_x, cut_y = max(size - a * most_x, 0), max(size - b * most_y, 0)
    corner = max(size - a * most_x - b * most_y, 0)
    return (size**2 - cut_x**2 - cut_y**2 + corner**2) / (2 * a * b)


def absence(
    scores: Float[np.ndarray, " queries"],
    absent: Bool[np.ndarray, " queries"],
    threshold: float,
    groups: Int[np.ndarray, " queries"] | None = None,
    seed: int = 0,
) -> dict[str, Metric]:
    """Which queries have no window above a threshold.

    Args:
        scores: Of the best window of each query, -inf where there is none.
        absent: Queries for what is not heard; some are, and some are not.

    Returns:
        `absent`: the share of them without a window. Chance is the share of all queries without
        one, both kinds counted alike. `presence`: the mean of that share and of the share of other
        queries with a window; chance is 1/2, whatever the threshold.
    """
    without = scores <= threshold
    right = (without == absent).astype(float)
    kinds = absent, ~absent
    if not all(kind.any() for kind in kinds):
        raise ValueError("expected queries for what is heard, and for what is not")

    def average(chosen: np.ndarray) -> float:
        drawn = [right[chosen][kind[chosen]] for kind in kinds]
        return float(np.mean([points.mean() for points in drawn if len(points)]))

    silent = float(np.mean([without[kind].mean() for kind in kinds]))
    of_absent = None if groups is None else groups[absent]
    return {
        "absent": measure(mean_of(right[absent]), int(absent.sum()), of_absent, silent, seed),
        "presence": measure(average, len(scores), groups, 0.5, seed),
    }
