"""Zero-shot classification: classes as averaged prompts, and average precision for many labels."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from train.bench.metrics.measure import Metric, Positions, check_correct, check_similarity, measure
from train.bench.metrics.retrieval import average_precision_chance


def class_embeddings(
    embedded: Float[np.ndarray, "classes templates dim"],
) -> Float[np.ndarray, "classes dim"]:
    """One unit-length embedding a class: the mean over its prompts (Radford et al., 2021).

    Args:
        embedded: Unit-length embeddings of each class in each template.
    """
    if not embedded.shape[1]:
        raise ValueError("a class needs a prompt")
    mean = embedded.mean(axis=1)
    length = np.linalg.norm(mean, axis=1, keepdims=True)
    if (length == 0).any():
        raise ValueError("the prompts of a class cancel out")
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

    Args:
        similarity: Of every item to every class.
        correct: Which classes an item bears.
        groups: Number of each item's group; without, each stands alone.
        seed: Of the bootstrap, over groups.
    """
    check_similarity(similarity, (None, None))
    check_correct(similarity, correct)
    items = len(similarity)
    if items and not correct.any():
        raise ValueError("no item bears any class")
    borne = correct.any(axis=0)
    right = correct[:, borne]
    ranked = Ranked.of(similarity[:, borne], right)
    chance = average_precision_chance(right.sum(axis=0), items, items) if items else math.nan
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
        found = np.zeros(count)
        # Copies of an item stand one behind the other.
        for copy in range(1, int(times.max(initial=0)) + 1):
            there = times >= copy
            precision = (right_ahead[there] + copy) / (ahead[there] + copy)
            found += np.bincount(self.classes[there], precision, count)
        held = total > 0
        return float(np.mean(found[held] / total[held])) if held.any() else math.nan
