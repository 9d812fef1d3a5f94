"""Schedules as pure functions of the step, so that a resumed run needs no scheduler state."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from train.config.run import Decay, Stage

_LEAST = 1e-3


def learning_rate(
    step: int, steps: int, peak: float, warmup: float, decay: Decay = Decay.COSINE
) -> float:
    """Learning rate: linear rise to `peak`, then down to nearly nothing, or on.

    Args:
        step: From 0 to `steps - 1`.
        steps: Length of the run.
        peak: Highest rate.
        warmup: Share of the run in which the rate rises, 0 to 1.
        decay: How it falls.
    """
    rise = max(round(warmup * steps), 1)
    if step < rise:
        return peak * (step + 1) / rise
    fallen = (step + 1 - rise) / max(steps - rise, 1)
    match decay:
        case Decay.COSINE:
            share = (1 + math.cos(math.pi * fallen)) / 2
        case Decay.LINEAR:
            share = 1 - fallen
        case Decay.CONSTANT:
            share = 1.0
    return peak * max(share, _LEAST)


@dataclass(frozen=True, slots=True)
class StepPlace:
    """Where a step lies: in which stage, and how many of its steps came before."""

    stage: int
    step: int


def place(step: int, stages: Sequence[Stage]) -> StepPlace:
    """The stage of global step `step`."""
    left = step
    for number, stage in enumerate(stages):
        if left < stage.steps:
            return StepPlace(number, left)
        left -= stage.steps
    raise IndexError(f"step {step} lies behind the last of {step - left}")
