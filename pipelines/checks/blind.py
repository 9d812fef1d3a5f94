"""The blind test: can a classifier tell true captions from false ones without hearing anything?

If it can, a model may learn to do the same instead of listening. What is told apart is what a loss
compares: each false sentence, and the true one that it stands against. Logistic regression over
words, word pairs, character n-grams and length, cross-validated so that a minimal-pair group is
never on both sides.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow.parquet as pq
from jaxtyping import Float

from pipelines.checks.blind_figures import (
    BlindFigure,
    BlindResult,
    RivalSet,
    Sentences,
    measure_accuracy,
    measure_first,
)
from pipelines.store.manifest import find_manifest
from synth.base.errors import CorpusError
from synth.base.progress import Observer, Silent
from synth.base.rng import Randomness
from synth.corpus.schema import compared_with

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
    observer = observer or Silent()
    recipe, rows = _draw_rows(find_manifest(path), most_samples, seed)
    numbers: dict[str, int] = defaultdict(lambda: len(numbers))
    parts = {split: SplitSentences.of(each, numbers) for split, each in rows.items()}
    figures = measure_parts(path, parts, [*numbers], seed, observer)
    return BlindResult(recipe, figures)


def measure_parts(
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
    order = list(dict.fromkeys(names))
    shuffled = Randomness(seed).at("blind/groups", 0).permutation(len(order))
    wanted = max(1, round(most_samples * len(order) / max(1, len(names))))
    chosen = {order[i] for i in shuffled[:wanted]}
    kept = [number for number, name in enumerate(names) if name in chosen]
    found: dict[str, list[dict[str, Any]]] = {}
    for row in table.take(kept).to_pylist():
        found.setdefault(row["split"], []).append(row)
    recipe = table.column("recipe")[0].as_py() if len(table) else ""
    return recipe, found


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
            yield measure_accuracy(split, kind, "pooled", told == self.every.false, self.every)
        compared = [each for each in self.compared if each.kind == kind]
        sentences = Sentences.of(
            (number, is_false, each.group)
            for each in compared
            for is_false, some in ((False, (each.true,)), (True, each.false))
            for number in some
        )
        scores = classify.score(sentences)
        yield measure_accuracy(split, kind, "own", (scores > 0) == sentences.false, sentences)
        yield measure_first(split, kind, scores, compared)


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
