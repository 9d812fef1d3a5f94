"""What can be told without listening, in figures with chance and an interval.

What is told apart is what a loss compares: each false sentence, and the true one that it stands
against.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
from jaxtyping import Bool, Float, Int

from synth.base.errors import CorpusError
from synth.base.rng import Randomness
from synth.corpus.schema import compared_with

FOLDS: Final = 5
"""A kind of edit is measured in so many groups or more."""
TRIPLETS: Final = "triplets"
"""In place of a kind of edit: the captions before, after and while of one group."""
MAIN: Final = "main"
"""The main caption beside all negatives of its sample, where some stand against others."""
POSITIVES: Final = "positives"
"""Further true captions beside the negatives."""
BARE: Final = "bare"
"""Main captions of samples that have negatives, beside those of samples that have none."""
_TRIPLET: Final = {"before": None, "after": None, "while": None}.keys()
_COLUMNS: Final = ("group", "split", "recipe", "relation", "caption", "positives", "negatives")
_RESAMPLES: Final = 1000


class TooFewGroupsError(CorpusError):
    """There are too few groups to learn from some and judge others."""


@dataclass(frozen=True, slots=True)
class ShortcutFigure:
    """One thing that a classifier tries.

    Args:
        split: Of which samples.
        kind: Of which negatives, "" for all; or `MAIN`, `POSITIVES`, `BARE`, `TRIPLETS`.
        measure: `pooled`: true or false, over all sentences of the samples. `own`, by text, and
            `fits`, by audio: the same over what is compared, each negative and the true sentence
            that it stands against. `member`: which of two such sentences is true? `first`: which of
            several, where more than one negative stands against one sentence?
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
class Shortcuts:
    """What text alone, or trivial audio, gives away, by split and kind of edit."""

    recipe: str
    figures: tuple[ShortcutFigure, ...]

    @property
    def worst(self) -> ShortcutFigure:
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
    """A true sentence and the false ones that stand against it in a sample, by their numbers."""

    group: int
    kind: str
    true: int
    false: tuple[int, ...]
    sample: int = 0


class Sentences(NamedTuple):
    """Sentences with labels, by their numbers among the texts."""

    texts: Int[np.ndarray, " sentences"]
    false: Bool[np.ndarray, " sentences"]
    groups: Int[np.ndarray, " sentences"]

    @classmethod
    def of(cls, items: Iterable[tuple[int, bool, int]]) -> Sentences:
        """Those of texts' numbers, labels and groups' numbers."""
        texts, false, groups = zip(*items, strict=True)
        return cls(np.array(texts), np.array(false), np.array(groups))

    @classmethod
    def of_rivals(cls, rivals: Iterable[RivalSet]) -> Sentences:
        """Each true sentence, and after it those that stand against it."""
        return cls.of(
            (number, is_false, rival.group)
            for rival in rivals
            for is_false, some in ((False, (rival.true,)), (True, rival.false))
            for number in some
        )


def measure_accuracy(
    split: str,
    kind: str,
    measure: str,
    right: Bool[np.ndarray, " sentences"],
    sentences: Sentences,
) -> ShortcutFigure:
    """Balanced: the mean of the shares of true and of false sentences that were told right."""
    false = sentences.false
    tallies = _tally(sentences.groups, right & false, false, right & ~false, ~false)

    def compute(sums: Float[np.ndarray, "... 4"]) -> Float[np.ndarray, ...]:
        return np.asarray((sums[..., 0] / sums[..., 1] + sums[..., 2] / sums[..., 3]) / 2)

    return _make_figure(split, kind, measure, tallies, compute, 0.5, len(right))


def measure_choices(
    split: str, kind: str, margins: Float[np.ndarray, " pairs"], rivals: Sequence[RivalSet]
) -> Iterator[ShortcutFigure]:
    """How often the true sentence looks truer than a false one, and than all that stand by it.

    Of one kind of edit only the first is measured: nothing chooses among negatives of a kind.
    Margins tell how much falser each false sentence looks than its true one, set after set.
    """
    pairs = pair_up(rivals)
    yield _measure_first(split, kind, "member", margins, pairs)
    if len(pairs) > len(rivals) and kind in ("", MAIN, TRIPLETS):
        yield _measure_first(split, kind, "first", margins, rivals)


def pair_up(rivals: Sequence[RivalSet]) -> list[RivalSet]:
    """A set for each false sentence."""
    return [rival._replace(false=(false,)) for rival in rivals for false in rival.false]


def _measure_first(
    split: str,
    kind: str,
    measure: str,
    margins: Float[np.ndarray, " pairs"],
    rivals: Sequence[RivalSet],
) -> ShortcutFigure:
    """How often the true sentence looks truest; among equals each does so in part."""
    ends = np.cumsum([len(rival.false) for rival in rivals])
    shares = np.array(
        [
            (some >= 0).all() / (1 + np.count_nonzero(some == 0))
            for some in np.split(margins, ends[:-1])
        ]
    )
    groups = np.array([rival.group for rival in rivals])
    tallies = _tally(groups, shares, np.ones(len(rivals)))
    chance = float(np.mean([1 / (1 + len(rival.false)) for rival in rivals]))

    def compute(sums: Float[np.ndarray, "... 2"]) -> Float[np.ndarray, ...]:
        return np.asarray(sums[..., 0] / sums[..., 1])

    return _make_figure(split, kind, measure, tallies, compute, chance, len(rivals))


