"""Which samples each step sees, as a pure function of the step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from synth.base.errors import SpecError
from synth.base.rng import Randomness


@dataclass(frozen=True, slots=True)
class BatchOrder:
    """Which samples each step sees: a pure function of (seed, name, step).

    Every epoch is another order of the whole pool; what does not fill a batch at its end is left
    out of that epoch. With groups kept together, a batch holds whole groups.

    Args:
        units: The samples of each unit that stays together: single samples, or groups.
        per_batch: Units in a batch.
        seed: Of the run.
        name: Tells apart the orders of one run.
    """

    units: tuple[Int[np.ndarray, " _members"], ...]
    per_batch: int
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
        per_batch = max(min(batch // largest, len(units)), 1)
        return cls(units, per_batch, seed, name)

    @property
    def batches(self) -> int:
        """Batches of an epoch."""
        return len(self.units) // self.per_batch

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
        order = Randomness(self.seed).at(f"order/{self.name}", epoch).permutation(len(self.units))
        chosen = order[position * self.per_batch : (position + 1) * self.per_batch]
        own = np.array_split(chosen, ranks)[rank]
        return np.concatenate([self.units[unit] for unit in own])
