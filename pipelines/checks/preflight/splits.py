"""The splits of a plan as sizes: what a training run gives each rank of them."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, chain, groupby
from pathlib import Path
from typing import Final

import numpy as np
from jaxtyping import Int64

from pipelines.builder.plan import ShardPlan
from pipelines.checks.preflight.training import Training
from pipelines.store.row_file import read_batches
from synth.base.errors import SpecError
from synth.base.packing import pack_sizes

TRAIN: Final = "train"


@dataclass(frozen=True, slots=True)
class PlannedSplit:
    """A split of a plan.

    Args:
        groups: Samples of each minimal-pair group, in plan order.
        shards: Samples of each shard, in plan order.
    """

    name: str
    groups: tuple[int, ...]
    shards: tuple[int, ...]

    @property
    def samples(self) -> int:
        """Of the split."""
        return sum(self.shards)

    def deal(self, training: Training) -> Deal:
        """What a loader gets that deals shards."""
        return Deal.of(self.shards, training.gpus, training.readers, training.rank_batch)

    def share(self, training: Training) -> TrainerShare:
        """What `segue train` gives each rank."""
        return TrainerShare.of(self.groups, training.batch, training.gpus, training.keep_groups)

    def repack(self, samples: int) -> PlannedSplit:
        """The same with another `shards.samples`."""
        return replace(self, shards=tuple(pack_shards(self.groups, samples)))


def pack_shards(groups: Sequence[int], samples: int) -> list[int]:
    """Sizes of the shards that groups fill in their order, by the plan's rule.

    A shard takes groups as long as it holds at most `samples`; a larger group has one for itself.
    """
    ends = list(accumulate(groups, initial=0))
    shards: list[int] = []
    start = 0
    while start < len(groups):
        stop = max(bisect_right(ends, ends[start] + samples) - 1, start + 1)
        shards.append(ends[stop] - ends[start])
        start = stop
    return shards


def read_splits(plan: Path, shards: Sequence[ShardPlan]) -> list[PlannedSplit]:
    """The splits of a plan, in its order."""
    rows = (
        row
        for batch in read_batches(plan, ["split", "group"])
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)
    )
    groups: dict[str, list[int]] = {}
    for (split, _), members in groupby(rows):  # a plan has the rows of a group one after the other
        groups.setdefault(split, []).append(sum(1 for _ in members))
    return [
        PlannedSplit(
            name,
            tuple(sizes),
            tuple(shard.samples for shard in shards if shard.split == name),
        )
        for name, sizes in groups.items()
    ]


def select_trained(splits: Sequence[PlannedSplit], training: Training) -> list[PlannedSplit]:
    """The splits that the run trains on."""
    by_name: Mapping[str, PlannedSplit] = {split.name: split for split in splits}
    if missing := [name for name in training.splits if name not in by_name]:
        raise SpecError(
            f"the plan has no split {', '.join(missing)}", fix=f"it has {', '.join(by_name)}"
        )
    if training.splits:
        return [by_name[name] for name in dict.fromkeys(training.splits)]
    return [by_name[TRAIN]] if TRAIN in by_name else list(splits)


# How webdataset deals shards to ranks and loader workers.


def deal_shards(count: int, ranks: int, workers: int) -> Int64[np.ndarray, " shards"]:
    """Who gets each shard: loader worker 0, 1, ... of rank 0, then those of rank 1, and so on."""
    turns, rank = np.divmod(np.arange(count), ranks)
    places: Int64[np.ndarray, " shards"] = rank * workers + turns % workers
    return places


@dataclass(frozen=True, slots=True, eq=False)
class Deal:
    """What one epoch over the dealt shards of a split is.

    Args:
        shards: How many each loader worker gets, by rank and worker.
        rank_batch: Samples of a rank in a step.
    """

    shards: Int64[np.ndarray, "ranks workers"]
    samples: Int64[np.ndarray, "ranks workers"]
    sizes: tuple[int, ...]
    rank_batch: int

    @classmethod
    def of(cls, sizes: Sequence[int], ranks: int, workers: int, rank_batch: int) -> Deal:
        """The deal of shards that hold so many samples, in their order."""
        places = deal_shards(len(sizes), ranks, workers)
        shards, samples = (
            np.bincount(places, weights, ranks * workers).astype(np.int64).reshape(ranks, workers)
            for weights in (None, sizes)
        )
        return cls(shards, samples, tuple(sizes), rank_batch)

    @property
    def steps_of_ranks(self) -> Int64[np.ndarray, " ranks"]:
        """Full batches that each rank can make of its own shards."""
        steps: Int64[np.ndarray, " ranks"] = (self.samples // self.rank_batch).sum(axis=1)
        return steps

    @property
    def steps(self) -> int:
        """Steps that all ranks can take, each sample seen once at most."""
        return int(self.steps_of_ranks.min())

    @property
    def unseen(self) -> int:
        """Samples that an epoch of so many steps leaves out."""
        return sum(self.sizes) - self.steps * self.rank_batch * int(self.shards.shape[0])

    @property
    def poorest(self) -> tuple[int, int]:
        """Shards and samples of the worst hand in any order of the shards: loaders shuffle them."""
        count = int(self.shards.min())
        return count, sum(sorted(self.sizes)[:count])


# How `segue train` shares a split among ranks.


@dataclass(frozen=True, slots=True)
class TrainerShare:
    """One epoch of the trainer over a split.

    Args:
        groups: Samples of each unit that stays together: groups, or single samples.
        units: Fewest units in a batch.
        loads: Samples of each batch, by turns of the epochs, where units are unequally large, else
            nothing.
    """

    groups: tuple[int, ...]
    units: int
    ranks: int
    loads: tuple[tuple[int, ...], ...] = field(default=(), repr=False)

    @classmethod
    def of(cls, groups: Sequence[int], batch: int, ranks: int, keep_groups: bool) -> TrainerShare:
        """The share of groups of so many samples, none of them empty."""
        members = tuple(groups) if keep_groups else (1,) * sum(groups)
        if min(members) == max(members) or max(members) > batch:
            return cls(members, max(min(batch // max(members), len(members)), 1), ranks)
        packing = pack_sizes(np.array(members), batch)
        loads = (packing @ np.unique(members)).tolist()
        return cls(members, int(packing.sum(axis=2).min()), ranks, tuple(map(tuple, loads)))

    @property
    def steps(self) -> int:
        """Of an epoch, on every rank."""
        return len(self.loads[0]) if self.loads else len(self.groups) // self.units

    @property
    def is_alone(self) -> bool:
        """Whether a sample would be alone in a batch, which the trainer refuses."""
        return 1 in chain(*self.loads)

    @property
    def units_of_ranks(self) -> list[int]:
        """Units that each rank takes of every batch, where units are equally large."""
        least, rest = divmod(self.units, self.ranks)
        return [least + (rank < rest) for rank in range(self.ranks)]

    @property
    def rank_samples(self) -> tuple[int, int]:
        """Least and most samples of a rank in a step, whichever groups meet."""
        low, high = min(self.groups), max(self.groups)
        if not self.loads:
            units = self.units_of_ranks
            return min(units) * low, max(units) * high
        most = max(map(max, self.loads))
        if self.ranks == 1:
            return min(map(min, self.loads)), most
        # Each cut lies within half a unit of the even one, and every rank has a unit.
        return low, min(most - (self.ranks - 1) * low, -(-most // self.ranks) + high)

    @property
    def unseen(self) -> int:
        """Most samples that an epoch leaves out; each epoch leaves out others."""
        if self.loads:
            return sum(self.groups) - min(map(sum, self.loads))
        over = len(self.groups) - self.steps * self.units
        return sum(sorted(self.groups)[len(self.groups) - over :])