def _tally(groups: Int[np.ndarray, " each"], *values: np.ndarray) -> Float[np.ndarray, "groups _"]:
    """Sums by group; groups without a value are left out."""
    _, numbers = np.unique(groups, return_inverse=True)
    return np.stack([np.bincount(numbers, weights=value) for value in values], axis=1)


def _make_figure(
    split: str,
    kind: str,
    measure: str,
    tallies: Float[np.ndarray, "groups sums"],
    compute: Callable[[np.ndarray], np.ndarray],
    chance: float,
    n: int,
) -> ShortcutFigure:
    rng = Randomness(0).at(f"blind/bootstrap/{split}/{kind}/{measure}", 0)
    drawn = rng.integers(len(tallies), size=(_RESAMPLES, len(tallies)))
    with np.errstate(invalid="ignore"):
        values = compute(np.stack([tallies[draw].sum(axis=0) for draw in drawn]))
    low, high = np.nanquantile(values, [0.025, 0.975])
    value = float(compute(tallies.sum(axis=0)))
    return ShortcutFigure(split, kind, measure, value, float(low), float(high), chance, n)


@dataclass(frozen=True)
class SplitSentences:
    """The sentences of one split.

    Args:
        pooled: What stands side by side without being paired: true and false ones (""), and so on.
        rivals: What a loss compares.
    """

    pooled: Mapping[str, Sentences]
    rivals: Sequence[RivalSet]

    @classmethod
    def of(cls, rows: Sequence[dict[str, Any]], numbers: dict[str, int]) -> SplitSentences:
        """Those of rows of a manifest; `numbers` are given to texts."""
        groups: dict[str, int] = defaultdict(lambda: len(groups))
        items: dict[str, list[tuple[int, bool, int]]] = {"": [], POSITIVES: [], BARE: []}
        rivals: dict[tuple[int, str, int], list[int]] = {}
        triplets: dict[str, dict[str, int]] = defaultdict(dict)
        for at, row in enumerate(rows):
            group, main = groups[row["group"]], numbers[row["caption"]]
            items[BARE].append((main, not row["negatives"], group))
            if not row["negatives"]:
                continue
            triplets[row["group"]][row["relation"]] = at
            true, false = (
                [(numbers[text["text"]], is_false, group) for text in row[name]]
                for name, is_false in (("positives", False), ("negatives", True))
            )
            items[""] += [(main, False, group), *true, *false]
            items[POSITIVES] += [*true, *false]
            for sentence, (number, *_) in zip(row["negatives"], false, strict=True):
                against = numbers[compared_with(sentence, row)]
                for kind in ("", sentence["kind"]):
                    rivals.setdefault((at, kind, against), []).append(number)
                rivals.setdefault((at, MAIN, main), []).append(number)
        if all(
            rivals.get((at, "", true)) == false
            for (at, kind, true), false in rivals.items()
            if kind == MAIN
        ):
            rivals = {key: false for key, false in rivals.items() if key[1] != MAIN}
        for members in triplets.values():
            for at in [members[name] for name in _TRIPLET] if members.keys() >= _TRIPLET else ():
                others = [numbers[rows[members[name]]["caption"]] for name in _TRIPLET]
                others.remove(numbers[rows[at]["caption"]])
                rivals[at, TRIPLETS, numbers[rows[at]["caption"]]] = others
        return cls(
            {
                kind: Sentences.of(some)
                for kind, some in items.items()
                if all(
                    len({group for _, is_false, group in some if is_false is side}) >= FOLDS
                    for side in (True, False)  # enough of either to learn from a part
                )
            },
            [
                RivalSet(groups[rows[at]["group"]], kind, true, tuple(false), at)
                for (at, kind, true), false in rivals.items()
            ],
        )

    @property
    def kinds(self) -> list[str]:
        """Of edits of which enough groups have some to learn from a part; "" for all first."""
        groups: dict[str, set[int]] = defaultdict(set)
        for rival in self.rivals:
            groups[rival.kind].add(rival.group)
        return sorted(kind for kind, some in groups.items() if len(some) >= FOLDS)

    def of_kind(self, kind: str) -> list[RivalSet]:
        """What is compared for one kind of edit."""
        return [rival for rival in self.rivals if rival.kind == kind]


@contextmanager
def one_thread() -> Iterator[None]:
    """Within it sklearn computes in this thread: those of OpenMP wait for one another.

    Beside other work they take many times as long.
    """
    import sklearn.ensemble  # noqa: F401  (what is loaded later is not limited)
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        yield


def draw_rows(
    path: Path, columns: Sequence[str], splits: Sequence[str], most_samples: int, seed: int
) -> tuple[str, dict[str, list[dict[str, Any]]]]:
    """The recipe, and the rows of some groups by split.

    Args:
        columns: Beside those of sentences.
        most_samples: Groups are drawn until they hold about so many.
    """
    chosen = pc.field("split").isin(splits) if splits else None
    table = pq.read_table(path, columns=[*_COLUMNS, *columns], filters=chosen)
    names = table.column("group").to_pylist()
    drawn = draw_groups(Counter(names), most_samples, "blind/groups", seed)
    kept = [number for number, name in enumerate(names) if name in drawn]
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in table.take(kept).to_pylist():
        rows.setdefault(row["split"], []).append(row)
    return table.column("recipe")[0].as_py() if len(table) else "", rows


def draw_groups(sizes: Mapping[str, int], most: int, name: str, seed: int) -> set[str]:
    """Groups that hold about so many members together, by chance."""
    groups = list(sizes)
    order = Randomness(seed).at(name, 0).permutation(len(groups))
    wanted = max(1, round(most * len(groups) / max(1, sum(sizes.values()))))
    return {groups[i] for i in order[:wanted]}
