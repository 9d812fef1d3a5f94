"""Retrieval, among all or in subsets, and average precision of many labels, with their chance."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

import numpy as np
from jaxtyping import Bool, Float, Int

from train.bench.metrics.measure import (
    Metric,
    Positions,
    Statistic,
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

    Returns:
        `r1`, `r5`, `r10` and `map10` in 0 to 1, and `median_rank` from 1.
    """
    check_retrieval(similarity, correct)
    items, right = similarity.shape[1], correct.sum(axis=1)
    points = query_points(similarity, correct)
    ranks = points.pop("median_rank")
    metrics = {
        name: measure(mean_of(values), len(values), groups, chance(name, right, items), seed)
        for name, values in points.items()
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
    # That of the best right item; wrong items that tie with it stand before it.
    best = np.where(correct, similarity, -np.inf).max(axis=1, initial=-np.inf)
    ranks = 1.0 + ((similarity >= best[:, None]) & ~correct).sum(axis=1)
    return {
        **{f"r{k}": (ranks <= k).astype(float) for k in RANKS},
        f"map{AP_RANKS}": average_precision_at(similarity, correct, AP_RANKS),
        "median_rank": ranks,
    }


def chance(name: str, right: Int[np.ndarray, " queries"], items: int) -> float:
    """The chance level of one of the metrics."""
    if not len(right):
        return math.nan
    if name == f"map{AP_RANKS}":
        return average_precision_chance(right, items, AP_RANKS)
    chances = _hit_chances(right, items)
    if name != "median_rank":
        *_, level = islice(chances, int(name.removeprefix("r")))
        return level
    # The smallest rank that the best right item of a query reaches with a chance of one half.
    return float(next(rank for rank, level in enumerate(chances, 1) if level >= 0.5 - _ROUNDING))


_ROUNDING: Final = 1e-9


def average_precision_at(
    similarity: Float[np.ndarray, "queries items"],
    correct: Bool[np.ndarray, "queries items"],
    k: int,
) -> Float[np.ndarray, " queries"]:
    """AP@k: the mean of the precisions at the right items among the first k.

    The sum is divided by the right items that k places can hold, min(right, k).
    """
    averages = np.zeros(len(similarity))
    items = similarity.shape[1]
    places = min(k, items)
    for query, (row, right) in enumerate(zip(similarity, correct, strict=True)):
        # Only what reaches the last place counts, so that a long row need not be sorted whole.
        edge = np.partition(row, items - places)[items - places]
        near = np.flatnonzero(row >= edge)
        order = near[np.lexsort((right[near], -row[near]))][:places]
        hits = right[order]
        precision = np.cumsum(hits) / np.arange(1, places + 1)
        averages[query] = (precision * hits).sum() / min(right.sum(), k)
    return averages


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


def _hit_chances(right: Int[np.ndarray, " queries"], items: int) -> Iterator[float]:
    """Mean chance that 1, 2, ... items drawn without putting back hold a right one."""
    kinds, counts = np.unique(right, return_counts=True)
    missed = np.ones(len(kinds))
    for drawn in range(items):
        missed *= np.maximum(items - kinds - drawn, 0) / (items - drawn)
        yield float(1 - np.average(missed, weights=counts))


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
        size: Audios in a subset, at most as many as there are.
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
    texts = [np.flatnonzero(correct[part].any(axis=0)) for part in drawn]
    groups = np.arange(audios) if groups is None else groups
    text_groups = groups[correct.argmax(axis=0)] if text_groups is None else text_groups
    return {
        "audio_to_text": _measure_one_way(similarity, correct, drawn, texts, groups, seed),
        "text_to_audio": _measure_one_way(similarity.T, correct.T, texts, drawn, text_groups, seed),
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
    drawn = np.unique(np.concatenate(queries))
    points: dict[str, Float[np.ndarray, "subsets drawn"]] = {}
    chances: dict[str, list[float]] = {}
    for number, (rows, columns) in enumerate(zip(queries, items, strict=True)):
        right = correct[np.ix_(rows, columns)]
        measured = query_points(similarity[np.ix_(rows, columns)], right)
        for name, values in measured.items():
            table = points.setdefault(name, np.full((len(queries), len(drawn)), np.nan))
            table[number, np.searchsorted(drawn, rows)] = values
            chances.setdefault(name, []).append(chance(name, right.sum(axis=1), len(columns)))
    return {
        name: measure(
            _mean_of_medians(table) if name == "median_rank" else _mean_of_means(table),
            len(drawn),
            groups[drawn],
            float(np.mean(chances[name])),
            seed,
        )
        for name, table in points.items()
    }


def _mean_of_means(points: Float[np.ndarray, "subsets queries"]) -> Statistic:
    measured = (~np.isnan(points)).astype(float)
    values = np.nan_to_num(points)

    def statistic(chosen: Positions) -> float:
        times = np.bincount(chosen, minlength=points.shape[1])
        count = measured @ times
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


def class_embeddings(
    embedded: Float[np.ndarray, "classes templates dim"], classes: Sequence[str]
) -> Float[np.ndarray, "classes dim"]:
    """One unit-length embedding a class: the mean over its prompts (Radford et al., 2021)."""
    if not embedded.shape[1]:
        raise ValueError("a class needs a prompt")
    mean = embedded.mean(axis=1)
    length = np.linalg.norm(mean, axis=1, keepdims=True)
    if (length == 0).any():
        raise ValueError(f"the prompts of class {classes[int(length.argmin())]} cancel out")
    unit: np.ndarray = mean / length
    return unit


def mean_average_precision(
    similarity: Float[np.ndarray, "items classes"],
    correct: Bool[np.ndarray, "items classes"],
    groups: Int[np.ndarray, " items"] | None = None,
    seed: int = 0,
) -> Metric:
    """Multi-label mAP: for each class how well it ranks the items that bear it, averaged.

    Classes that no item bears do not count; an item need bear none. In a tie, items without the
    class stand before those with it.
    """
    check_similarity(similarity, (None, None))
    check_correct(similarity, correct)
    items = len(similarity)
    if items and not correct.any():
        raise ValueError("no item bears any class")
    borne = correct.any(axis=0)
    right = correct[:, borne]
    ranked = Ranked.of(similarity[:, borne], right)
    chance = average_precision_chance(right.sum(axis=0), items, items)
    return measure(ranked.mean_average_precision, items, groups, chance, seed)


@dataclass(frozen=True)
class Ranked:
    """The ranking of items by each class, from which any draw of them is judged without sorting.

    Args:
        order: The items by each class, best first.
        classes: Class of every right item, class by class, in the order of its ranking.
        places: Its place in that ranking, from 0.
    """

    order: Int[np.ndarray, "classes items"]
    classes: Int[np.ndarray, " right"]
    places: Int[np.ndarray, " right"]

    @classmethod
    def of(
        cls,
        similarity: Float[np.ndarray, "items classes"],
        correct: Bool[np.ndarray, "items classes"],
    ) -> Ranked:
        """Wrong items stand before right ones that they tie with."""
        order = np.lexsort((correct.T, -similarity.T), axis=1)
        classes, places = np.nonzero(np.take_along_axis(correct.T, order, axis=1))
        return cls(order, classes, places)

    def mean_average_precision(self, chosen: Positions) -> float:
        """Of a draw of items, repeats among them; classes that no drawn item bears do not count."""
        drawn = np.bincount(chosen, minlength=self.order.shape[1])[self.order]
        times = drawn[self.classes, self.places]
        ahead = drawn.cumsum(axis=1)[self.classes, self.places] - times
        count = len(self.order)
        total = np.bincount(self.classes, times, count)
        right_ahead = times.cumsum() - times - (total.cumsum() - total)[self.classes]
        sums = np.zeros(count)
        # Copies of an item stand one behind the other.
        for copy in range(1, int(times.max(initial=0)) + 1):
            repeated = times >= copy
            precision = (right_ahead[repeated] + copy) / (ahead[repeated] + copy)
            sums += np.bincount(self.classes[repeated], precision, count)
        held = total > 0
        return float(np.mean(sums[held] / total[held])) if held.any() else math.nan
