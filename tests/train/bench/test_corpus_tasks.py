"""Tasks on the samples of a split, by models that know, or do not know, what is heard."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from synth.base.errors import SpecError
from synth.corpus.corpus import Corpus
from synth.scene.scene import Concat, Event, from_json, statement
from tests.kit.tables import read_data
from train.bench.corpus import corpus_benchmark
from train.bench.metrics.measure import Metric
from train.bench.plan import TaskPlan, TaskRefusal
from train.bench.settings import BenchSettings, Task
from train.bench.tasks import choosing, recall, zste
from train.bench.tasks.samples import Samples
from train.config.run import AudioMode
from train.data.meaning import meaning
from train.data.split import SplitData

Row = Callable[..., dict[str, Any]]
Judged = Callable[..., dict[str, Metric]]
SETTINGS = BenchSettings()


def values(found: dict[str, Metric]) -> dict[str, float]:
    return {name: metric.value for name, metric in found.items()}


# Zero-shot and ZSTE


def heard_labels(one: dict[str, Any], text: str) -> float:
    """How many of the sounds that are heard the prompt names."""
    return float(sum(re.search(rf"\b{label}\b", text) is not None for label in one["labels"]))


def knows(one: dict[str, Any], text: str) -> float:
    """Whether a prompt is true."""
    scene = statement(from_json(json.loads(one["scene"])))
    plain = text.removeprefix("In this concatenated sound, ")
    if isinstance(scene, Event):
        return float(plain == f"The sound of {scene.label}")
    a, b = scene.first.label, scene.second.label
    true = {f"The sound of {a}", f"The sound of {b}"}
    if isinstance(scene, Concat):
        true |= {f"{a} before {b}", f"the first sound is {a}", f"the second sound is {b}"}
    else:
        true |= {f"{a} while {b}", f"{b} while {a}"}
        true |= {f"Simultaneous sound of {a} and {b}", f"Simultaneous sound of {b} and {a}"}
    return float(plain in true)


def test_who_knows_what_is_heard_passes_zste(triplets: Samples, judged: Judged) -> None:
    found = judged(zste.plan_zste(triplets, SETTINGS), triplets, knows)
    assert {name.removeprefix("zste_") for name in found} == {
        *("t2a", "t2b", "t2c", "t2d", "t3", "t3_before", "t3_while"),
        *("t4", "t4_before", "t4_while"),
        *("t5a", "t5a_half_credit", "t5b", "t5b_half_credit"),
    }
    assert set(values(found).values()) == {1.0}
    assert found["zste_t2a"].n == found["zste_t3_before"].n == 2 * found["zste_t5b"].n
    few = judged(zste.plan_zste(triplets, BenchSettings(prompts=10)), triplets, knows)
    assert few["zste_t4"].chance == pytest.approx(1 / 10)
    assert few["zste_t5b"].chance == pytest.approx(1 / 45)
    # Four classes make 2 * (12 - 2) prompts with an absent class, and 12 - 2 simultaneous ones.
    most = judged(zste.plan_zste(triplets, SETTINGS), triplets, knows)
    assert most["zste_t4"].chance == pytest.approx(1 / 23)
    assert most["zste_t5b"].chance == pytest.approx(1 / 66)
    assert most["zste_t2a"].chance == pytest.approx(1 / 6)


def test_who_hears_no_order_or_the_reverse_fails_zste(triplets: Samples, judged: Judged) -> None:
    found = judged(zste.plan_zste(triplets, SETTINGS), triplets, heard_labels)
    assert found["zste_t2a"].value == found["zste_t2c"].value == 1.0
    # Three prompts name both sounds; T4's further ones name an absent class.
    for name in ("t3", "t3_before", "t3_while", "t4", "t4_before", "t4_while"):
        assert found[f"zste_{name}"].value == pytest.approx(1 / 3)
    assert found["zste_t5a"].value == pytest.approx(1 / 6)
    assert found["zste_t5a_half_credit"].value == 0.5

    def reversed_order(one: dict[str, Any], text: str) -> float:
        first, second = one["labels"]
        return float(text == f"{second} before {first}")

    found = judged(zste.plan_zste(triplets, SETTINGS), triplets, reversed_order)
    assert found["zste_t4_before"].value == found["zste_t3_before"].value == 0.0


def test_classes_are_matched_by_identity(row: Row, judged: Judged) -> None:
    names = ("rain", "train", "cat", "water_drops")
    rows = [row(f"{a} {b}", "", a, b, "sequence") for a in names for b in names if a != b]
    samples = Samples(rows, "triplets", "test")
    plan = zste.plan_zste(samples, SETTINGS)
    assert "The sound of water drops" in plan.texts

    def exact(one: dict[str, Any], text: str) -> float:
        words = text.replace("water drops", "water_drops").split()
        return float(sum(label in words for label in one["labels"]))

    assert judged(plan, samples, exact)["zste_t2a"].value == 1.0


def test_what_a_heard_sound_could_be_called_is_no_absent_class(row: Row, judged: Judged) -> None:
    # A dog may be called "dog bark" too, so "dog bark before siren" may be true where one is heard.
    rows = [
        row("a", "", "dog", "siren", "sequence"),
        row("b", "", "dog bark", "cat", "sequence"),
    ]
    samples = Samples(rows, "triplets", "test")
    plan = zste.plan_zste(samples, SETTINGS)

    def with_preference(text: str) -> float:
        # Where the preferred prompt is among a sample's own, it takes the point from the right one.
        found = judged(
            plan, samples, lambda one, prompt: 2.0 if prompt == text else knows(one, prompt)
        )
        return found["zste_t4"].value

    assert with_preference("dog bark before siren") == 0.5  # taken from the second sample alone
    assert with_preference("dog before cat") == 0.5
    assert with_preference("siren before dog") == 0.0


def test_stage_a_is_tested_on_single_and_overlaid_sounds(
    build_corpus: Callable[..., Path], judged: Judged
) -> None:
    path = build_corpus(recipe={"triplets": {"stage_a": True, "max_event_s": 1.0}})
    benchmark = corpus_benchmark(path)
    assert Task.ZSTE in benchmark.allowed
    assert not {Task.BAT, Task.TRIPLETS} & set(benchmark.allowed)
    data = SplitData(Corpus.open(path), "test", AudioMode.SHARDS)
    samples = Samples(data.rows(range(len(data))), "triplets", "test")
    found = judged(zste.plan_zste(samples, SETTINGS), samples, knows)
    assert set(values(found).values()) == {1.0}
    assert found["zste_t1"].chance == pytest.approx(1 / 4)
    assert {"zste_t2c", "zste_t2d", "zste_t5b"} < set(found)
    assert "zste_t2a" not in found


def test_samples_of_several_labels_are_ranked_by_class(triplets: Samples, judged: Judged) -> None:
    plan = zste.plan_zero_shot(triplets, SETTINGS)
    found = judged(plan, triplets, heard_labels)
    assert set(found) == {"zero_shot_map"}
    assert found["zero_shot_map"].value == pytest.approx(1.0)
    assert isinstance(
        zste.plan_zero_shot(Samples(triplets.rows, "negation", "test"), SETTINGS), TaskRefusal
    )


def test_repetitions_bear_one_label(build_corpus: Callable[..., Path], judged: Judged) -> None:
    foley = {"foley": {"classes": ["dog", "cat"], "takes": 4}}
    path = build_corpus(source=foley, recipe={"counts": {}}, splits={"test": 1.0})
    data = SplitData(Corpus.open(path), "test", AudioMode.SHARDS)
    samples = Samples(data.rows(range(len(data))), "counts", "test")
    assert {len(row["labels"]) for row in samples.rows} == {1, 2, 3}
    found = judged(zste.plan_zero_shot(samples, SETTINGS), samples, heard_labels)
    assert values(found) == {"zero_shot_top1": 1.0}
    assert found["zero_shot_top1"].chance == pytest.approx(1 / 2)


def test_prompts_that_cancel_out_are_told_with_their_class() -> None:
    settings = BenchSettings(templates=("{} near", "{} far"))
    plan = zste.plan_labels([["dog"], ["rain"]], ["dog", "rain"], np.arange(2), settings)
    assert isinstance(plan, TaskPlan)
    vectors = {text: np.array([1.0, 0.0]) for text in plan.texts}
    vectors[next(text for text in plan.texts if "rain far" in text)] *= -1
    with pytest.raises(SpecError, match="the prompts of class rain cancel out"):
        plan.measure(np.eye(2), vectors)


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


@pytest.mark.parametrize(("caption", "other", "word"), read_data("bench/exchanged.yaml"))
def test_an_exchange_changes_one_word(caption: str, other: str, word: str | None) -> None:
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


def test_bat_and_triplets_are_over_every_sample_and_group(
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
    assert plan.left_out == {"samples that lack a negated caption": 1, "samples not drawn": 0}


def test_negation_draws_samples_by_the_seed(row: Row) -> None:
    samples = Samples(negated_rows(row, 30), "negation", "test")
    plans = [
        choosing.plan_negation(samples, BenchSettings(seed=seed, negation_sample=20))
        for seed in (0, 0, 1)
    ]
    assert all(isinstance(plan, TaskPlan) and len(set(plan.texts)) == 60 for plan in plans)
    assert plans[0].texts == plans[1].texts != plans[2].texts
    assert plans[0].left_out["samples not drawn"] == 10
