"""What the figures of a test say in words."""

from __future__ import annotations

import math

from train.bench.metrics.measure import Metric
from train.bench.verdicts import GLOSSARY, explain_metrics, verdicts


def metric(value: float, low: float, high: float, chance: float = 0.5) -> Metric:
    return Metric(value, low, high, chance, 100)


def test_order_is_heard_only_if_the_intervals_leave_chance_out() -> None:
    heard, not_told, turned = metric(0.7, 0.6, 0.8), metric(0.5, 0.4, 0.6), metric(0.2, 0.1, 0.3)
    assert "order: heard (" in verdicts({"bat": heard, "negatives_reorder": heard})[0]
    assert "order: no different from chance" in verdicts({"bat": not_told})[0]
    assert "order: partly heard" in verdicts({"bat": heard, "negatives_reorder": not_told})[0]
    assert "below chance" in verdicts({"bat": turned})[0]


def test_triplets_are_held_against_what_together_alone_gives() -> None:
    def said(*figures: float) -> str:
        return verdicts({"triplets": metric(*figures, chance=1 / 3)})[0]

    assert "told apart" in said(0.8, 0.7, 0.9)
    assert "not beyond recognising while alone" in said(0.66, 0.6, 0.7)
    assert "no different from chance" in said(0.35, 0.3, 0.4)


def test_retrieval_is_told_by_its_chance_and_nothing_of_what_was_not_judged() -> None:
    (told,) = verdicts({"audio_to_text_r1": metric(0.2, 0.1, 0.3, 0.02)})
    assert "R@1 is 10 times chance" in told
    assert verdicts({"bat": metric(math.nan, math.nan, math.nan)}) == ()
    assert verdicts({"compa_all_text": metric(0.3, 0.2, 0.4, 0.25)}) == ()


def test_every_metric_is_explained_by_the_entry_nearest_to_its_name() -> None:
    assert list(explain_metrics(["zste_t5a_half_credit"])) == ["zste_t5a_half_credit"]
    assert list(explain_metrics(["negation_half_audio_to_text_r10"])) == ["negation_*"]
    assert list(explain_metrics(["audio_to_text_r1", "text_to_audio_r1"])) == ["*_r1"]
    assert list(explain_metrics(["pte_original_r1", "as_swapped_r10"])) == ["pte_*", "as_*"]
    assert all(list(explain_metrics([name.replace("*", "x")])) == [name] for name in GLOSSARY)
