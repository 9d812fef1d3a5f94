"""How webdataset deals shards to ranks and loader workers.

`split_by_node` gives rank r of R every R-th shard from the r-th on; of these `split_by_worker`
gives worker w of W every W-th from the w-th on (webdataset 1.0, `shardlists.py`). Each worker makes
its own batches and drops what does not fill one, as in open_clip's and LAION-CLAP's loaders.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil
from typing import TypeVar

T = TypeVar("T")


def deal_shards(shards: Sequence[T], ranks: int, workers: int) -> list[list[Sequence[T]]]:
    """The shards of each loader worker, by rank and worker."""
    return [
        [shards[rank::ranks][worker::workers] for worker in range(workers)] for rank in range(ranks)
    ]


@dataclass(frozen=True, slots=True)
class Deal:
    """What one epoch over the dealt shards of a split is.

    Args:
        shards: Samples of each loader worker's shards, by rank and worker.
        rank_batch: Samples of a rank in a step.
    """

    shards: tuple[tuple[tuple[int, ...], ...], ...]
    rank_batch: int

    @classmethod
    def of(cls, sizes: Sequence[int], ranks: int, workers: int, rank_batch: int) -> Deal:
        """The deal of shards that hold so many samples, in their order."""
        hands = deal_shards(sizes, ranks, workers)
        return cls(tuple(tuple(map(tuple, rank)) for rank in hands), rank_batch)

    @property
    def samples(self) -> int:
        """Of all shards."""
        return sum(self.samples_of_ranks)

    @property
    def shards_of_ranks(self) -> list[int]:
        """Shards of each rank."""
        return [sum(map(len, rank)) for rank in self.shards]

    @property
    def shards_of_workers(self) -> list[int]:
        """Shards of each loader worker of all ranks."""
        return [len(worker) for rank in self.shards for worker in rank]

    @property
    def samples_of_ranks(self) -> list[int]:
        """Samples of each rank."""
        return [sum(map(sum, rank)) for rank in self.shards]

    @property
    def samples_of_workers(self) -> list[int]:
        """Samples of each loader worker of all ranks."""
        return [sum(worker) for rank in self.shards for worker in rank]

    @property
    def steps_of_ranks(self) -> list[int]:
        """Full batches that each rank can make of its own shards."""
        return [sum(sum(worker) // self.rank_batch for worker in rank) for rank in self.shards]

    @property
    def steps(self) -> int:
        """Steps that all ranks can take, each sample seen once at most."""
        return min(self.steps_of_ranks)

    @property
    def unseen(self) -> int:
        """Samples that an epoch of so many steps leaves out."""
        return self.samples - self.steps * self.rank_batch * len(self.shards)

    @property
    def rounded_up_steps(self) -> int:
        """Steps of an epoch in open_clip and LAION-CLAP, equal on all ranks.

        They give every worker the same number of batches, rounded up; one that has fewer starts
        over, one that has more leaves some out.
        """
        workers = len(self.shards[0])
        batches = ceil(self.samples / (self.rank_batch * len(self.shards)))
        return ceil(batches / workers) * workers

    @property
    def poorest(self) -> tuple[int, int]:
        """Shards and samples of the worst hand in any order of the shards: loaders shuffle them."""
        count = min(self.shards_of_workers)
        sizes = sorted(size for rank in self.shards for worker in rank for size in worker)
        return count, sum(sizes[:count])
