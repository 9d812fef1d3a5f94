"""Retrieval against loops and scikit-learn, on matrices with ties."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score, top_k_accuracy_score

from tests.kit.rankings import coarse, ranking, some_right
from train.bench.metrics import (
    Metric,
    retrieval,
    subset_retrieval,
)

SEEDS = range(4)


# Retrieval


@pytest.mark.parametrize("seed", SEEDS)
def test_map_at_10_agrees_with_a_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    similarity, correct = coarse(rng, 9, 23), some_right(rng, 9, 23)
    expected = []
    for row, right in zip(similarity, correct, strict=True):
        hits, total = 0, 0.0
        for place, item in enumerate(ranking(row, right)[:10], start=1):
            if right[item]:
                hits += 1
                total += hits / place
        expected.append(total / min(sum(right), 10))
    assert retrieval(similarity, correct)["map10"].value == pytest.approx(np.mean(expected))


@pytest.mark.parametrize("seed", SEEDS)
def test_map_agrees_with_scikit_learn_where_ten_places_hold_everything(seed: int) -> None:
    rng = np.random.default_rng(seed)
    similarity, correct = coarse(rng, 9, 8), some_right(rng, 9, 8)
    expected = []
    for row, right in zip(similarity, correct, strict=True):
        # scikit-learn takes tied items together; so the ties are first broken as we break them.
        untied = np.empty(8)
        untied[ranking(row, right)] = np.arange(8, 0, -1)
        expected.append(average_precision_score(right, untied))
    assert retrieval(similarity, correct)["map10"].value == pytest.approx(np.mean(expected))


@pytest.mark.parametrize("seed", SEEDS)
def test_recall_of_one_right_item_is_scikit_learns_top_k_accuracy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    similarity, target = rng.random((40, 30)), rng.integers(0, 30, 40)
    found = retrieval(similarity, np.eye(30, dtype=bool)[target])
    for k in (1, 5, 10):
        expected = top_k_accuracy_score(target, similarity, k=k, labels=np.arange(30))
        assert found[f"r{k}"].value == pytest.approx(expected)


@pytest.mark.parametrize(("right", "items"), [([1], 30), ([3, 1], 14), ([5], 7), ([12], 15)])
def test_chance_of_map_is_that_of_random_rankings(right: list[int], items: int) -> None:
    correct = np.arange(items)[None, :] < np.array(right)[:, None]
    chance = retrieval(np.zeros((len(right), items)), correct)["map10"].chance
    rng = np.random.default_rng(0)
    many = np.tile(correct, (1500, 1))
    drawn = retrieval(rng.random(many.shape), many)["map10"]
    assert drawn.low - 0.01 <= chance <= drawn.high + 0.01


def test_an_audio_with_several_captions_counts_its_best_one() -> None:
    # Two audios, two captions each; the second caption of audio 0 is the nearest of all.
    similarity = np.array([[0.1, 0.9, 0.5, 0.2], [0.3, 0.8, 0.7, 0.6]])
    correct = np.array([[True, True, False, False], [False, False, True, True]])
    assert retrieval(similarity, correct)["r1"].value == 0.5
    back = retrieval(similarity.T, correct.T)
    assert back["r1"].value == pytest.approx(3 / 4)
    assert back["r1"].chance == 0.5


@pytest.mark.parametrize("seed", SEEDS)
def test_subsets_are_the_mean_of_retrieval_in_each(seed: int) -> None:
    rng = np.random.default_rng(seed)
    owner = np.repeat(np.arange(20), 2)
    similarity, correct = coarse(rng, 20, 40), np.arange(20)[:, None] == owner[None, :]
    found = subset_retrieval(similarity, correct, size=8, subsets=3, seed=seed)
    generator = np.random.Generator(np.random.Philox(seed))
    values: dict[str, list[Metric]] = {}
    for _ in range(3):
        rows = np.sort(generator.permutation(20)[:8])
        columns = np.flatnonzero(np.isin(owner, rows))
        part, right = similarity[np.ix_(rows, columns)], correct[np.ix_(rows, columns)]
        for way, one in (
            ("audio_to_text", retrieval(part, right)),
            ("text_to_audio", retrieval(part.T, right.T)),
        ):
            for name, metric in one.items():
                values.setdefault(f"{way} {name}", []).append(metric)
    for key, metrics in values.items():
        way, name = key.split()
        got = found[way][name]
        assert got.value == pytest.approx(np.mean([metric.value for metric in metrics]))
        assert got.chance == pytest.approx(np.mean([metric.chance for metric in metrics]))
        assert got.low <= got.value <= got.high


def test_a_subset_of_everything_is_retrieval() -> None:
    rng = np.random.default_rng(3)
    similarity, correct = rng.random((12, 12)), np.eye(12, dtype=bool)
    found = subset_retrieval(similarity, correct, size=12, subsets=2)
    whole = retrieval(similarity, correct)
    for name, metric in whole.items():
        assert found["audio_to_text"][name].value == pytest.approx(metric.value)
        assert found["audio_to_text"][name].low == pytest.approx(metric.low)
    assert found == subset_retrieval(similarity, correct, size=12, subsets=2)
    with pytest.raises(ValueError, match="13 of 12"):
        subset_retrieval(similarity, correct, size=13)
