"""Which samples each process takes in a step of a run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from synth.base.errors import SpecError
from train.config.run import TrainConfig
from train.config.schedule import place
from train.data.blend import Blend
from train.data.order import BatchOrder, refuse_few
from train.data.split import SplitData
from train.data.stream import Stream


@dataclass(frozen=True, slots=True)
class Chosen:
    """The samples of every step: a pure function of the run's settings and the step.

    Where corpora are mixed in, each is a stream through the whole run, of which a step takes as
    many samples as the weight asks for. The run's own corpus is a stream in each stage then; alone,
    or where groups stay together, it has an order of batches in each.

    Args:
        ranks: Processes.
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
        blend = Blend.of([config.own_share, *(each.weight for each in config.mix)], config.batch)
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
        found: list[BatchOrder | Stream] = []
        for k, stage in enumerate(config.stages):
            if config.keep_groups:
                found.append(order := _order(data, config, k, fewest[0]))
                order.refuse_ranks(ranks)
            else:
                where = f"stages.{k}: {config.corpus}"
                pool = data.pool(stage)
                found.append(Stream.of(pool, most[0], config.seed, f"stage-{k}", where))
                refuse_few(fewest[0], ranks)
        return cls(config, ranks, found, blend, mixed)

    def shares(self, step: int) -> list[Int[np.ndarray, " _batch"]]:
        """The samples of a step that each process takes."""
        where = place(step, self.config.stages)
        order = self.orders[where.stage]
        if isinstance(order, BatchOrder):
            parts = [order.shares(where.step, self.ranks)]
        else:
            parts = [np.array_split(self._own(order, step, where.step), self.ranks)]
        parts += [np.array_split(each, self.ranks) for each in self._others(step)]
        return [np.concatenate(each) for each in zip(*parts, strict=True)]

    def _own(self, stream: Stream, step: int, of_stage: int) -> Int[np.ndarray, " _own"]:
        """What a step takes of the run's corpus, whose stream begins with the stage."""
        assert self.blend is not None
        places = (step - of_stage, step, step + 1)
        begin, start, stop = (self.blend.before(each)[0] for each in places)
        return stream.take(start - begin, stop - begin)

    def _others(self, step: int) -> Iterator[Int[np.ndarray, " _others"]]:
        """What a step takes of each corpus that is mixed in."""
        if self.blend is not None:
            starts, stops = (self.blend.before(each)[1:] for each in (step, step + 1))
            for stream, start, stop in zip(self.mixed, starts, stops, strict=True):
                yield stream.take(start, stop)


def _order(data: SplitData, config: TrainConfig, number: int, batch: int) -> BatchOrder:
    pool = data.pool(config.stages[number])
    groups = data.groups[pool] if config.keep_groups else pool
    name = f"stage-{number}"
    return BatchOrder.of(pool, groups, batch, config.keep_groups, config.seed, name)
