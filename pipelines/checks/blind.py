"""The blind test: can a classifier tell true captions from false ones without hearing anything?

If it can, a model may learn to do the same instead of listening. What is told apart is what a loss
compares: each false sentence, and the true one that it stands against. Logistic regression over
words, word pairs, character n-grams and length, cross-validated so that a minimal-pair group is
never on both sides.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import pyarrow.parquet as pq
from jaxtyping import Bool, Float, Int

from pipelines.checks.exported import read_identity, read_lines
from pipelines.store.places import find_manifest
from synth.base.errors import CorpusError, SpecError
from synth.base.progress import Observer, Silent
from synth.base.rng import Randomness
from synth.corpus.schema import compared_with

# What text alone gives away, in figures: with chance, and intervals by bootstrap over groups.


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


def _measure_accuracy(
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


def _measure_first(
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


FOLDS: Final = 5
_COLUMNS: Final = ("group", "split", "recipe", "caption", "positives", "negatives")


def run_blind_test(
    path: Path, most_samples: int, seed: int = 0, observer: Observer | None = None
) -> BlindResult:
    """Try to tell a corpus's true captions from its false ones by their text alone.

    Args:
        path: As `find_manifest` takes it.
        most_samples: Groups are drawn until they hold about this many samples.
    """
    recipe, rows = _draw_rows(find_manifest(path), most_samples, seed)
    numbers: dict[str, int] = defaultdict(lambda: len(numbers))
    parts = {split: SplitSentences.of(each, numbers) for split, each in rows.items()}
    figures = _measure_parts(path, parts, [*numbers], seed, observer or Silent())
    return BlindResult(recipe, figures)


def _measure_parts(
    path: Path,
    parts: Mapping[str, SplitSentences],
    texts: Sequence[str],
    seed: int,
    observer: Observer,
) -> tuple[BlindFigure, ...]:
    """What a classifier tells of sentences by their text alone.

    Args:
        path: Where they are from, for an error.
    """
    tasks = [
        (split, part, kind)
        for split, part in parts.items()
        for kind in part.kinds
        if part.has_groups(kind)
    ]
    if not tasks:
        raise CorpusError(
            f"{path}: the blind test needs {FOLDS} groups or more, with true and false captions"
        )
    observer.start("blind", len(tasks), "comparisons")
    classify = _Classifier(texts, seed)
    figures: list[BlindFigure] = []
    for split, part, kind in tasks:
        figures += part.measure(split, kind, classify)
        observer.advance("blind")
    observer.finish("blind", f"{len(figures)} figures")
    return tuple(figures)


def _draw_rows(
    path: Path, most_samples: int, seed: int
) -> tuple[str, dict[str, list[dict[str, Any]]]]:
    """The recipe, and the rows of some groups by split."""
    table = pq.read_table(path, columns=list(_COLUMNS))
    names = table.column("group").to_pylist()
    chosen = _draw_groups(Counter(names), most_samples, "blind/groups", seed)
    kept = [number for number, name in enumerate(names) if name in chosen]
    rows: dict[str, list[dict[str, Any]]] = {}
    for row in table.take(kept).to_pylist():
        rows.setdefault(row["split"], []).append(row)
    return table.column("recipe")[0].as_py() if len(table) else "", rows


def _draw_groups(sizes: Mapping[str, int], most: int, name: str, seed: int) -> set[str]:
    """Groups that hold about so many members together, by chance."""
    groups = list(sizes)
    order = Randomness(seed).at(name, 0).permutation(len(groups))
    wanted = max(1, round(most * len(groups) / max(1, sum(sizes.values()))))
    return {groups[i] for i in order[:wanted]}


@dataclass(frozen=True)
class SplitSentences:
    """The sentences of one split.

    Args:
        every: All of them.
        compared: What a loss compares.
    """

    every: Sentences | None
    compared: Sequence[RivalSet]

    @classmethod
    def of(cls, rows: Sequence[dict[str, Any]], numbers: dict[str, int]) -> SplitSentences:
        """Those of rows of a manifest; `numbers` are given to texts."""
        groups: dict[str, int] = defaultdict(lambda: len(groups))
        told: list[tuple[int, bool, int]] = []
        compared: dict[tuple[int, str, int], list[int]] = {}
        for at, row in enumerate(rows):
            if not row["negatives"]:
                continue
            group = groups[row["group"]]
            true = [row["caption"], *(sentence["text"] for sentence in row["positives"])]
            told += [(numbers[text], False, group) for text in true]
            for sentence in row["negatives"]:
                number = numbers[sentence["text"]]
                told.append((number, True, group))
                against = numbers[compared_with(sentence, row)]
                for kind in ("", sentence["kind"]):
                    compared.setdefault((at, kind, against), []).append(number)
        found = [
            RivalSet(groups[rows[at]["group"]], kind, true, tuple(false))
            for (at, kind, true), false in compared.items()
        ]
        return cls(Sentences.of(told) if told else None, found)

    @property
    def kinds(self) -> list[str]:
        """Of edits; "" for all comes first."""
        return sorted({each.kind for each in self.compared})

    def has_groups(self, kind: str) -> bool:
        """Whether there are enough to learn from some and judge others."""
        return len({each.group for each in self.compared if each.kind == kind}) >= FOLDS

    def measure(self, split: str, kind: str, classify: _Classifier) -> Iterator[BlindFigure]:
        """What the classifier tells of one kind of edit."""
        if not kind and self.every is not None:
            told = classify.score(self.every) > 0
            yield _measure_accuracy(split, kind, "pooled", told == self.every.false, self.every)
        compared = [each for each in self.compared if each.kind == kind]
        sentences = Sentences.of(
            (number, is_false, each.group)
            for each in compared
            for is_false, some in ((False, (each.true,)), (True, each.false))
            for number in some
        )
        scores = classify.score(sentences)
        yield _measure_accuracy(split, kind, "own", (scores > 0) == sentences.false, sentences)
        yield _measure_first(split, kind, scores, compared)


class _Classifier:
    """Learns to tell sentences apart, and judges those of groups that it has not seen."""

    def __init__(self, texts: Sequence[str], seed: int) -> None:
        self._features = _make_features().fit_transform(texts).tocsr()
        self._seed = seed

    def score(self, sentences: Sentences) -> Float[np.ndarray, " sentences"]:
        """How false each sentence looks; above 0 more so than true."""
        from sklearn.linear_model import LogisticRegression
        from sklearn.model_selection import GroupKFold

        scores = np.zeros(len(sentences.texts))
        folds = GroupKFold(FOLDS, shuffle=True, random_state=self._seed % 2**32)
        for learned, judged in folds.split(sentences.texts, None, sentences.groups):
            if len(set(sentences.false[learned].tolist())) < 2:
                continue
            model = LogisticRegression(C=1.0, class_weight="balanced", max_iter=300)
            model.fit(self._features[sentences.texts[learned]], sentences.false[learned])
            scores[judged] = model.decision_function(self._features[sentences.texts[judged]])
        return scores


def _make_features() -> Any:
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.pipeline import FeatureUnion, make_pipeline
    from sklearn.preprocessing import FunctionTransformer, StandardScaler

    return FeatureUnion(
        [
            ("words", TfidfVectorizer(ngram_range=(1, 2), token_pattern=r"\S+", min_df=3)),
            ("characters", TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), min_df=5)),
            ("length", make_pipeline(FunctionTransformer(_measure_lengths), StandardScaler())),
        ]
    )


def _measure_lengths(texts: list[str]) -> np.ndarray:
    return np.array([[len(text), len(text.split())] for text in texts], dtype=np.float64)


# The blind test of an export: are right answers told from wrong ones without any audio?


def run_blind_export(
    out: Path, most_lines: int, seed: int = 0, observer: Observer | None = None
) -> BlindResult:
    """Try to tell right answers from wrong ones by the texts of an export of chat or preferences.

    What is compared are a prompt with its right answer, and the same with its wrong one, by kind.
    In a conversation what was said before stands before it.

    Args:
        most_lines: Groups are drawn until they hold about this many lines of a split.
    """
    refuse_no_answers(out)
    identity = read_identity(out)
    numbers: dict[str, int] = defaultdict(lambda: len(numbers))
    parts = {
        split: SplitSentences(
            None, list(_compare(_draw_lines(out / f"{split}.jsonl", most_lines, seed), numbers))
        )
        for split in identity["splits"]
    }
    if not any(part.compared for part in parts.values()):
        raise CorpusError(f"{out}: no line has a wrong answer", fix="export a corpus of groups")
    figures = _measure_parts(out, parts, [*numbers], seed, observer or Silent())
    return BlindResult(identity["format"], figures)


def refuse_no_answers(out: Path) -> None:
    """Check that an export has wrong answers beside the right ones."""
    name = read_identity(out)["format"]
    if name not in ("chat", "preference"):
        raise SpecError(
            f"{out}: exports as {name} have no wrong answers by themselves",
            fix="give --blind for chat or preference, or for the corpus",
        )


def _draw_lines(path: Path, most_lines: int, seed: int) -> list[dict[str, Any]]:
    """The lines of some groups."""
    sizes = Counter(row["group"] for _, row in read_lines(path))
    chosen = _draw_groups(sizes, most_lines, "blind/export", seed)
    return [row for _, row in read_lines(path) if row["group"] in chosen]


def _compare(rows: list[dict[str, Any]], numbers: dict[str, int]) -> Iterator[RivalSet]:
    """Each right answer and its wrong one; each counts for its kind, and among all.

    Both sides of a contrast count for one group: else a classifier would learn from one what is
    not so of the other. None counts whose other side was not drawn.
    """
    groups: dict[str, int] = defaultdict(lambda: len(groups))
    known = {row["samples"][0]: row["group"] for row in rows if "proofs" in row}
    for row in rows:
        earlier = ""
        for place, proof in enumerate(row.get("proofs") or [row["proof"]]):
            said = f"{earlier}{proof['prompt']} "
            group = known.get(min((*proof["samples"], *proof["others"])), row["group"])
            is_whole = not known or known.keys() >= {*proof["others"]}
            if proof["wrong"] and is_whole:
                pair = numbers[said + proof["answer"]], numbers[said + proof["wrong"]]
                for kind in ("", "later turns" if place else proof["kind"]):
                    yield RivalSet(groups[group], kind, pair[0], (pair[1],))
            earlier = f"{said}{proof['answer']} "
