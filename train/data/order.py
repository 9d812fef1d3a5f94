"""Which samples each step sees, as a pure function of the step."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, Generic, TypeVar

import numpy as np
from jaxtyping import Int

from synth.base.errors import SpecError
from synth.base.packing import pack_sizes
from synth.base.rng import Randomness

T = TypeVar("T")
_EPOCHS_KEPT: Final = 2
"""At the end of an epoch, batches of the next are made ahead."""


class EpochCache(Generic[T]):
    """What is drawn for an epoch, kept for the last ones that were asked for."""

    def __init__(self) -> None:
        self._drawn: dict[int, T] = {}
        self._lock = threading.Lock()

    def get(self, epoch: int, draw: Callable[[int], T]) -> T:
        """What `draw` gives for an epoch: the first that asks draws it, the others wait."""
        with self._lock:
            if epoch not in self._drawn:
                if len(self._drawn) == _EPOCHS_KEPT:
                    del self._drawn[next(iter(self._drawn))]
                self._drawn[epoch] = draw(epoch)
            return self._drawn[epoch]


@dataclass(frozen=True, slots=True, eq=False)
class Epoch:
    """The units of one epoch in the order in which they are used.

    Args:
        units: Their numbers, batch by batch.
        ends: Behind which of them each batch ends, beginning with 0.
    """

    units: Int[np.ndarray, " units"]
    ends: Int[np.ndarray, " ends"]

    def batch(self, position: int) -> Int[np.ndarray, " _units"]:
        """The units of a batch of the epoch."""
        return self.units[self.ends[position] : self.ends[position + 1]]


@dataclass(frozen=True, slots=True, eq=False)
class BatchOrder:
    """Which samples each step sees: a pure function of (seed, name, step).

    Every epoch is another order of the whole pool, drawn once; what does not fill a batch at its
    end is left out of that epoch, and no unit out of every epoch. With groups kept together, a
    batch holds whole groups; those of unequal size are packed by size (`synth.base.packing`).

    Args:
        members: Samples of all units, one unit after the other. A unit is what stays together: a
            single sample, or a group.
        starts: Where each unit begins in `members`, and where the last one ends.
        packing: Units of each size in each batch, the sizes in ascending order, by turns of the
            epochs; None where all units are equally large.
        per_batch: Fewest units in a batch.
        batches: Batches of an epoch.
        name: Tells apart the orders of one run.
    """

    members: Int[np.ndarray, " samples"]
    starts: Int[np.ndarray, " starts"]
    packing: Int[np.ndarray, "turns batches sizes"] | None
    per_batch: int
    batches: int
    seed: int
    name: str
    _drawn: EpochCache[Epoch] = field(default_factory=EpochCache, init=False)

    @classmethod
    def of(
        cls,
        pool: Int[np.ndarray, " samples"],
        groups: Int[np.ndarray, " samples"],
        batch: int,
        keep_groups: bool,
        seed: int,
        name: str,
    ) -> BatchOrder:
        """The order of a pool of samples.

        Args:
            groups: Number of the group of each sample of the pool.
            batch: Most samples in a batch.
            keep_groups: Whether groups stay together.
            name: Tells apart the orders of one run.
        """
        if keep_groups:
            units = _number_by_appearance(groups)
            members = _narrow(pool[np.argsort(units, kind="stable")])
            sizes = np.bincount(units)
        else:
            members = _narrow(pool)
            sizes = np.ones(len(pool), dtype=np.int64)
        starts = _narrow(np.concatenate([[0], np.cumsum(sizes)]))
        largest = int(sizes.max(initial=1))
        if largest > batch:
            raise SpecError(
                f"a group of {largest} samples does not fit a batch of {batch}",
                fix=f"give a batch of at least {largest}, or keep_groups: false",
            )
        if largest == sizes.min(initial=largest):
            per_batch = max(min(batch // largest, len(sizes)), 1)
            return cls(members, starts, None, per_batch, len(sizes) // per_batch, seed, name)
        packing = pack_sizes(sizes, batch)
        if (packing @ np.unique(sizes)).min() == 1:
            raise SpecError(
                f"{_count_groups(sizes, 1)} of 1 sample would be alone in a batch and "
                f"learn nothing: all other groups fill a batch of {batch}",
                fix=f"give a batch of at least {batch + 1}, or keep_groups: false",
            )
        fewest = int(packing.sum(axis=2).min())
        return cls(members, starts, packing, fewest, packing.shape[1], seed, name)

    def refuse_ranks(self, ranks: int) -> None:
        """Check that so many processes can share every batch."""
        refuse_few(self.per_batch, ranks)

    def batch(self, step: int, rank: int = 0, ranks: int = 1) -> Int[np.ndarray, " batch"]:
        """The samples of a step, from the start of this order, that process `rank` takes."""
        return self.shares(step, ranks)[rank]

    def shares(self, step: int, ranks: int) -> list[Int[np.ndarray, " _batch"]]:
        """The samples of a step that each process takes."""
        self.refuse_ranks(ranks)
        epoch, position = divmod(step, self.batches)
        units = self._drawn.get(epoch, self._draw).batch(position)
        starts, ends = self.starts[units], self.starts[units + 1]
        if self.packing is None:
            shares = np.array_split(np.arange(len(units)), ranks)
        else:
            shares = _split_evenly(ends - starts, ranks)
        return [
            np.concatenate([self.members[starts[unit] : ends[unit]] for unit in share])
            for share in shares
        ]

    def _draw(self, number: int) -> Epoch:
        random = Randomness(self.seed).at(f"order/{self.name}", number)
        order = _narrow(random.permutation(len(self.starts) - 1))
        if self.packing is None:
            return Epoch(order, np.arange(self.batches + 1) * self.per_batch)
        places = np.argsort(random.permutation(self.batches))
        packing = self.packing[number % len(self.packing)]
        return _pack(order, np.diff(self.starts)[order], packing, places)


def refuse_few(units: int, ranks: int) -> None:
    """Check that so many processes can share a batch of so many units."""
    if units < ranks:
        raise SpecError(
            f"a batch of {units} samples or groups cannot be shared by {ranks} processes",
            fix="use a larger batch or fewer processes",
        )


def _pack(
    order: Int[np.ndarray, " units"],
    sizes: Int[np.ndarray, " units"],
    packing: Int[np.ndarray, "batches sizes"],
    places: Int[np.ndarray, " batches"],
) -> Epoch:
    """An epoch of the units in `order`, given their sizes, and the place of each packed batch.

    Of each size, batches take the units as they come. Within a batch all stand as in `order`, so
    that sizes are mixed.
    """
    place = np.full(len(order), len(places), dtype=np.int32)
    for size, counts in zip(np.flatnonzero(np.bincount(sizes)), packing.T, strict=True):
        own = np.flatnonzero(sizes == size)[: counts.sum()]
        place[own] = np.repeat(places, counts)
    ends = np.concatenate([[0], np.cumsum(packing.sum(axis=1)[np.argsort(places)])])
    return Epoch(order[np.argsort(place, kind="stable")[: ends[-1]]], ends)


def _split_evenly(sizes: Int[np.ndarray, " units"], ranks: int) -> list[Int[np.ndarray, " _part"]]:
    """Numbers of units in as many runs of nearly equally many samples, at least one in each."""
    ends = np.cumsum(sizes)
    cuts: list[int] = []
    for rank in range(1, ranks):
        ideal = ends[-1] * rank / ranks
        cut = int(np.argmin(np.abs(ends - ideal))) + 1
        least = (cuts[-1] if cuts else 0) + 1
        cuts.append(min(max(cut, least), len(sizes) - (ranks - rank)))
    return np.split(np.arange(len(sizes)), cuts)


def _number_by_appearance(keys: Int[np.ndarray, " samples"]) -> Int[np.ndarray, " samples"]:
    """Numbers from 0 in the order in which keys appear first."""
    _, first, numbers = np.unique(keys, return_index=True, return_inverse=True)
    place = np.empty_like(first)
    place[np.argsort(first)] = np.arange(len(first))
    return place[numbers]


def _count_groups(sizes: Int[np.ndarray, " units"], size: int) -> str:
    count = int((sizes == size).sum())
    return "1 group" if count == 1 else f"{count:,} groups"


def _narrow(numbers: Int[np.ndarray, " numbers"]) -> Int[np.ndarray, " numbers"]:
    """The same in half the memory, where they fit."""
    fits = numbers.max(initial=0) <= np.iinfo(np.int32).max
    return numbers.astype(np.int32) if fits else numbers
