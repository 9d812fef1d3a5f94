"""What a paper says of its table, and whether it holds in ours."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from experiments.harness.estimate import Estimate, estimate_difference, estimate_metric
from train.bench.metrics import Metric

Results: TypeAlias = Mapping[str, Mapping[str, Sequence[Metric]]]
"""By arm and by metric (`EXAM.METRIC`), one measurement a seed."""


class ClaimVerdict(StrEnum):
    """Whether a claim holds."""

    HOLDS = "holds"
    """Over the whole 95 % interval."""
    IN_MEAN = "holds in the mean, not over its whole interval"
    FAILS = "does not hold"


@dataclass(frozen=True, slots=True)
class Cell:
    """A place in the table.

    Args:
        metric: `EXAM.METRIC`.
    """

    arm: str
    metric: str


@dataclass(frozen=True, slots=True)
class Claim:
    """That a cell, or how far it is above another, lies between two bounds.

    Args:
        text: The claim in words, with the paper's numbers.
        less: The cell that is taken from it, None to look at the cell alone.
        above: It must be greater than this.
        below: It must be less than this.
    """

    text: str
    cell: Cell
    less: Cell | None = None
    above: float = -math.inf
    below: float = math.inf

    @property
    def cells(self) -> tuple[Cell, ...]:
        """What is measured."""
        return (self.cell, self.less) if self.less else (self.cell,)

    @property
    def arms(self) -> set[str]:
        """The arms that it is about."""
        return {cell.arm for cell in self.cells}

    @property
    def bounds(self) -> str:
        """The bounds in words, in percent."""
        lower = f"above {100 * self.above:.3g} %" if self.above > -math.inf else ""
        upper = f"below {100 * self.below:.3g} %" if self.below < math.inf else ""
        return " and ".join(filter(None, (lower, upper)))


@dataclass(frozen=True, slots=True)
class Judgement:
    """A claim and what became of it."""

    claim: Claim
    found: Estimate
    verdict: ClaimVerdict


def claim_better(text: str, cell: Cell, than: Cell, by: float = 0.0) -> Claim:
    """`cell` is above `than`, by more than `by`."""
    return Claim(text, cell, than, above=by)


def claim_alike(text: str, cell: Cell, other: Cell, within: float = 0.05) -> Claim:
    """The two differ by less than `within`."""
    return Claim(text, cell, other, above=-within, below=within)


def claim_near(text: str, cell: Cell, value: float, within: float = 0.05) -> Claim:
    """`cell` is less than `within` from `value`, such as chance."""
    return Claim(text, cell, above=value - within, below=value + within)


def claim_at_least(text: str, cell: Cell, value: float) -> Claim:
    """`cell` is above `value`."""
    return Claim(text, cell, above=value)


def claim_at_most(text: str, cell: Cell, value: float) -> Claim:
    """`cell` is below `value`."""
    return Claim(text, cell, below=value)


def judge(claim: Claim, results: Results) -> Judgement:
    """Whether a claim holds: over the whole interval, in the mean alone, or not."""
    measured = [results[cell.arm][cell.metric] for cell in claim.cells]
    found = estimate_difference(*measured) if claim.less else estimate_metric(*measured)
    if found.low > claim.above and found.high < claim.below:
        return Judgement(claim, found, ClaimVerdict.HOLDS)
    in_mean = claim.above < found.value < claim.below
    return Judgement(claim, found, ClaimVerdict.IN_MEAN if in_mean else ClaimVerdict.FAILS)
