"""Random similarities with ties, and the naive way to rank them."""

from __future__ import annotations

import numpy as np


def coarse(rng: np.random.Generator, *shape: int) -> np.ndarray:
    """Similarities with many ties."""
    return rng.integers(0, 4, shape) / 4


def some_right(rng: np.random.Generator, queries: int, items: int) -> np.ndarray:
    """Which items are right; each query has one at least."""
    correct = rng.random((queries, items)) < 0.2
    correct[np.arange(queries), rng.integers(0, items, queries)] = True
    return correct


def ranking(row: np.ndarray, right: np.ndarray) -> list[int]:
    """The items from best to worst; a wrong one stands before a right one that it ties with."""
    return sorted(range(len(row)), key=lambda item: (-row[item], right[item]))
