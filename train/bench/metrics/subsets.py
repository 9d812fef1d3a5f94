"""Retrieval within random subsets, so that collections of different sizes can be compared."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int

from train.bench.metrics.measure import Metric, Positions, Statistic, measure
from train.bench.metrics.retrieval import chance, check_retrieval, query_points


def subset_retrieval(
    similarity: Float[np.ndarray, "audio texts"],
    correct: Bool[np.ndarray, "audio texts"],
    size: int = 500,
    subsets: int = 10,
    groups: Int[np.ndarray, " audio"] | None = None,
    text_groups: Int[np.ndarray, " texts"] | None = None,
    seed: int = 0,
) -> dict[str, dict[str, Metric]]:
    """Retrieval both ways, as the mean over seeded random subsets (Manco et al., section 3).

    A subset is `size` audios and every text that is right for one of them. The interval keeps the
    subsets and draws the queries anew; n counts the queries that are in any subset.

    Args:
        similarity: Of every audio to every text.
        correct: Which texts are right for which audio.
        size: Audios in a subset, at most as many as there are.
        groups: Number of each audio's group; without, each stands alone.
        text_groups: Number of each text's group; without, that of the first audio it is right for.
        seed: Of the subsets and of the bootstrap.

    Returns:
        `audio_to_text` and `text_to_audio`, each as `retrieval` gives it.
    """
    check_retrieval(similarity, correct)
    check_retrieval(similarity.T, correct.T)
    audios = len(similarity)
    if not 1 <= size <= audios or subsets < 1:
        raise ValueError(f"{subsets} subsets of {size} of {audios} audios")
    generator = np.random.Generator(np.random.Philox(seed))
    drawn = [np.sort(generator.permutation(audios)[:size]) for _ in range(subsets)]
    said = [np.flatnonzero(correct[part].any(axis=0)) for part in drawn]
    numbers = np.arange(audios) if groups is None else groups
    said_in = numbers[correct.argmax(axis=0)] if text_groups is None else text_groups
    return {
        "audio_to_text": _measure_one_way(similarity, correct, drawn, said, numbers, seed),
        "text_to_audio": _measure_one_way(similarity.T, correct.T, said, drawn, said_in, seed),
    }


def _measure_one_way(
    similarity: Float[np.ndarray, "queries items"],
    correct: Bool[np.ndarray, "queries items"],
    queries: Sequence[Positions],
    items: Sequence[Positions],
    groups: Int[np.ndarray, " queries"],
    seed: int,
) -> dict[str, Metric]:
    """Retrieval of some queries among some items, subset by subset."""
    asked = np.unique(np.concatenate(queries))
    points: dict[str, Float[np.ndarray, "subsets asked"]] = {}
    chances: dict[str, list[float]] = {}
    for number, (rows, columns) in enumerate(zip(queries, items, strict=True)):
        right = correct[np.ix_(rows, columns)]
        found = query_points(similarity[np.ix_(rows, columns)], right)
        for name, each in found.items():
            table = points.setdefault(name, np.full((len(queries), len(asked)), np.nan))
            table[number, np.searchsorted(asked, rows)] = each
            chances.setdefault(name, []).append(chance(name, right.sum(axis=1), len(columns)))
    return {
        name: measure(
            _mean_of_medians(table) if name == "median_rank" else _mean_of_means(table),
            len(asked),
            groups[asked],
            float(np.mean(chances[name])),
            seed,
        )
        for name, table in points.items()
    }


def _mean_of_means(points: Float[np.ndarray, "subsets queries"]) -> Statistic:
    there = (~np.isnan(points)).astype(float)
    values = np.nan_to_num(points)

    def statistic(chosen: Positions) -> float:
        times = np.bincount(chosen, minlength=points.shape[1])
        count = there @ times
        # A bootstrap draw may miss all queries of a small subset.
        held = count > 0
        return float(np.mean((values @ times)[held] / count[held])) if held.any() else math.nan

    return statistic


def _mean_of_medians(points: Float[np.ndarray, "subsets queries"]) -> Statistic:
    def statistic(chosen: Positions) -> float:
        drawn = (row[~np.isnan(row)] for row in points[:, chosen])
        medians = [float(np.median(row)) for row in drawn if len(row)]
        return float(np.mean(medians)) if medians else math.nan

    return statistic
