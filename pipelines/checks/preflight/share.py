"""How `segue train` shares a split among ranks.

Every step is one global batch, chosen from the manifest by its number; rank r takes the r-th of R
nearly equal runs of it (`train.data.order.BatchOrder`). Steps are counted by the run, not by a
rank, so all ranks take the same ones as long as none goes empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from synth.base.packing import pack_sizes


@dataclass(frozen=True, slots=True)
class TrainerShare:
    """One epoch of the trainer over a split.

    Args:
        groups: Samples of each unit that stays together: groups, or single samples.
        units: Fewest units in a batch.
        ranks: Processes.
        loads: Samples of each batch where units are unequally large, else nothing.
    """

    groups: tuple[int, ...]
    units: int
    ranks: int
    loads: tuple[int, ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, groups: Sequence[int], batch: int, ranks: int, keep_groups: bool) -> TrainerShare:
        """The share of groups of so many samples, none of them empty."""
        members = tuple(groups) if keep_groups else (1,) * sum(groups)
        if min(members) == max(members) or max(members) > batch:
            return cls(members, max(min(batch // max(members), len(members)), 1), ranks)
        packing = pack_sizes(np.array(members), batch)
        loads = packing @ np.unique(members)
        return cls(members, int(packing.sum(axis=1).min()), ranks, tuple(loads.tolist()))

    @property
    def steps(self) -> int:
        """Of an epoch, on every rank."""
        return len(self.loads) or len(self.groups) // self.units

    @property
    def units_of_ranks(self) -> list[int]:
        """Units that each rank takes of every batch, where units are equally large."""
        each, over = divmod(self.units, self.ranks)
        return [each + (rank < over) for rank in range(self.ranks)]

    @property
    def rank_samples(self) -> tuple[int, int]:
        """Least and most samples of a rank in a step, whichever groups meet."""
        low, high = min(self.groups), max(self.groups)
        if not self.loads:
            units = self.units_of_ranks
            return min(units) * low, max(units) * high
        if self.ranks == 1:
            return min(self.loads), max(self.loads)
        # Each cut lies within half a unit of the even one, and every rank has a unit.
        most = max(self.loads)
        return low, min(most - (self.ranks - 1) * low, -(-most // self.ranks) + high)

    @property
    def unseen(self) -> int:
        """Most samples that an epoch leaves out; each epoch leaves out others."""
        if self.loads:
            return sum(self.groups) - sum(self.loads)
        over = len(self.groups) - self.steps * self.units
        return sum(sorted(self.groups)[len(self.groups) - over :])
