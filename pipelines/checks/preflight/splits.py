"""The splits of a plan as sizes: groups, shards, frames."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from pathlib import Path

import pyarrow.parquet as pq

from pipelines.build.plan import ShardPlan
from pipelines.checks.preflight.deal import Deal
from pipelines.checks.preflight.share import TrainerShare
from pipelines.checks.preflight.training import TRAIN, Training
from synth.base.errors import SpecError


@dataclass(frozen=True, slots=True)
class PlannedSplit:
    """A split of a plan.

    Args:
        name: `train`, `val` or `test`.
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
    columns = pq.read_table(plan, columns=["split", "group"])
    groups: dict[str, Counter[str]] = {}
    for split, group in zip(
        columns["split"].to_pylist(), columns["group"].to_pylist(), strict=True
    ):
        groups.setdefault(split, Counter())[group] += 1
    return [
        PlannedSplit(
            name,
            tuple(found.values()),
            tuple(shard.samples for shard in shards if shard.split == name),
        )
        for name, found in groups.items()
    ]


def select_trained(splits: Sequence[PlannedSplit], training: Training) -> list[PlannedSplit]:
    """The splits that the run trains on."""
    known: Mapping[str, PlannedSplit] = {split.name: split for split in splits}
    if missing := [name for name in training.splits if name not in known]:
        raise SpecError(
            f"the plan has no split {', '.join(missing)}", fix=f"it has {', '.join(known)}"
        )
    if training.splits:
        return [known[name] for name in dict.fromkeys(training.splits)]
    return [known[TRAIN]] if TRAIN in known else list(splits)
