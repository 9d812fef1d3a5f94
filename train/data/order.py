"""Which samples each step sees, as a pure function of the step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from synth.base.errors import SpecError
from synth.base.packing import pack_sizes
from synth.base.rng import Randomness


@dataclass(frozen=True, slots=True, eq=False)
class BatchOrder:
    """Which samples each step sees: a pure function of (seed, name, step).

    Every epoch is another order of the whole pool; what does not fill a batch at its end is left
    out of that epoch. With groups kept together, a batch holds whole groups; those of unequal size
    are packed by size (`synth.base.packing`).

    Args:
        units: The samples of each unit that stays together: single samples, or groups.
        sizes: Samples of each unit.
        packing: Units of each size in each batch, the sizes in ascending order; None where all
            units are equally large.
        per_batch: Fewest units in a batch.
        batches: Batches of an epoch.
        seed: Of the run.
        name: Tells apart the orders of one run.
    """

    units: tuple[Int[np.ndarray, " _members"], ...]
    sizes: Int[np.ndarray, " units"]
    packing: Int[np.ndarray, "batches sizes"] | None
    per_batch: int
    batches: int
    seed: int
    name: str

    @classmethod
    def of(
        cls,
        pool: Int[np.ndarray, " samples"],
        groups: Sequence[str],
        batch: int,
        keep_groups: bool,
        seed: int,
        name: str,
    ) -> BatchOrder:
        """The order of a pool of samples.

        Args:
            pool: The samples in play.
            groups: Group of each sample of the pool.
            batch: Most samples in a batch.
            keep_groups: Whether groups stay together.
            seed: Of the run.
            name: Tells apart the orders of one run.

        Raises:
            SpecError: If a group is larger than a batch.
        """
        if keep_groups:
            members: dict[str, list[int]] = {}
            for sample, group in zip(pool.tolist(), groups, strict=True):
                members.setdefault(group, []).append(sample)
            units = tuple(np.array(group, dtype=np.int64) for group in members.values())
        else:
            units = tuple(np.array([sample], dtype=np.int64) for sample in pool.tolist())
        largest = max(map(len, units), default=1)
        if largest > batch:
            raise SpecError(
                f"a group of {largest} samples does not fit a batch of {batch}",
                fix=f"give a batch of at least {largest}, or keep_groups: false",
            )
        sizes = np.array([len(unit) for unit in units])
        if largest == min(sizes, default=1):
            per_batch = max(min(batch // largest, len(units)), 1)
            return cls(units, sizes, None, per_batch, len(units) // per_batch, seed, name)
        packing = pack_sizes(sizes, batch)
        fewest = int(packing.sum(axis=1).min())
        return cls(units, sizes, packing, fewest, len(packing), seed, name)

    def batch(self, step: int, rank: int = 0, ranks: int = 1) -> Int[np.ndarray, " batch"]:
        """The samples of a step, counted from the start of this order, that process `rank` takes.

        Raises:
            SpecError: If a batch has fewer units than there are processes.
        """
        if self.per_batch < ranks:
            raise SpecError(
                f"a batch of {self.per_batch} samples or groups cannot be shared by {ranks} "
                "processes",
                fix="make the batch larger, or start fewer processes",
            )
        epoch, position = divmod(step, self.batches)
        if self.packing is None:
            order = self._randomness(epoch).permutation(len(self.units))
            chosen = order[position * self.per_batch : (position + 1) * self.per_batch]
            own = np.array_split(chosen, ranks)[rank]
        else:
            chosen = self._draw_packed(epoch, position)
            own = _split_evenly(chosen, self.sizes[chosen], ranks)[rank]
        return np.concatenate([self.units[unit] for unit in own])

    def _randomness(self, epoch: int) -> np.random.Generator:
        return Randomness(self.seed).at(f"order/{self.name}", epoch)

    def _draw_packed(self, epoch: int, position: int) -> Int[np.ndarray, " units"]:
        """The units of a batch: of each size as many as its packing says, in random order."""
        assert self.packing is not None
        random = self._randomness(epoch)
        order = random.permutation(len(self.units))
        number = int(random.permutation(self.batches)[position])
        sizes = self.sizes[order]
        before = self.packing[:number].sum(axis=0)
        chosen = [
            np.flatnonzero(sizes == size)[start : start + count]
            for size, start, count in zip(
                np.unique(sizes), before, self.packing[number], strict=True
            )
        ]
        # As they stand in the order of the epoch, so that sizes are mixed.
        return order[np.sort(np.concatenate(chosen))]


def _split_evenly(
    units: Int[np.ndarray, " units"], sizes: Int[np.ndarray, " units"], ranks: int
) -> list[Int[np.ndarray, " _part"]]:
    """Units in as many runs of nearly equally many samples, at least one unit in each."""
    ends = np.cumsum(sizes)
    cuts: list[int] = []
    for rank in range(1, ranks):
        ideal = ends[-1] * rank / ranks
        cut = int(np.argmin(np.abs(ends - ideal))) + 1
        least = (cuts[-1] if cuts else 0) + 1
        cuts.append(min(max(cut, least), len(units) - (ranks - rank)))
    return np.split(units, cuts)
