"""Metrics against brute force, with ties and empties."""

from itertools import combinations

import numpy as np
import pytest

from tests.kit.rankings import coarse, ranking, some_right
from train.bench.metrics import Metric, bat, retrieval, triplet_accuracy


@pytest.mark.parametrize("seed", range(5))
def test_bat_agrees_with_a_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    similarity, after = coarse(rng, 37, 2), rng.random(37) < 0.3
    points: dict[bool, list[float]] = {False: [], True: []}
    for (own, other), is_after in zip(similarity, after, strict=True):
        points[bool(is_after)].append(1.0 if own > other else 0.5 if own == other else 0.0)
    expected = sum(sum(side) / len(side) for side in points.values()) / 2
    metric = bat(similarity, after)
    assert metric.value == pytest.approx(expected)
    assert metric.low <= metric.value <= metric.high
    assert (metric.chance, metric.n) == (0.5, 37)


def test_bat_gives_nothing_for_liking_one_word() -> None:
    after = np.arange(20) < 5
    likes_before = np.where(after[:, None], [[0.0, 1.0]], [[1.0, 0.0]])
    assert bat(likes_before, after).value == 0.5


@pytest.mark.parametrize("seed", range(3))
def test_triplets_agree_with_a_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    similarity = coarse(rng, 11, 3, 3)
    points = []
    for group in similarity:
        for member, row in enumerate(group):
            best = [option for option in range(3) if row[option] == max(row)]
            points.append((member in best) / len(best))
    metric = triplet_accuracy(similarity)
    assert metric.value == pytest.approx(np.mean(points))
    assert metric.chance == pytest.approx(1 / 3)
    assert metric.n == 11


@pytest.mark.parametrize("seed", range(5))
def test_retrieval_agrees_with_a_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    similarity, correct = coarse(rng, 9, 13), some_right(rng, 9, 13)
    ranks = [
        1 + min(place for place, item in enumerate(ranking(row, right)) if right[item])
        for row, right in zip(similarity, correct, strict=True)
    ]
    found = retrieval(similarity, correct)
    for k in (1, 5, 10):
        assert found[f"r{k}"].value == pytest.approx(np.mean([rank <= k for rank in ranks]))
    assert found["median_rank"].value == np.median(ranks)


def test_retrieval_chance_is_that_of_drawing_at_random() -> None:
    correct = np.array([[True, True, False, False, False], [True, False, False, False, False]])
    hits = [
        [bool({0, 1} & set(drawn)) for drawn in combinations(range(5), 1)],
        [bool({0} & set(drawn)) for drawn in combinations(range(5), 1)],
    ]
    found = retrieval(np.zeros((2, 5)), correct)
    assert found["r1"].chance == pytest.approx(np.mean([np.mean(hit) for hit in hits]))
    assert found["r10"].chance == 1.0


@pytest.mark.parametrize(("right", "items"), [([1], 20), ([3], 20), ([1, 2, 6], 15), ([4], 4)])
def test_chance_of_the_median_rank_is_the_median_of_random_rankings(
    right: list[int], items: int
) -> None:
    correct = np.arange(items)[None, :] < np.array(right)[:, None]
    chance = retrieval(np.zeros((len(right), items)), correct)["median_rank"].chance
    rng = np.random.default_rng(0)
    orders = rng.permuted(np.tile(correct, (20_000, 1)), axis=1)
    ranks = 1 + orders.argmax(axis=1)
    # The smallest rank that at least half of the draws reach, up to the noise of the draws.
    assert np.mean(ranks <= chance) >= 0.49
    assert np.mean(ranks <= chance - 1) < 0.51


def test_members_of_a_group_are_drawn_together() -> None:
    rng = np.random.default_rng(1)
    single = np.stack([np.full(40, 0.5), rng.random(40)], axis=1)
    after = np.arange(40) % 2 == 0
    alone = bat(single, after)
    # Nine copies of every sample tell nothing new: the interval must not shrink.
    many, said = np.repeat(single, 9, axis=0), np.repeat(after, 9)
    naive, grouped = bat(many, said), bat(many, said, np.repeat(np.arange(40), 9))
    width = alone.high - alone.low
    assert naive.high - naive.low < 0.5 * width
    assert grouped.high - grouped.low == pytest.approx(width, rel=1e-9)
    assert (grouped.value, grouped.n) == (pytest.approx(alone.value), 360)

    similarity, correct = rng.random((30, 10)), np.eye(10, dtype=bool)[np.arange(30) % 10]
    one = retrieval(similarity, correct)
    groups = np.repeat(np.arange(30), 9)
    copied = retrieval(np.repeat(similarity, 9, axis=0), np.repeat(correct, 9, axis=0), groups)
    for name in ("r1", "r5", "median_rank"):
        assert (copied[name].low, copied[name].high) == pytest.approx(
            (one[name].low, one[name].high)
        )
    shuffled = rng.permutation(270)
    again = retrieval(
        np.repeat(similarity, 9, axis=0)[shuffled],
        np.repeat(correct, 9, axis=0)[shuffled],
        groups[shuffled],
    )
    assert again["r5"].low == pytest.approx(one["r5"].low)
    with pytest.raises((ValueError, TypeError)):
        bat(many, said, np.arange(3))


def test_intervals_are_seeded_cover_and_shrink() -> None:
    rng = np.random.default_rng(0)

    def measured(count: int) -> Metric:
        similarity = np.stack([np.full(count, 0.5), rng.random(count)], axis=1)
        return bat(similarity, np.arange(count) % 2 == 0, seed=3)

    few, many = measured(40), measured(4000)
    assert few.high - few.low > 3 * (many.high - many.low)
    assert many.low < 0.5 < many.high
    same = np.stack([np.full(30, 0.5), np.linspace(0, 1, 30)], axis=1)
    after = np.arange(30) % 2 == 0
    assert bat(same, after, seed=1) == bat(same, after, seed=1)


def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="NaN"):
        bat(np.full((2, 2), np.nan), np.zeros(2, dtype=bool))
    # Under run-time shape checks, as in this suite, the signature refuses it first.
    with pytest.raises((ValueError, TypeError), match="3"):
        triplet_accuracy(np.zeros((2, 3, 2)))
    with pytest.raises(ValueError, match="right item"):
        retrieval(np.zeros((2, 3)), np.zeros((2, 3), dtype=bool))
