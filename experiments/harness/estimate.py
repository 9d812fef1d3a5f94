"""What several seeds together say of a metric, and of the difference of two."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from typing import Any, Final, TypeAlias

import numpy as np
from scipy import stats

from train.bench.metrics import Metric

CONFIDENCE: Final = 0.95
INTERVAL: Final = (
    "95 %: the spread of the seeds and that of the test's items (1000 bootstrap draws of whole "
    "groups; for a difference of two on the same items, draw by draw), combined as independent "
    "uncertainties by Welch and Satterthwaite"
)
_WIDTH: Final = float(stats.norm.ppf((1 + CONFIDENCE) / 2))


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with an interval that accounts for both seeds and test items.

    Args:
        value: Mean over the seeds.
    """

    value: float
    low: float
    high: float
    by_seed: tuple[float, ...]

    def to_json(self) -> dict[str, Any]:
        """As JSON values, rounded to six places."""
        return {
            name: [round(number, 6) for number in value]
            if isinstance(value, tuple)
            else round(value, 6)
            for name, value in asdict(self).items()
        }


def estimate_metric(metrics: Sequence[Metric]) -> Estimate:
    """One metric, measured with several seeds on the same items.

    The standard uncertainty of the mean over S seeds is s / sqrt(S). The items are the same for
    every seed, so that more seeds do not make their uncertainty less: it is that of one seed,
    the mean half-width of the bootstrap intervals over 1.96. Both are added in quadrature, and
    the interval is Student's t with the effective degrees of freedom of Welch and Satterthwaite
    (JCGM 100:2008, 5.1.2 and G.4.1), cut to 0 and 1 where the metric is a share. With one seed
    only the items count.

    Args:
        metrics: One a seed, at least one.
    """
    estimate = _combine([metric.value for metric in metrics], _compute_spread(metrics))
    if any(metric.high > 1 for metric in metrics):
        return estimate
    return replace(estimate, low=max(estimate.low, 0.0), high=min(estimate.high, 1.0))


def estimate_difference(metrics: Sequence[Metric], others: Sequence[Metric]) -> Estimate:
    """One metric less another, seed by seed.

    Where both were measured on the same items, as in a comparison of arms, the uncertainty that
    comes of the items is that of the difference, draw by draw of the bootstrap; otherwise the
    items of the two count as independent.

    Args:
        others: As many, of the same seeds.
    """
    values = [metric.value - other.value for metric, other in zip(metrics, others, strict=True)]
    pairs = [
        metric.draws.spread_from(other.draws) if metric.draws and other.draws else None
        for metric, other in zip(metrics, others, strict=True)
    ]
    paired = [spread for spread in pairs if spread is not None]
    if len(paired) == len(pairs):
        return _combine(values, float(np.mean(paired)))
    return _combine(values, math.hypot(_compute_spread(metrics), _compute_spread(others)))


def _compute_spread(metrics: Sequence[Metric]) -> float:
    """Standard uncertainty that comes of the choice of items."""
    halves = [(metric.high - metric.low) / 2 for metric in metrics]
    return float(np.mean(halves)) / _WIDTH


def _combine(values: Sequence[float], items: float) -> Estimate:
    mean, count = float(np.mean(values)), len(values)
    seeds = float(np.std(values, ddof=1)) / math.sqrt(count) if count > 1 else 0.0
    whole = math.hypot(seeds, items)
    freedom = (count - 1) * (whole / seeds) ** 4 if seeds else math.inf
    half = whole * float(stats.t.ppf((1 + CONFIDENCE) / 2, freedom))
    return Estimate(mean, mean - half, mean + half, tuple(values))


# What a paper says of its table, and whether it holds in ours.


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
    estimate: Estimate
    verdict: ClaimVerdict


def claim_gain(text: str, metric: str, arm: str, over: str, by: float = 0.0) -> Claim:
    """By a metric one arm is above another, by more than `by`."""
    return Claim(text, Cell(arm, metric), Cell(over, metric), above=by)


def claim_alike(text: str, cell: Cell, other: Cell, within: float = 0.05) -> Claim:
    """The two differ by less than `within`."""
    return Claim(text, cell, other, above=-within, below=within)


def claim_near(text: str, cell: Cell, value: float, within: float = 0.05) -> Claim:
    """`cell` is less than `within` from `value`, such as chance."""
    return Claim(text, cell, above=value - within, below=value + within)


def judge(claim: Claim, results: Results) -> Judgement:
    """Whether a claim holds: over the whole interval, in the mean alone, or not."""
    measured = [results[cell.arm][cell.metric] for cell in claim.cells]
    estimate = estimate_difference(*measured) if claim.less else estimate_metric(*measured)
    if estimate.low > claim.above and estimate.high < claim.below:
        return Judgement(claim, estimate, ClaimVerdict.HOLDS)
    in_mean = claim.above < estimate.value < claim.below
    return Judgement(claim, estimate, ClaimVerdict.IN_MEAN if in_mean else ClaimVerdict.FAILS)
