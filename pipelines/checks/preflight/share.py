"""How `segue train` shares a split among ranks.

Every step is one global batch, chosen from the manifest by its number; rank r takes the r-th of R
nearly equal runs of it (`train.data.order.BatchOrder`). Steps are counted by the run, not by a
rank, so all ranks take the same ones as long as none goes empty.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TrainerShare:
    """One epoch of the trainer over a split.

    Args:
        groups: Samples of each unit that stays together: groups, or single samples.
        units: Units in a batch.
        ranks: Processes.
    """

    groups: tuple[int, ...]
    units: int
    ranks: int

    @classmethod
    def of(cls, groups: Sequence[int], batch: int, ranks: int, keep_groups: bool) -> TrainerShare:
        """The share of groups of so many samples, none of them empty."""
        members = tuple(groups) if keep_groups else (1,) * sum(groups)
        return cls(members, max(min(batch // max(members), len(members)), 1), ranks)

    @property
    def steps(self) -> int:
        """Of an epoch, on every rank."""
        return len(self.groups) // self.units

    @property
    def units_of_ranks(self) -> list[int]:
        """Units that each rank takes of every batch."""
        each, over = divmod(self.units, self.ranks)
        return [each + (rank < over) for rank in range(self.ranks)]

    @property
    def rank_samples(self) -> tuple[int, int]:
        """Least and most samples of a rank in a step, whichever groups meet."""
        units = self.units_of_ranks
        return min(units) * min(self.groups), max(units) * max(self.groups)

    @property
    def unseen(self) -> int:
        """Most samples that an epoch leaves out; each epoch leaves out others."""
        over = len(self.groups) - self.steps * self.units
        return sum(sorted(self.groups)[len(self.groups) - over :])
