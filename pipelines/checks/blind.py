"""The blind test: can a classifier tell true captions from false ones without hearing anything?

If it can, a model may learn to do the same instead of listening (the published template generator's
captions are told apart in 58 % of cases). Logistic regression over words, word pairs, character
n-grams and length, cross-validated so that a minimal-pair group is never on both sides.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow.parquet as pq

from pipelines.store.manifest import find_manifest
from synth.base.errors import CorpusError
from synth.base.progress import Observer, Silent, track
from synth.base.rng import Randomness

FOLDS: Final = 5
_RESAMPLES: Final = 1000


@dataclass(frozen=True, slots=True)
class BlindResult:
    """Balanced accuracy of the classifier.

    Args:
        value: Mean of the shares of true and of false captions that were told right.
        low: Lower end of its 95 % interval, by bootstrap over groups.
        high: Upper end.
        n: Sentences.
        chance: What guessing gives.
    """

    value: float
    low: float
    high: float
    n: int
    chance: float = 0.5


def run_blind_test(
    path: Path, most_samples: int, seed: int = 0, observer: Observer | None = None
) -> BlindResult:
    """Try to tell a corpus's true captions from its false ones by their text alone.

    Args:
        path: As `find_manifest` takes it.
        most_samples: Groups are drawn until they hold about this many samples.
        seed: Of the draw, the folds and the bootstrap.
        observer: Told of the progress.

    Raises:
        CorpusError: If there are too few groups with captions of both kinds.
    """
    texts, false, groups = _draw_sentences(find_manifest(path), most_samples, seed)
    if len(set(groups.tolist())) < FOLDS or len(set(false.tolist())) < 2:
        raise CorpusError(
            f"{path}: the blind test needs {FOLDS} groups or more, with true and false captions"
        )
    right = _predict(texts, false, groups, seed, observer or Silent()) == false
    low, high = _estimate_interval(right, false, groups, Randomness(seed).at("blind/bootstrap", 0))
    return BlindResult(_compute_balanced_accuracy(right, false), low, high, len(texts))


def _draw_sentences(
    rows: Path, most_samples: int, seed: int
) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Texts, whether each is false, and its group's number."""
    table = pq.read_table(rows, columns=["group", "caption", "positives", "negatives"])
    names = table.column("group").to_pylist()
    order = list(dict.fromkeys(names))
    shuffled = Randomness(seed).at("blind/groups", 0).permutation(len(order))
    wanted = max(1, round(most_samples * len(order) / max(1, len(names))))
    chosen = {order[i]: number for number, i in enumerate(shuffled[:wanted])}
    texts: list[str] = []
    false: list[bool] = []
    groups: list[int] = []
    for row in table.to_pylist():
        if row["group"] not in chosen or not row["negatives"]:
            continue
        true = [row["caption"], *(sentence["text"] for sentence in row["positives"])]
        wrong = [sentence["text"] for sentence in row["negatives"]]
        texts += true + wrong
        false += [False] * len(true) + [True] * len(wrong)
        groups += [chosen[row["group"]]] * (len(true) + len(wrong))
    return texts, np.array(false), np.array(groups)


def _predict(
    texts: list[str], false: np.ndarray, groups: np.ndarray, seed: int, observer: Observer
) -> np.ndarray:
    from sklearn.base import clone
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GroupKFold
    from sklearn.pipeline import make_pipeline

    classifier: Any = make_pipeline(
        _make_features(), LogisticRegression(C=1.0, class_weight="balanced", max_iter=300)
    )
    folds = GroupKFold(FOLDS, shuffle=True, random_state=seed % 2**32)
    predicted = np.zeros_like(false)
    parts = list(folds.split(texts, false, groups))
    for learned, judged in track(parts, observer, "blind", "folds"):
        fitted = clone(classifier).fit([texts[i] for i in learned], false[learned])
        predicted[judged] = fitted.predict([texts[i] for i in judged])
    return predicted


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


def _compute_balanced_accuracy(right: np.ndarray, false: np.ndarray) -> float:
    return float((right[false].mean() + right[~false].mean()) / 2)


def _estimate_interval(
    right: np.ndarray, false: np.ndarray, groups: np.ndarray, rng: np.random.Generator
) -> tuple[float, float]:
    count = int(groups.max()) + 1
    tallies = np.stack(
        [
            np.bincount(groups, weights=each, minlength=count)
            for each in (
                right & false,
                false,
                right & ~false,
                ~false,
            )
        ]
    )
    drawn = rng.integers(count, size=(_RESAMPLES, count))
    sums = np.stack([tallies[:, each].sum(axis=1) for each in drawn])
    values = (sums[:, 0] / sums[:, 1] + sums[:, 2] / sums[:, 3]) / 2
    low, high = np.quantile(values, [0.025, 0.975])
    return float(low), float(high)
