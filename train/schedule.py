"""Schedules as pure functions of the step, so that a resumed run needs no scheduler state."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Int

from synth.rng import Randomness
from train.config import Stage


def one_cycle(step: int, steps: int, peak: float, warmup: float) -> float:
    """Learning rate: linear rise to `peak`, then half a cosine down to nearly nothing.

    Args:
        step: From 0 to `steps - 1`.
        steps: Length of the run.
        peak: Highest rate.
        warmup: Share of the run in which the rate rises, 0 to 1.
    """
    rise = max(round(warmup * steps), 1)
    if step < rise:
        return peak * (step + 1) / rise
    fallen = (step + 1 - rise) / max(steps - rise, 1)
    return peak * max((1 + math.cos(math.pi * fallen)) / 2, 1e-3)


@dataclass(frozen=True, slots=True)
class Place:
    """Where a step lies: in which stage, and how many of its steps came before."""

    stage: int
    step: int


def place(step: int, stages: Sequence[Stage]) -> Place:
    """The stage of global step `step`.

    Raises:
        IndexError: If the run has no such step.
    """
    left = step
    for number, stage in enumerate(stages):
        if left < stage.steps:
            return Place(number, left)
        left -= stage.steps
    raise IndexError(f"step {step} lies behind the last of {step - left}")


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

    units: tuple[Int[np.ndarray, " members"], ...]
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
            batch: Most samples in a batch; a single larger group still makes one.
            keep_groups: Whether groups stay together.
            seed: Of the run.
            name: Tells apart the orders of one run.
        """
        if keep_groups:
            members: dict[str, list[int]] = {}
            for sample, group in zip(pool.tolist(), groups, strict=True):
                members.setdefault(group, []).append(sample)
            units = tuple(np.array(group, dtype=np.int64) for group in members.values())
        else:
            units = tuple(np.array([sample], dtype=np.int64) for sample in pool.tolist())
        largest = max(map(len, units), default=1)
        per_batch = max(min(batch // largest, len(units)), 1)
        return cls(units, per_batch, seed, name)

    @property
    def batches(self) -> int:
        """Batches of an epoch."""
        return len(self.units) // self.per_batch

    def batch(self, step: int) -> Int[np.ndarray, " batch"]:
        """The samples of a step, counted from the start of this order."""
        epoch, position = divmod(step, self.batches)
        order = Randomness(self.seed).at(f"order/{self.name}", epoch).permutation(len(self.units))
        chosen = order[position * self.per_batch : (position + 1) * self.per_batch]
        return np.concatenate([self.units[unit] for unit in chosen])
