"""What all metrics share: the value with its interval, the bootstrap, and checks of the input."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final, TypeAlias

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from synth.base.rng import digest

RESAMPLES: Final = 1000
_ENDS: Final = (2.5, 97.5)
_KEPT: Final = 1 << 21
"""Most positions of a bootstrap that are kept."""

Positions: TypeAlias = Int[np.ndarray, "_"]
Statistic: TypeAlias = Callable[[Positions], float]
"""From positions of units, repeats among them, to a value."""


@dataclass(frozen=True, slots=True, eq=False)
class Draws:
    """What a bootstrap gave, so that two metrics of the same units can be compared draw by draw.

    Args:
        units: Equal where the same units were drawn in the same order.
    """

    values: Float[np.ndarray, " draws"]
    units: str

    def spread_from(self, other: Draws) -> float | None:
        """Standard deviation of the difference; None where other units were drawn."""
        if self.units != other.units:
            return None
        return float(np.nanstd(self.values - other.values))


@dataclass(frozen=True, slots=True)
class Metric:
    """A measured value.

    Args:
        chance: What a guess at random gives.
        n: Number of units judged.
        draws: Of the bootstrap, where it is at hand.
        text: What text alone gives, where that was measured.
        trivial: What features of the audio give that know no sound, likewise.
        prior: What the most frequent windows give, likewise.
    """

    value: float
    low: float
    high: float
    chance: float
    n: int
    draws: Draws | None = field(default=None, repr=False, compare=False)
    text: float | None = None
    trivial: float | None = None
    prior: float | None = None

    def to_json(self) -> dict[str, Any]:
        """As JSON values, without draws and what was not measured; NaN becomes null."""
        figures = {name: getattr(self, name) for name in ("value", "low", "high", "chance", "n")}
        baselines = {name: getattr(self, name) for name in ("text", "trivial", "prior")}
        figures |= {name: value for name, value in baselines.items() if value is not None}
        return {
            name: None if isinstance(value, float) and math.isnan(value) else value
            for name, value in figures.items()
        }


def measure(
    statistic: Statistic,
    count: int,
    groups: Int[np.ndarray, " units"] | None,
    chance: float,
    seed: int,
    resamples: int = RESAMPLES,
) -> Metric:
    """A statistic of units, with an interval from drawing whole groups anew.

    Of a single group the interval is the value alone, and tells nothing of how it may vary.

    Args:
        groups: Number of each unit's group; without, each stands alone.
    """
    if groups is not None and groups.shape != (count,):
        raise ValueError(f"groups has shape {groups.shape} for {count} units")
    if not count:
        return Metric(math.nan, math.nan, math.nan, chance, 0)
    numbers = np.arange(count) if groups is None else groups
    group = np.unique(numbers, return_inverse=True)[1].astype(np.int64)
    units = group.tobytes()
    drawing = _draw_once if count * resamples <= _KEPT else _draw
    drawn = [statistic(positions) for positions in drawing(units, seed, resamples)]
    low, high = np.nanpercentile(drawn, _ENDS)
    draws = Draws(np.array(drawn), digest(str(seed), units.hex()))
    return Metric(statistic(np.arange(count)), float(low), float(high), chance, count, draws)


def _draw(units: bytes, seed: int, resamples: int) -> Iterator[Positions]:
    """The positions of a bootstrap's units; `units` holds the number of each one's group."""
    group = np.frombuffer(units, dtype=np.int64)
    sizes = np.bincount(group)
    order = np.argsort(group, kind="stable")
    starts = np.cumsum(sizes) - sizes
    generator = np.random.Generator(np.random.Philox(seed))
    for _ in range(resamples):
        chosen = generator.integers(len(sizes), size=len(sizes))
        counts = sizes[chosen]
        # The members of group g are order[starts[g] : starts[g] + sizes[g]].
        places = np.arange(counts.sum()) + np.repeat(
            starts[chosen] - np.cumsum(counts) + counts, counts
        )
        yield order[places]


@lru_cache(maxsize=2)
def _draw_once(units: bytes, seed: int, resamples: int) -> tuple[Positions, ...]:
    """The same, kept: the metrics of a task are of the same units."""
    drawn = tuple(_draw(units, seed, resamples))
    for positions in drawn:
        positions.flags.writeable = False
    return drawn


def number_keys(keys: Sequence[str]) -> Int[np.ndarray, " keys"]:
    """Numbers that are equal where keys are equal, in the order in which they appear."""
    return np.asarray(pd.factorize(np.array(keys, dtype=object))[0])


def mean_of(points: np.ndarray) -> Statistic:
    """The mean of the points of units."""
    return lambda chosen: float(points[chosen].mean())


def check_similarity(similarity: np.ndarray, shape: tuple[int | None, ...]) -> None:
    """Refuse similarities of another shape (None stands for any size), or that are not finite."""
    fits = similarity.ndim == len(shape) and all(
        size is None or size == length for size, length in zip(shape, similarity.shape, strict=True)
    )
    if not fits:
        raise ValueError(f"similarities of shape {similarity.shape}, expected {shape}")
    if not np.isfinite(similarity).all():
        raise ValueError("similarities hold NaN or infinity")


def check_correct(similarity: np.ndarray, correct: np.ndarray) -> None:
    """Refuse a table of right items that is not of the similarities' shape."""
    if correct.shape != similarity.shape:
        raise ValueError(f"correct has shape {correct.shape}, similarity {similarity.shape}")
