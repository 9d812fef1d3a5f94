"""Groups of unequal size, packed into batches that are as full as possible.

What is packed are sizes, not groups: how many groups of each size a batch holds is settled once,
and so is the number of batches. Which groups those are is drawn anew in each epoch.
"""

from __future__ import annotations

from math import ceil

import numpy as np
from jaxtyping import Int


def pack_sizes(
    sizes: Int[np.ndarray, " groups"], batch: int
) -> Int[np.ndarray, "turns batches kinds"]:
    """Pack groups into the fewest batches that leave out less than half a batch of samples.

    Large groups are dealt first, each to a batch with the most room, so that every batch holds its
    share of them. Memory is that of the result, whatever the number of groups.

    Args:
        sizes: Samples of each group, 1 to `batch`; at least one group.
        batch: Most samples of a batch.

    Returns:
        How many groups of each size, in the order of `np.unique(sizes)`, each batch holds. Epochs
        take turns: where the first leaves out all groups of some size, there is a second that
        holds them. No group that a turn leaves out would fit into any of its batches.
    """
    kinds, groups = np.unique(sizes, return_counts=True)
    count = max(int(kinds @ groups) // batch, 1)
    while True:
        held = _deal(kinds, groups, batch, np.zeros((count, len(kinds)), dtype=np.int32))
        left = groups - held.sum(axis=0)
        samples = int(kinds @ left)
        if 2 * samples < batch:
            break
        count += ceil(samples / batch)
    shut_out = np.where(held.any(axis=0), 0, left)
    if not shut_out.any():
        return held[np.newaxis]
    return np.stack([held, _let_in(shut_out, left - shut_out, held, kinds, batch)])


def _deal(
    kinds: Int[np.ndarray, " kinds"],
    groups: Int[np.ndarray, " kinds"],
    batch: int,
    begun: Int[np.ndarray, "batches kinds"],
) -> Int[np.ndarray, "batches kinds"]:
    """Deal groups of each size to batches that hold some already, as long as they fit."""
    held = begun.copy()
    room = batch - held @ kinds
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


def _let_in(
    first: Int[np.ndarray, " kinds"],
    others: Int[np.ndarray, " kinds"],
    held: Int[np.ndarray, "batches kinds"],
    kinds: Int[np.ndarray, " kinds"],
    batch: int,
) -> Int[np.ndarray, "batches kinds"]:
    """The batches, of which one holds `first`, and of its own groups and `others` what still fits.

    It is the batch that is fullest then. `first` and `others` are less than half a batch.
    """
    room = np.full(len(held), batch - int(kinds @ first), dtype=np.int64)
    taken = np.zeros_like(held)
    for kind in reversed(range(len(kinds))):
        taken[:, kind] = np.minimum(held[:, kind] + others[kind], room // kinds[kind])
        room -= taken[:, kind] * kinds[kind]
    fullest = int(np.argmin(room))
    changed = held.copy()
    changed[fullest] = taken[fullest] + first
    # What gave way in that batch may fit into others.
    left = held.sum(axis=0) + first + others - changed.sum(axis=0)
    return _deal(kinds, left, batch, changed)
