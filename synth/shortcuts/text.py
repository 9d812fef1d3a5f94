"""The blind test: can a classifier tell true captions from false ones without hearing anything?

If it can, a model may learn to do the same instead of listening. Logistic regression over words,
word pairs, character n-grams and length, cross-validated so that a minimal-pair group is never on
both sides.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float

from synth.base.progress import UNOBSERVED, Observer
from synth.shortcuts.figures import (
    FOLDS,
    Sentences,
    ShortcutFigure,
    Shortcuts,
    SplitSentences,
    TooFewGroupsError,
    draw_rows,
    measure_accuracy,
    measure_choices,
    one_thread,
    pair_up,
)


def run_blind_test(
    manifest: Path,
    most_samples: int,
    seed: int = 0,
    observer: Observer = UNOBSERVED,
    splits: Sequence[str] = (),
) -> Shortcuts:
    """Try to tell a corpus's true captions from its false ones by their text alone.

    Args:
        manifest: `samples.parquet` or `plan.parquet`.
        most_samples: Groups are drawn until they hold about this many samples.
        splits: Those to judge, each by itself; all of them by default.
    """
    recipe, rows = draw_rows(manifest, (), splits, most_samples, seed)
    numbers: dict[str, int] = defaultdict(lambda: len(numbers))
    parts = {split: SplitSentences.of(some, numbers) for split, some in rows.items()}
    return Shortcuts(recipe, measure_texts(manifest, parts, [*numbers], seed, observer))


def measure_texts(
    path: Path,
    parts: Mapping[str, SplitSentences],
    texts: Sequence[str],
    seed: int,
    observer: Observer,
) -> tuple[ShortcutFigure, ...]:
    """What a classifier tells of sentences by their text alone; `path` is where they are from."""
    pooled = [(split, *some) for split, part in parts.items() for some in part.pooled.items()]
    tasks = [(split, part, kind) for split, part in parts.items() for kind in part.kinds]
    if not tasks:
        raise TooFewGroupsError(
            f"{path}: the blind test needs {FOLDS} groups or more, with true and false captions"
        )
    observer.start("blind", len(pooled) + len(tasks), "comparisons")
    classifier = _TextClassifier(texts, seed)
    figures: list[ShortcutFigure] = []
    for split, kind, sentences in pooled:
        right = (classifier.score(sentences) > 0) == sentences.false
        figures.append(measure_accuracy(split, kind, "pooled", right, sentences))
        observer.advance("blind")
    for split, part, kind in tasks:
        figures += _measure(split, part, kind, classifier)
        observer.advance("blind")
    observer.finish("blind", f"{len(figures)} figures")
    return tuple(figures)


def _measure(
    split: str, part: SplitSentences, kind: str, classifier: _TextClassifier
) -> Iterator[ShortcutFigure]:
    rivals = part.of_kind(kind)
    sentences = Sentences.of_rivals(pair_up(rivals))
    scores = classifier.score(sentences)
    yield measure_accuracy(split, kind, "own", (scores > 0) == sentences.false, sentences)
    margins = scores[sentences.false] - scores[~sentences.false]
    yield from measure_choices(split, kind, margins, rivals)


class _TextClassifier:
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
        with one_thread():
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
