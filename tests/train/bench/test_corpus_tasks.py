"""Tasks on the samples of a split, by models that know, or do not know, what is heard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from train.bench.metrics import Metric
from train.bench.plan import TaskPlan
from train.bench.settings import BenchSettings
from train.bench.tasks import choosing, recall
from train.bench.tasks.samples import Samples
from train.data.meaning import meaning

Row = Callable[..., dict[str, Any]]
Judged = Callable[..., dict[str, Metric]]
SETTINGS = BenchSettings()


def values(found: dict[str, Metric]) -> dict[str, float]:
    return {name: metric.value for name, metric in found.items()}


# Retrieval


def test_every_sample_that_means_the_same_is_right(row: Row, judged: Judged) -> None:
    rows = [
        row("a", "dog before rain", "dog", "rain", "sequence"),
        row("a", "rain after dog", "dog", "rain", "sequence"),
        row("a", "dog while rain", "dog", "rain", "overlay"),
        row("b", "rain while dog", "rain", "dog", "overlay"),
        row("b", "rain before dog", "rain", "dog", "sequence"),
        row("b", "rain before dog", "rain", "dog", "sequence"),
    ]
    samples = Samples(rows, "triplets", "test")
    claims = {one["caption"]: meaning(one["claim"]) for one in rows}
    assert len(set(claims.values())) == 3
    plan = recall.plan_samples(samples, SETTINGS)
    found = judged(plan, samples, lambda one, text: float(meaning(one["claim"]) == claims[text]))
    assert {found["audio_to_text_r1"].value, found["text_to_audio_r1"].value} == {1.0}
    assert (found["audio_to_text_r1"].n, found["text_to_audio_r1"].n) == (6, 5)
    # Of five texts, two, two or one are right; of six sounds, two are.
    expected = np.mean([2, 2, 2, 2, 1, 1]) / 5
    assert found["audio_to_text_r1"].chance == pytest.approx(expected)
    assert found["text_to_audio_r1"].chance == pytest.approx(2 / 6)


# Before and after


@pytest.mark.parametrize(
    ("caption", "other", "word"),
    [
        ("dog before rain", "dog after rain", "before"),
        ("After rain falls, a dog barks", "Before rain falls, a dog barks", "after"),
        ("A dog barks. Before that, rain falls.", "A dog barks. After that, rain falls.", "before"),
        (
            "A barks. After that, B. After all of that, C.",
            "A barks. Before that, B. Before all of that, C.",
            "after",
        ),
        ("dog before rain", "rain before dog", None),
        ("dog before rain", "dog after wind", None),
        ("dog before rain", "dog while rain", None),
        ("dog before rain", "dog before rain", None),
        ("dog before rain", "dog shortly after rain", None),
        ("the aftermath", "the beforemath", None),
    ],
)
def test_an_exchanged_caption_differs_in_nothing_else(
    caption: str, other: str, word: str | None
) -> None:
    assert choosing.find_exchanged_word(caption, other) == word


def test_bat_finds_exchanges_of_any_kind_and_form(row: Row, judged: Judged) -> None:
    rows = [
        row("a", "X. Before that, Y.", "y", "x", "sequence", reorder="X. After that, Y."),
        row("b", "X. After that, Y.", "x", "y", "sequence", relation="X. Before that, Y."),
        row("c", "X after Y", "y", "x", "sequence", relation="Y while X"),
    ]
    samples = Samples(rows, "scenes", "test")
    plan = choosing.plan_bat(samples, SETTINGS)
    found = judged(plan, samples, lambda one, text: float(text == one["caption"]))
    assert (found["bat"].value, found["bat"].n) == (1.0, 2)
    likes_after = judged(plan, samples, lambda one, text: float("After" in text))
    assert likes_after["bat"].value == 0.5


def test_bat_of_triplets_is_over_every_sample_before_or_after(
    triplets: Samples, judged: Judged
) -> None:
    found = judged(choosing.plan_bat(triplets, SETTINGS), triplets, lambda one, text: 0.0)
    assert found["bat"].n == sum(one["relation"] != "while" for one in triplets.rows)
    assert found["bat"].value == 0.5
    pairs = [list(choosing.find_exchanges(one)) for one in triplets.rows]
    assert all(
        len(each) == (one["relation"] != "while")
        for one, each in zip(triplets.rows, pairs, strict=True)
    )


def test_triplets_choose_within_their_group(triplets: Samples, judged: Judged) -> None:
    plan = choosing.plan_triplets(triplets, SETTINGS)
    found = judged(plan, triplets, lambda one, text: float(text == one["caption"]))
    assert found["triplets"].value == 1.0
    assert found["triplets"].n == len(triplets.rows) / 3
    assert judged(plan, triplets, lambda one, text: 1.0)["triplets"].value == pytest.approx(1 / 3)


# Minimal pairs


def test_negatives_are_judged_by_kind_of_edit(row: Row, judged: Judged) -> None:
    rows = [
        row("a", "p", "x", "y", "sequence", reorder="bad", negate_half="worse"),
        row("b", "q", "x", "y", "sequence", reorder="good"),
        row("c", "r", "x", "y", "sequence"),
    ]
    samples = Samples(rows, "scenes", "test")
    plan = choosing.plan_negatives(samples, SETTINGS)
    found = judged(
        plan, samples, lambda one, text: {"good": 2.0, "q": 1.0, "p": 1.0}.get(text, 0.0)
    )
    assert values(found) == {
        "negatives": pytest.approx(2 / 3),
        "negatives_negate_half": 1.0,
        "negatives_reorder": 0.5,
    }
    assert [found[name].n for name in found] == [3, 1, 2]
    assert isinstance(plan, TaskPlan)
    assert plan.left_out == {"samples without a false text": 1}


# Negation


def negated_rows(row: Row, count: int) -> list[dict[str, Any]]:
    texts = [(f"{k} original", f"{k} half", f"{k} full") for k in range(count)]
    return [
        row(str(k), own, "x", "y", "sequence", negate_half=half, negate_full=full)
        for k, (own, half, full) in enumerate(texts)
    ]


def test_negation_compares_original_half_and_full(row: Row, judged: Judged) -> None:
    rows = [
        *negated_rows(row, 12),
        row("z", "z", "x", "y", "sequence", negate_half="lacks the other"),
    ]
    samples = Samples(rows, "negation", "test")
    plan = choosing.plan_negation(samples, SETTINGS)
    level = {"original": 1.0, "half": -1.0, "full": -2.0}

    def hears_denial(one: dict[str, Any], text: str) -> float:
        owner, _, kind = text.partition(" ")
        return level[kind] if owner == one["group"] else 0.0

    found = judged(plan, samples, hears_denial)
    assert values(found) == {
        **{f"negation_original_{way}_r10": 1.0 for way in ("audio_to_text", "text_to_audio")},
        **{f"negation_half_{way}_r10": 0.0 for way in ("audio_to_text", "text_to_audio")},
        **{f"negation_full_{way}_r10": 0.0 for way in ("audio_to_text", "text_to_audio")},
        "negation_original_half": 1.0,
        "negation_original_full": 1.0,
        "negation_half_full": 1.0,
    }
    assert {metric.n for metric in found.values()} == {12}
    assert found["negation_half_full"].chance == 0.5
    assert found["negation_half_text_to_audio_r10"].chance == pytest.approx(10 / 12)
    assert isinstance(plan, TaskPlan)
    assert plan.left_out == {"samples that lack a negated caption": 1}


def test_negation_draws_samples_by_the_seed(row: Row) -> None:
    samples = Samples(negated_rows(row, 30), "negation", "test")
    plans = [
        choosing.plan_negation(samples, BenchSettings(seed=seed, negation_sample=20))
        for seed in (0, 0, 1)
    ]
    assert all(isinstance(plan, TaskPlan) and len(set(plan.texts)) == 60 for plan in plans)
    assert plans[0].texts == plans[1].texts != plans[2].texts
    assert plans[0].left_out == {"samples not drawn": 10}
