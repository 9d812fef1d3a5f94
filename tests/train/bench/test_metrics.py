"""Metrics against loops, enumerations and scikit-learn, with ties and empties."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import combinations, permutations
from typing import Any

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from tests.kit.rankings import coarse, ranking, some_right
from train.bench.metrics import retrieval
from train.bench.metrics.choice import (
    CHANCES,
    bat,
    block_scores,
    choose_one,
    choose_two,
    compa,
    pair_accuracy,
    triplet_accuracy,
)
from train.bench.metrics.measure import Metric
from train.bench.metrics.retrieval import (
    Ranked,
    class_embeddings,
    mean_average_precision,
    subset_retrieval,
)
from train.bench.tasks.choosing import Block, find_blocks, score_blocks


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


def share_point(row: np.ndarray, right: int) -> float:
    """The point of a choice, shared between the options that tie."""
    best = [option for option, value in enumerate(row) if value == max(row)]
    return (right in best) / len(best)


@pytest.mark.parametrize("seed", range(4))
def test_choices_share_the_point_between_tied_options(seed: int) -> None:
    rng = np.random.default_rng(seed)
    groups = coarse(rng, 11, 3, 3)
    points = [share_point(row, member) for group in groups for member, row in enumerate(group)]
    triplets = triplet_accuracy(groups)
    assert triplets.value == pytest.approx(np.mean(points))
    assert (triplets.chance, triplets.n) == (pytest.approx(1 / 3), 11)
    similarity, target = coarse(rng, 30, 6), rng.integers(0, 6, 30)
    top1 = choose_one(similarity, np.eye(6, dtype=bool)[target])
    assert top1.value == pytest.approx(np.mean(list(map(share_point, similarity, target))))
    assert top1.chance == pytest.approx(1 / 6)


@pytest.mark.parametrize("seed", range(5))
def test_retrieval_agrees_with_a_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    similarity, correct = coarse(rng, 9, 23), some_right(rng, 9, 23)
    ranks, precisions = [], []
    for row, right in zip(similarity, correct, strict=True):
        places = [at for at, item in enumerate(ranking(row, right), start=1) if right[item]]
        ranks.append(places[0])
        hits = [number / at for number, at in enumerate(places, start=1) if at <= 10]
        precisions.append(sum(hits) / min(len(places), 10))
    found = retrieval(similarity, correct)
    for k in (1, 5, 10):
        assert found[f"r{k}"].value == pytest.approx(np.mean([rank <= k for rank in ranks]))
    assert found["median_rank"].value == np.median(ranks)
    assert found["map10"].value == pytest.approx(np.mean(precisions))


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
def test_chance_of_the_median_rank_is_the_draws(right: list[int], items: int) -> None:
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


SEEDS = range(4)


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
    back = retrieval(similarity.T, correct.T)["r1"]
    assert (back.value, back.chance) == (pytest.approx(3 / 4), 0.5)


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
        average_precision_score(correct, rng.random((12, 2)), average="macro") for _ in range(300)
    ]
    assert chance == pytest.approx(np.mean(drawn), abs=0.03)


def test_a_class_is_the_mean_of_its_prompts() -> None:
    embedded = np.array([[[1.0, 0.0], [0.0, 1.0]], [[0.0, 1.0], [0.0, 1.0]]])
    found = class_embeddings(embedded, ["dog", "rain"])
    np.testing.assert_allclose(found, [[math.sqrt(0.5), math.sqrt(0.5)], [0, 1]])
    with pytest.raises(ValueError, match="cancel"):
        class_embeddings(np.array([[[1.0, 0.0], [-1.0, 0.0]]]), ["dog"])


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
        bat(np.zeros((0, 2)), np.zeros(0, dtype=bool)),
        triplet_accuracy(np.zeros((0, 3, 3))),
        choose_one(np.zeros((0, 5)), none),
        *choose_two(np.zeros((0, 5)), none).values(),
        mean_average_precision(np.zeros((0, 5)), none),
        *compa(np.zeros((0, 2, 2))).values(),
        *retrieval(np.zeros((0, 5)), none).values(),
    ):
        assert metric.n == 0
        assert math.isnan(metric.value)
        assert metric.to_json()["value"] is None


def test_what_cannot_be_judged_is_refused() -> None:
    none_right, nan = np.zeros((2, 4), dtype=bool), np.full((2, 2), np.nan)
    faults: list[tuple[str, Callable[..., object], tuple[np.ndarray, ...]]] = [
        ("right item", retrieval, (np.zeros((2, 4)), none_right)),
        ("right option", choose_one, (np.zeros((2, 4)), none_right)),
        ("two options", choose_two, (np.zeros((2, 4)), none_right)),
        ("any class", mean_average_precision, (np.zeros((2, 4)), none_right)),
        ("not among", compa, (np.zeros((2, 2, 2)), np.zeros((1, 3, 3)), np.array([2]))),
        ("NaN", pair_accuracy, (np.array([[0.0, np.inf]]),)),
        ("NaN", bat, (nan, np.zeros(2, dtype=bool))),
        # Under run-time shape checks, as in this suite, the signature refuses it first.
        ("3", triplet_accuracy, (np.zeros((2, 3, 2)),)),
    ]
    for why, metric, given in faults:
        with pytest.raises((ValueError, TypeError), match=why):
            metric(*given)


def naive_scores(blocks: list[np.ndarray]) -> dict[str, float]:
    """One choice after the other, by plain comparisons."""
    text, audio, group = [], [], []
    for block in blocks:
        right = []
        for own in (0, 1):
            for points, rival in (
                (text, block[own][1 - own]),
                (audio, block[1 - own][own]),
            ):
                mine = block[own][own]
                points.append(1.0 if mine > rival else 0.5 if mine == rival else 0.0)
                right.append(mine > rival)
        group.append(float(all(right)))
    return {
        name: sum(each) / len(each)
        for name, each in (("text", text), ("audio", audio), ("group", group))
    }


def test_scores_are_plain_comparisons_and_chance_is_the_draws() -> None:
    rng = np.random.default_rng(0)
    blocks = rng.integers(0, 4, size=(200, 2, 2)).astype(float)  # whole numbers, so that some tie
    found = block_scores(blocks, rng.integers(0, 40, size=200))
    assert {name: one.value for name, one in found.items()} == pytest.approx(
        naive_scores(list(blocks))
    )
    found = block_scores(np.random.default_rng(1).normal(size=(4_000, 2, 2)))
    for one in found.values():
        assert one.value == pytest.approx(one.chance, abs=0.02)


@pytest.mark.parametrize("axis", [1, 2])
def test_a_liking_for_a_caption_or_a_sound_earns_nothing(axis: int) -> None:
    """Whoever only reads has one row twice, whoever only hears one column."""
    liked = np.random.default_rng(2).normal(size=(50, 2))
    found = block_scores(np.stack([liked, liked], axis=axis))
    assert found["text"].value == 0.5
    assert found["audio"].value == 0.5
    assert found["group"].value == 0


def row(group: str, caption: str, *negatives: tuple[str, str, str]) -> dict[str, Any]:
    return {
        "group": group,
        "caption": caption,
        "negatives": [
            {"kind": kind, "text": false, "against": true} for kind, false, true in negatives
        ],
    }


ROWS = [
    row("g", "A then B", ("reorder", "B then A", "A then B"), ("relation", "A with B", "B, A")),
    row("g", "B then A", ("reorder", "A then B", "B then A")),
    row("g", "A with B", ("relation", "B, A", "A with B"), ("relation", "C", "A with B")),
    row("h", "B then A", ("reorder", "A then B", "B then A")),
]


def test_a_block_is_two_samples_with_two_captions_the_other_way_round() -> None:
    assert find_blocks(ROWS, ["reorder"]) == [Block((0, 1), ("A then B", "B then A"), "g")]
    assert find_blocks(ROWS, ["relation"]) == [Block((0, 2), ("B, A", "A with B"), "g")]
    assert len(find_blocks(ROWS, ["reorder", "relation"])) == 2
    assert not find_blocks(ROWS, ["count"])


def test_blocks_are_scored_by_dot_products_of_their_own_embeddings() -> None:
    rng = np.random.default_rng(3)
    texts = ["A then B", "B then A", "A with B", "B, A"]
    audio = rng.normal(size=(3, 5))
    said = {text: rng.normal(size=5) for text in texts}
    blocks = find_blocks(ROWS, ["reorder", "relation"])
    at = {2: 0, 0: 1, 1: 2}
    similarity = [
        np.array(
            [[float(audio[at[sound]] @ said[text]) for text in each.texts] for sound in each.sounds]
        )
        for each in blocks
    ]
    found = score_blocks(blocks, audio, said, at)
    assert {name: one.value for name, one in found.items()} == pytest.approx(
        naive_scores(similarity)
    )
    assert [each.n for each in found.values()] == [4, 4, 2]
