"""Groups of unequal size, packed into batches that are as full as possible.

What is packed are sizes, not groups: how many groups of each size a batch holds is the same in
every epoch, and so is the number of batches. Which groups those are is drawn anew in each.
"""

from __future__ import annotations

from math import ceil

import numpy as np
from jaxtyping import Int


def pack_sizes(sizes: Int[np.ndarray, " groups"], batch: int) -> Int[np.ndarray, "batches kinds"]:
    """Pack groups into the fewest batches that leave out less than half a batch of samples.

    Large groups are dealt first, each to a batch with the most room, so that every batch holds its
    share of them. Memory is that of the result, whatever the number of groups.

    Args:
        sizes: Samples of each group, 1 to `batch`; at least one group.
        batch: Most samples of a batch.

    Returns:
        How many groups of each size, in the order of `np.unique(sizes)`, each batch holds. No
        group that is left out would fit into any batch.
    """
    kinds, groups = np.unique(sizes, return_counts=True)
    count = max(int(kinds @ groups) // batch, 1)
    while True:
        held = _deal(kinds, groups, batch, count)
        left = int(kinds @ (groups - held.sum(axis=0)))
        if 2 * left < batch:
            return held
        count += ceil(left / batch)


def _deal(
    kinds: Int[np.ndarray, " kinds"], groups: Int[np.ndarray, " kinds"], batch: int, count: int
) -> Int[np.ndarray, "batches kinds"]:
    """Deal groups of each size to so many batches, as long as they fit."""
    held = np.zeros((count, len(kinds)), dtype=np.int32)
    room = np.full(count, batch, dtype=np.int64)
    for kind in reversed(range(len(kinds))):
        left, size = int(groups[kind]), int(kinds[kind])
        while left:
            fitting = np.flatnonzero(room >= size)
            if not len(fitting):
                break
            # One each, to those with the most room first.
            chosen = fitting[np.argsort(-room[fitting], kind="stable")[:left]]
            held[chosen, kind] += 1
            room[chosen] -= size
            left -= len(chosen)
    return held
