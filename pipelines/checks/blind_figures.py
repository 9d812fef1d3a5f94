"""What text alone gives away, in figures: with chance, and intervals by bootstrap over groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from synth.base.rng import Randomness

_RESAMPLES: Final = 1000


@dataclass(frozen=True, slots=True)
class BlindFigure:
    """One thing that the classifier tries.

    Args:
        split: Of which samples.
        kind: Of which negatives, "" for all.
        measure: `pooled`: true or false, over all sentences of the samples. `own`: the same over
            what is compared, negatives and the true sentences that they stand against. `first`:
            is a true sentence taken for truer than all negatives that stand against it?
        value: Balanced accuracy, or share of true sentences that come first.
        low: Lower end of its 95 % interval, by bootstrap over groups.
        chance: What guessing gives.
        n: Sentences, or true sentences that are ranked.
    """

    split: str
    kind: str
    measure: str
    value: float
    low: float
    high: float
    chance: float
    n: int

    @property
    def excess(self) -> float:
        """How much better than chance it is."""
        return self.value - self.chance


@dataclass(frozen=True, slots=True)
class BlindResult:
    """What text alone gives away.

    Args:
        figures: By split and kind of edit.
    """

    recipe: str
    figures: tuple[BlindFigure, ...]

    @property
    def worst(self) -> BlindFigure:
        """The one that lies furthest above chance."""
        return max(self.figures, key=lambda figure: figure.excess)

    def to_json(self) -> dict[str, Any]:
        """As JSON values."""
        figures = [_round(asdict(figure)) for figure in self.figures]
        return {"recipe": self.recipe, "worst": _round(asdict(self.worst)), "figures": figures}


def _round(values: dict[str, Any]) -> dict[str, Any]:
    return {
        name: round(value, 4) if isinstance(value, float) else value
        for name, value in values.items()
    }


class RivalSet(NamedTuple):
    """A true sentence and the false ones that stand against it, by their numbers."""

    group: int
    kind: str
    true: int
    false: tuple[int, ...]


class Sentences(NamedTuple):
    """Sentences with labels, by their numbers among the texts."""

    texts: Int[np.ndarray, " sentences"]
    false: Bool[np.ndarray, " sentences"]
    groups: Int[np.ndarray, " sentences"]

    @classmethod
    def of(cls, told: Iterable[tuple[int, bool, int]]) -> Sentences:
        """Those of which the text's number, the label and the group's number are told."""
        texts, false, groups = zip(*told, strict=True)
        return cls(np.array(texts), np.array(false), np.array(groups))


def measure_accuracy(
    split: str,
    kind: str,
    measure: str,
    right: Bool[np.ndarray, " sentences"],
    sentences: Sentences,
) -> BlindFigure:
    """Balanced: the mean of the shares of true and of false sentences that were told right."""
    false = sentences.false
    tallies = _tally(sentences.groups, right & false, false, right & ~false, ~false)

    def compute(sums: Float[np.ndarray, "... 4"]) -> Float[np.ndarray, ...]:
        return np.asarray((sums[..., 0] / sums[..., 1] + sums[..., 2] / sums[..., 3]) / 2)

    return _make_figure(split, kind, measure, tallies, compute, 0.5, len(right))


def measure_first(
    split: str,
    kind: str,
    scores: Float[np.ndarray, " sentences"],
    compared: Sequence[RivalSet],
) -> BlindFigure:
    """How often the true sentence looks truest; among equals each does so in part."""
    shares, at = np.zeros(len(compared)), 0
    for number, each in enumerate(compared):
        own, others = scores[at], scores[at + 1 : at + 1 + len(each.false)]
        at += 1 + len(each.false)
        if (others >= own).all():
            shares[number] = 1 / (1 + (others == own).sum())
    groups = np.array([each.group for each in compared])
    tallies = _tally(groups, shares, np.ones(len(compared)))
    chance = float(np.mean([1 / (1 + len(each.false)) for each in compared]))

    def compute(sums: Float[np.ndarray, "... 2"]) -> Float[np.ndarray, ...]:
        return np.asarray(sums[..., 0] / sums[..., 1])

    return _make_figure(split, kind, "first", tallies, compute, chance, len(compared))


def _tally(groups: Int[np.ndarray, " each"], *values: np.ndarray) -> Float[np.ndarray, "groups _"]:
    """Sums by group; groups without a value are left out."""
    _, numbers = np.unique(groups, return_inverse=True)
    return np.stack([np.bincount(numbers, weights=each) for each in values], axis=1)


def _make_figure(
    split: str,
    kind: str,
    measure: str,
    tallies: Float[np.ndarray, "groups sums"],
    compute: Callable[[np.ndarray], np.ndarray],
    chance: float,
    n: int,
) -> BlindFigure:
    rng = Randomness(0).at(f"blind/bootstrap/{split}/{kind}/{measure}", 0)
    drawn = rng.integers(len(tallies), size=(_RESAMPLES, len(tallies)))
    with np.errstate(invalid="ignore"):
        values = compute(np.stack([tallies[each].sum(axis=0) for each in drawn]))
    low, high = np.nanquantile(values, [0.025, 0.975])
    value = float(compute(tallies.sum(axis=0)))
    return BlindFigure(split, kind, measure, value, float(low), float(high), chance, n)
