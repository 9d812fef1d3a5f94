"""Choices, classification and CompA against loops, enumerations and scikit-learn."""

from __future__ import annotations

import math
from itertools import combinations, permutations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from tests.kit.rankings import coarse, ranking
from train.bench.metrics import (
    choose_one,
    choose_two,
    class_embeddings,
    compa,
    mean_average_precision,
    pair_accuracy,
    retrieval,
)
from train.bench.metrics.choice import CHANCES
from train.bench.metrics.retrieval import Ranked

SEEDS = range(4)


@pytest.mark.parametrize("seed", SEEDS)
def test_top_1_shares_the_point_between_tied_classes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    similarity, target = coarse(rng, 30, 6), rng.integers(0, 6, 30)
    points = []
    for row, right in zip(similarity, target, strict=True):
        best = [option for option in range(6) if row[option] == max(row)]
        points.append((right in best) / len(best))
    metric = choose_one(similarity, np.eye(6, dtype=bool)[target])
    assert metric.value == pytest.approx(np.mean(points))
    assert metric.chance == pytest.approx(1 / 6)


@pytest.mark.parametrize("seed", SEEDS)
def test_two_choices_agree_with_every_way_to_break_the_ties(seed: int) -> None:
    rng = np.random.default_rng(seed)
    similarity = coarse(rng, 25, 6)
    right = [rng.choice(6, 2, replace=False) for _ in similarity]
    correct = np.zeros((25, 6), dtype=bool)
    strict, half, either = [], [], []
    for row, pair, line in zip(similarity, right, correct, strict=True):
        line[pair] = True
        best = max(sum(row[list(two)]) for two in combinations(range(6), 2))
        ways = [two for two in combinations(range(6), 2) if sum(row[list(two)]) == best]
        counts = [len(set(two) & set(pair.tolist())) for two in ways]
        strict.append(np.mean([count == 2 for count in counts]))
        half.append(np.mean(counts) / 2)
        either.append(np.mean([count > 0 for count in counts]))
    found = choose_two(similarity, correct)
    assert found["strict"].value == pytest.approx(np.mean(strict))
    assert found["half_credit"].value == pytest.approx(np.mean(half))
    assert found["any"].value == pytest.approx(np.mean(either))


@pytest.mark.parametrize("options", [2, 3, 4, 50])
def test_a_model_to_which_all_is_alike_scores_chance(options: int) -> None:
    correct = np.zeros((7, options), dtype=bool)
    correct[:, :2] = True
    for metric in choose_two(np.zeros((7, options)), correct).values():
        assert metric.value == pytest.approx(metric.chance)
    one = choose_one(np.zeros((7, options)), correct)
    assert one.value == pytest.approx(one.chance)


def test_chance_levels_of_zste_are_those_of_the_paper() -> None:
    correct = np.zeros((1, 50), dtype=bool)
    correct[:, [3, 30]] = True
    among_50 = choose_two(np.zeros((1, 50)), correct)
    assert among_50["strict"].chance == pytest.approx(0.00082, abs=5e-6)
    assert among_50["any"].chance == pytest.approx(0.079, abs=5e-4)
    among_4 = choose_two(np.zeros((1, 4)), correct[:, 3:35:9] | (np.arange(4) < 1))
    assert among_4["strict"].chance == pytest.approx(1 / 6)


@pytest.mark.parametrize("seed", SEEDS)
def test_multi_label_map_agrees_with_scikit_learn(seed: int) -> None:
    rng = np.random.default_rng(seed)
    similarity, correct = coarse(rng, 30, 5), rng.random((30, 5)) < 0.3
    correct[:, 4] = False
    expected = []
    for column, right in zip(similarity.T[:4], correct.T[:4], strict=True):
        untied = np.empty(30)
        untied[ranking(column, right)] = np.arange(30, 0, -1)
        expected.append(average_precision_score(right, untied))
    metric = mean_average_precision(similarity, correct)
    assert metric.value == pytest.approx(np.mean(expected))
    assert metric.low <= metric.value <= metric.high
    without_ties = rng.random((30, 5))
    assert mean_average_precision(without_ties, correct).value == pytest.approx(
        average_precision_score(correct[:, :4], without_ties[:, :4], average="macro")
    )


def test_chance_of_multi_label_map_is_that_of_random_scores() -> None:
    rng = np.random.default_rng(0)
    correct = np.zeros((12, 2), dtype=bool)
    correct[:1, 0] = correct[:5, 1] = True
    chance = mean_average_precision(np.zeros((12, 2)), correct).chance
    drawn = [
        average_precision_score(correct, rng.random((12, 2)), average="macro") for _ in range(1000)
    ]
    assert chance == pytest.approx(np.mean(drawn), abs=0.02)


