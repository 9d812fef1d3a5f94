"""Which samples each process takes in each step, as a pure function of the step."""

from __future__ import annotations

import heapq
import math
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Final, Generic, TypeVar

import numpy as np
import pandas as pd
from jaxtyping import Int

from synth.base.errors import SpecError
from synth.base.packing import pack_sizes
from synth.base.rng import Randomness
from train.config.run import TrainConfig, place
from train.data.split import SplitData

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
        """The order of a pool of samples."""
        if keep_groups:
            units = pd.factorize(groups)[0]
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
            singles = int((sizes == 1).sum())
            raise SpecError(
                f"{singles:,} group{'s' * (singles > 1)} of 1 sample would be alone in a batch and "
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
        units = np.flatnonzero(sizes == size)[: counts.sum()]
        place[units] = np.repeat(places, counts)
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


def _narrow(numbers: Int[np.ndarray, " numbers"]) -> Int[np.ndarray, " numbers"]:
    """The same in half the memory, where they fit."""
    fits = numbers.max(initial=0) <= np.iinfo(np.int32).max
    return numbers.astype(np.int32) if fits else numbers


@dataclass(frozen=True, slots=True, eq=False)
class Stream:
    """Some samples over and over, each time all of them in another order.

    No sample is twice in a batch, even where one order ends and the next begins in it, if there
    are three times as many as `most`.

    Args:
        most: Most of them that are taken for one batch.
    """

    samples: Int[np.ndarray, " samples"]
    most: int
    seed: int
    name: str
    _drawn: EpochCache[Int[np.ndarray, " samples"]] = field(default_factory=EpochCache, init=False)

    @classmethod
    def of(
        cls, samples: Sequence[int] | np.ndarray, most: int, seed: int, name: str, where: str
    ) -> Stream:
        """The stream of the samples of a corpus, which `where` names in an error."""
        if len(samples) < most:
            raise SpecError(
                f"{where}: has {len(samples)} samples in play, a batch takes {most}",
                fix="give another weight or a smaller batch, or build a larger corpus",
            )
        return cls(np.asarray(samples), most, seed, name)

    def take(self, start: int, stop: int) -> Int[np.ndarray, " taken"]:
        """The samples at places `start` to `stop - 1`."""
        size = len(self.samples)
        parts = [self.samples[:0]]
        while start < stop:
            epoch, first = divmod(start, size)
            order = self._drawn.get(epoch, self._draw)
            parts.append(order[first : first + stop - start])
            start += len(parts[-1])
        return np.concatenate(parts)

    def _draw(self, epoch: int) -> Int[np.ndarray, " samples"]:
        order = self._shuffle(epoch)
        if epoch == 0 or len(order) < 3 * self.most:
            return order
        # What came last in the epoch before does not come first; the end stays as it was drawn.
        front, back = order[: -self.most], order[-self.most :]
        was_last = np.isin(front, self._shuffle(epoch - 1)[-self.most :])
        return np.concatenate([front[~was_last], front[was_last], back])

    def _shuffle(self, epoch: int) -> Int[np.ndarray, " samples"]:
        random = Randomness(self.seed).at(f"order/{self.name}", epoch)
        return self.samples[random.permutation(len(self.samples))]


_LONGEST_CYCLE: Final = 100_000


@dataclass(frozen=True)
class Blend:
    """The share of every corpus in each batch: a pure function of the step.

    After any number of samples, each corpus has given less than one sample more or less than its
    weight asks for. That is the earliest-deadline-first schedule of Tijdeman's chairman assignment
    problem (Discrete Mathematics 32, 1980; Baruah et al., Algorithmica 15, 1996): sample j of a
    corpus with share w is due from floor(j / w) on and before ceil((j + 1) / w). It repeats, and
    one cycle is kept.

    Args:
        shares: Of each corpus; together 1.
    """

    shares: tuple[Fraction, ...]
    batch: int

    @classmethod
    def of(cls, weights: Sequence[float | Fraction], batch: int) -> Blend:
        """The blend of corpora with these weights, which need not sum to 1."""
        figures = ", ".join(map(str, weights))
        if batch < 1:
            raise SpecError(f"a batch of {batch} samples: expected 1 or more")
        if not weights:
            raise SpecError("expected corpora to blend, got none", fix="name a corpus")
        if not all(math.isfinite(weight) and weight > 0 for weight in weights):
            raise SpecError(
                f"weights {figures}: expected numbers above 0", fix="leave out that corpus"
            )
        exact = [Fraction(str(weight)) for weight in weights]  # as written, not as stored
        blend = cls(tuple(weight / sum(exact) for weight in exact), batch)
        if blend._cycle > _LONGEST_CYCLE:
            raise SpecError(
                f"weights {figures} are too fine: their pattern has {blend._cycle:,} samples, and "
                f"the longest has {_LONGEST_CYCLE:,}",
                fix="round them, as to shares that sum to 1 and have four decimals at most",
            )
        return blend

    def before(self, step: int) -> list[int]:
        """How many samples each corpus gives in all steps before this one."""
        cycles, rest = divmod(step * self.batch, self._cycle)
        return (cycles * self._counts[-1] + self._counts[rest]).tolist()  # type: ignore[no-any-return]

    @cached_property
    def extremes(self) -> tuple[list[int], list[int]]:
        """Fewest and most samples of each corpus in a batch."""
        steps = np.arange(self._cycle // math.gcd(self._cycle, self.batch))
        cycles, rests = np.divmod(np.append(steps, len(steps)) * self.batch, self._cycle)
        counts = np.diff(cycles[:, np.newaxis] * self._counts[-1] + self._counts[rests], axis=0)
        return counts.min(axis=0).tolist(), counts.max(axis=0).tolist()

    @property
    def _cycle(self) -> int:
        return math.lcm(*(share.denominator for share in self.shares))

    @cached_property
    def _counts(self) -> Int[np.ndarray, "prefixes corpora"]:
        """Samples of each corpus among the first 0, 1, ... of a cycle."""
        counts = np.zeros((self._cycle + 1, len(self.shares)), dtype=np.int64)
        coming = [(0, corpus, 0) for corpus in range(len(self.shares))]  # released, corpus, sample
        due: list[tuple[int, int, int]] = []  # deadline, corpus, sample
        for slot in range(self._cycle):
            while coming and coming[0][0] <= slot:
                _, corpus, sample = heapq.heappop(coming)
                heapq.heappush(due, (-(-(sample + 1) // self.shares[corpus]), corpus, sample))
            _, corpus, sample = heapq.heappop(due)
            counts[slot + 1, corpus] = 1
            heapq.heappush(coming, ((sample + 1) // self.shares[corpus], corpus, sample + 1))
        return counts.cumsum(axis=0)


@dataclass(frozen=True, slots=True)
class Chosen:
    """The samples of every step: a pure function of the run's settings and the step.

    Where corpora are mixed in, each is a stream through the whole run, of which a step takes as
    many samples as the weight asks for. The run's own corpus is a stream in each stage then; alone,
    or where groups stay together, it has an order of batches in each.

    Args:
        orders: Of the run's corpus, one a stage.
        blend: How many samples each corpus gives; None where nothing is mixed in.
        mixed: Of the corpora that are mixed in.
    """

    config: TrainConfig
    ranks: int
    orders: Sequence[BatchOrder | Stream]
    blend: Blend | None
    mixed: Sequence[Stream]

    @classmethod
    def of(cls, data: SplitData, config: TrainConfig, ranks: int) -> Chosen:
        """That of a run over `data`."""
        if not config.mix:
            orders = [_order(data, config, k, config.batch) for k in range(len(config.stages))]
            for order in orders:
                order.refuse_ranks(ranks)
            return cls(config, ranks, orders, None, ())
        blend = Blend.of([config.own_share, *(mix.weight for mix in config.mix)], config.batch)
        fewest, most = blend.extremes
        if not fewest[0]:
            raise SpecError(
                f"mix leaves no sample of `corpus` in some batches of {config.batch}",
                fix="give lower weights, or a larger batch",
            )
        mixed = []
        for k, positions in enumerate(data.mixed):
            where = f"mix.{k}: {config.mix[k].corpus}"
            mixed.append(Stream.of(positions, most[k + 1], config.seed, f"mix-{k}", where))
        by_stage: list[BatchOrder | Stream] = []
        for k, stage in enumerate(config.stages):
            if config.keep_groups:
                by_stage.append(order := _order(data, config, k, fewest[0]))
                order.refuse_ranks(ranks)
            else:
                where = f"stages.{k}: {config.corpus}"
                pool = data.pool(stage)
                by_stage.append(Stream.of(pool, most[0], config.seed, f"stage-{k}", where))
                refuse_few(fewest[0], ranks)
        return cls(config, ranks, by_stage, blend, mixed)

    def shares(self, step: int) -> list[Int[np.ndarray, " _batch"]]:
        """The samples of a step that each process takes."""
        where = place(step, self.config.stages)
        order = self.orders[where.stage]
        if isinstance(order, BatchOrder):
            parts = [order.shares(where.step, self.ranks)]
        else:
            parts = [np.array_split(self._own(order, step, where.step), self.ranks)]
        parts += [np.array_split(positions, self.ranks) for positions in self._others(step)]
        return [np.concatenate(pieces) for pieces in zip(*parts, strict=True)]

    def _own(self, stream: Stream, step: int, of_stage: int) -> Int[np.ndarray, " _own"]:
        """What a step takes of the run's corpus, whose stream begins with the stage."""
        assert self.blend is not None
        places = (step - of_stage, step, step + 1)
        begin, start, stop = (self.blend.before(at)[0] for at in places)
        return stream.take(start - begin, stop - begin)

    def _others(self, step: int) -> Iterator[Int[np.ndarray, " _others"]]:
        """What a step takes of each corpus that is mixed in."""
        if self.blend is not None:
            starts, stops = (self.blend.before(at)[1:] for at in (step, step + 1))
            for stream, start, stop in zip(self.mixed, starts, stops, strict=True):
                yield stream.take(start, stop)


def _order(data: SplitData, config: TrainConfig, number: int, batch: int) -> BatchOrder:
    pool = data.pool(config.stages[number])
    groups = data.groups[pool] if config.keep_groups else pool
    name = f"stage-{number}"
    return BatchOrder.of(pool, groups, batch, config.keep_groups, config.seed, name)