def test_a_class_is_the_mean_of_its_prompts() -> None:
    embedded = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]])
    found = class_embeddings(embedded)
    np.testing.assert_allclose(found, [[math.sqrt(0.5), math.sqrt(0.5)], [0, 1]])
    with pytest.raises(ValueError, match="cancel"):
        class_embeddings(np.array([[[1.0, 0.0], [-1.0, 0.0]]]))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_bootstrap_draw_is_judged_as_the_items_it_repeats(seed: int) -> None:
    rng = np.random.default_rng(seed)
    similarity, correct = coarse(rng, 20, 4), rng.random((20, 4)) < 0.2
    correct[0] = True
    chosen = rng.integers(0, 20, 20)
    drawn = Ranked.of(similarity, correct).mean_average_precision(chosen)
    repeated = mean_average_precision(similarity[chosen], correct[chosen])
    assert drawn == pytest.approx(repeated.value)


# CompA


@pytest.mark.parametrize("seed", SEEDS)
def test_compa_agrees_with_a_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pairs, triplets = coarse(rng, 40, 2, 2), coarse(rng, 15, 3, 3)
    threefold = rng.choice(40, 15, replace=False)

    def scores(block: np.ndarray) -> tuple[bool, bool, bool]:
        k = range(len(block))
        text = all(block[m, m] > block[m, other] for m in k for other in k if other != m)
        audio = all(block[m, m] > block[other, m] for m in k for other in k if other != m)
        return text, audio, text and audio

    found = compa(pairs, triplets, threefold)
    whole = {number: scores(block) for number, block in enumerate(pairs)}
    two = np.mean(list(whole.values()), axis=0)
    three = np.mean([scores(block) for block in triplets], axis=0)
    whole |= {int(at): scores(block) for at, block in zip(threefold, triplets, strict=True)}
    every = np.mean(list(whole.values()), axis=0)
    for number, score in enumerate(("text", "audio", "group")):
        assert found[f"pairs_{score}"].value == pytest.approx(two[number])
        assert found[f"triplets_{score}"].value == pytest.approx(three[number])
        assert found[f"all_{score}"].value == pytest.approx(every[number])
        assert found[f"all_{score}"].n == 40


@pytest.mark.parametrize("k", [2, 3])
def test_compa_chance_counts_every_order_of_the_similarities(k: int) -> None:
    orders = np.array(list(permutations(range(k * k)))).reshape(-1, k, k)
    own = np.diagonal(orders, axis1=1, axis2=2)
    text = (orders.max(axis=2) == own).all(axis=1)
    audio = (orders.max(axis=1) == own).all(axis=1)
    found = {"text": text.mean(), "audio": audio.mean(), "group": (text & audio).mean()}
    assert found == pytest.approx(CHANCES[k])


def test_compa_chance_of_all_is_the_papers_random_row() -> None:
    found = compa(np.zeros((400, 2, 2)), np.zeros((100, 3, 3)), np.arange(100))
    assert found["all_text"].chance == pytest.approx(0.197, abs=5e-4)
    # A tie fails: the scores are strict.
    assert found["all_text"].value == found["pairs_group"].value == 0


# Empties, faults, and pairs


def test_nothing_to_judge_is_nan() -> None:
    none = np.zeros((0, 5), dtype=bool)
    for metric in (
        pair_accuracy(np.zeros((0, 2))),
        choose_one(np.zeros((0, 5)), none),
        *choose_two(np.zeros((0, 5)), none).values(),
        mean_average_precision(np.zeros((0, 5)), none),
        *compa(np.zeros((0, 2, 2))).values(),
        retrieval(np.zeros((0, 5)), none)["map10"],
    ):
        assert metric.n == 0
        assert math.isnan(metric.value)


def test_ties_of_pairs_count_one_half() -> None:
    metric = pair_accuracy(np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0], [0.0, 0.0]]))
    assert (metric.value, metric.chance, metric.n) == (0.5, 0.5, 4)


def test_what_cannot_be_judged_is_refused() -> None:
    none_right = np.zeros((2, 4), dtype=bool)
    with pytest.raises(ValueError, match="right option"):
        choose_one(np.zeros((2, 4)), none_right)
    with pytest.raises(ValueError, match="two options"):
        choose_two(np.zeros((2, 4)), none_right)
    with pytest.raises(ValueError, match="any class"):
        mean_average_precision(np.zeros((2, 4)), none_right)
    with pytest.raises(ValueError, match="not among"):
        compa(np.zeros((2, 2, 2)), np.zeros((1, 3, 3)), np.array([2]))
    with pytest.raises(ValueError, match="NaN"):
        pair_accuracy(np.array([[0.0, np.inf]]))
