"""Metrics for people: what each is, its figure, and whether it differs from a level."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from train.bench.metrics import Metric

MAIN: Final = re.compile(r"bat|triplets|(audio_to_text|text_to_audio)_\w+")
"""The metrics that come first."""

GLOSSARY: Final = {
    "bat": "share of samples whose caption scores higher than the same caption with before and "
    "after swapped; a model without order reaches 50 %",
    "triplets": "choice among before, reversed and while for the same two sounds; a model that "
    'only recognises "while" reaches 66.7 %',
    "*_r1": "share of queries whose first result is right (R@1); audio_to_text searches captions, "
    "text_to_audio searches sounds",
    "*_r5": "share of queries with a right result among the first 5 (R@5)",
    "*_r10": "share of queries with a right result among the first 10 (R@10)",
    "*_map10": "mean average precision over the first 10 results; it rewards finding every right "
    "result, so it can be lower than R@1, which needs only one",
    "*_median_rank": "rank of the first right result, the median over all queries; lower is better",
    "negatives": "share of false captions that score lower than the true caption of their sample",
    "negatives_*": "the same by kind of edit: reorder swaps the sounds and needs order, relation "
    "changes the connecting word",
    "negation_*": "captions as written, with half of their tags negated, or with all of them: "
    "choice of the truer of two, or R@10 with captions of each kind",
    "zero_shot_*": "classification with all labels as prompts: top-1, or mAP if samples have "
    "several labels",
    "zste_t1": "single sounds: share whose class is the first result",
    "zste_t2a": "two sounds in sequence: share with both classes among the first two results",
    "zste_t2b": "two sounds in sequence: share with at least one class among the first two results",
    "zste_t2c": "two sounds at once: share with both classes among the first two results",
    "zste_t2d": "two sounds at once: share with at least one class among the first two results",
    "zste_t3*": "choice among before, reversed and while as prompts; _before and _while count only "
    "samples of that kind, where a preference for one word also scores",
    "zste_t4*": "the same choice, with further prompts that name absent classes",
    "zste_t5a": "which sound is first and which is second: share with both right among four "
    "prompts",
    "zste_t5a_half_credit": "the same with half a point for one of the two; a model without order, "
    "which always picks one sound or one position, gets exactly 50 %",
    "zste_t5b": "two sounds at once: share with both orders found among prompts that name absent "
    "classes",
    "zste_t5b_half_credit": "the same with half a point for one of the two orders",
    "compa_*": "CompA: text (each sound finds its caption), audio (each caption finds its sound), "
    "group (both)",
    "questions": "share of questions whose right answer scores highest; each answer is read after "
    "the question",
    "localisation_psds": "PSDS 1 of DCASE over the sounds of the split: events found at all "
    "thresholds, up to 100 false ones an hour",
    "localisation_event_f1": "events found with begin and end within 0.2 s (the end within a fifth "
    "of the event), at the best threshold of each sound",
    "localisation_frame_auroc": "share of pairs of a frame in which a sound is clear and one in "
    "which it is absent that are ranked right, the mean over sounds",
    "moments_r1@*": "share of queries whose first window overlaps one that is right by this IoU",
    "moments_map": "mean average precision of a query's first ten windows, the mean over IoU from "
    "0.5 to 0.95",
    "moments_absent": "share of the queries for absent sounds without a window above the "
    "threshold; chance is the share of all queries without one",
    "moments_presence": "the mean of moments_absent and of the share of the other queries with a "
    "window",
    "pte_*": "R@1 of sentences as written (original) and with their clauses swapped (swapped); a "
    "model that hears order scores lower on the swapped ones",
    "as_*": "R@10 of sentences with as: as written (original), and with then instead (swapped)",
    "then_*": "R@10 of sentences with then: as written (original), and with as instead (swapped)",
}
"""By the metric's name, where `*` matches anything; the longest match counts."""


def explain_metrics(metrics: Iterable[str]) -> dict[str, str]:
    """The entries of `GLOSSARY` that some metrics match, each once."""
    entries = (_entry(name) for name in metrics)
    return {name: GLOSSARY[name] for name in entries if name is not None}


def _entry(metric: str) -> str | None:
    fitting = [
        name for name in GLOSSARY if re.fullmatch(re.escape(name).replace(r"\*", ".*"), metric)
    ]
    # "negation_half_audio_to_text_r10" is of negation first, whatever its end.
    return max(fitting, key=lambda name: (not name.startswith("*"), len(name)), default=None)


TOGETHER_ALONE: Final = 2 / 3
"""What `triplets` gives a model that only recognises "while"."""
_RETRIEVAL: Final = ("audio_to_text_r1", "text_to_audio_r1")
_BY_CHANCE: Final = "no different from chance"
_BELOW: Final = "below chance"


def verdicts(metrics: Mapping[str, Metric]) -> tuple[str, ...]:
    """A line each on order, "while" and retrieval, for those that were measured."""
    measured = {name: metric for name, metric in metrics.items() if not math.isnan(metric.value)}
    return tuple(_lines(measured))


def _lines(metrics: Mapping[str, Metric]) -> Iterator[str]:
    order = {name: metrics[name] for name in ("bat", "negatives_reorder") if name in metrics}
    if order:
        yield f"order: {_describe_order(order)} ({_format_figures(order)}; chance 50 %)"
    if triplets := metrics.get("triplets"):
        figure = _format_figures({"triplets": triplets})
        yield f"before, reversed or while: {_describe_triplets(triplets)} ({figure}; chance 33.3 %)"
    retrieval = {name: metrics[name] for name in _RETRIEVAL if name in metrics}
    if retrieval:
        yield f"retrieval: {_describe_retrieval(retrieval)} ({_format_figures(retrieval)})"


def _describe_order(order: Mapping[str, Metric]) -> str:
    above = [metric.low > metric.chance for metric in order.values()]
    if all(above):
        return "heard"
    if any(metric.high < metric.chance for metric in order.values()):
        return f"{_BELOW}: it prefers the reverse order, or one of the words"
    return "partly heard, one test is no different from chance" if any(above) else _BY_CHANCE


def _describe_triplets(metric: Metric) -> str:
    if metric.low > TOGETHER_ALONE:
        return "told apart, beyond recognising while alone, 66.7 %"
    if metric.low <= metric.chance:
        return _BELOW if metric.high < metric.chance else _BY_CHANCE
    return "not beyond recognising while alone, 66.7 %"


def _describe_retrieval(metrics: Mapping[str, Metric]) -> str:
    if all(metric.high < metric.chance for metric in metrics.values()):
        return _BELOW
    if all(metric.low <= metric.chance for metric in metrics.values()):
        return _BY_CHANCE
    times = " and ".join(f"{metric.value / metric.chance:.0f} times" for metric in metrics.values())
    return f"R@1 is {times} chance"


def _format_figures(metrics: Mapping[str, Metric]) -> str:
    rows = {name: format_cells(name, metric) for name, metric in metrics.items()}
    return "; ".join(f"{name} {row['value']}, {row['interval']}" for name, row in rows.items())


_RANK: Final = "median_rank"


def format_value(name: str, value: float) -> str:
    """A value for people: a median rank as a number, anything else in percent."""
    if math.isnan(value):
        return "-"
    if name.endswith(_RANK):
        return f"{value:.1f}"
    # Chances such as 0.082 % would be lost at one decimal.
    return f"{100 * value:.2g} %" if 0 < value < 0.01 else f"{100 * value:.1f} %"


_BASELINES: Final = {"text": "text alone", "trivial": "trivial audio", "prior": "windows alone"}


def list_columns(metrics: Iterable[Metric]) -> dict[str, str]:
    """The columns of a table of metrics, by their keys; of baselines those that were measured."""
    listed = [*metrics]
    baselines = {
        key: title
        for key, title in _BASELINES.items()
        if any(getattr(metric, key) is not None for metric in listed)
    }
    columns = {"value": "value", "interval": "95 % interval", "chance": "chance"}
    return columns | baselines | {"n": "n"}


def format_cells(name: str, metric: Metric) -> dict[str, str]:
    """What a table says of a metric, by the keys of `list_columns`."""
    value, low, high, chance = (
        format_value(name, item) for item in (metric.value, metric.low, metric.high, metric.chance)
    )
    return {
        "value": value,
        "interval": f"{low} to {high}",
        "chance": chance,
        "text": format_baseline(name, metric.text),
        "trivial": format_baseline(name, metric.trivial),
        "prior": format_baseline(name, metric.prior),
        "n": f"{metric.n:,}",
    }


def format_whole(name: str, metric: Metric) -> str:
    """A value with its interval, as short as it goes: "97.7 % (96.0 to 99.1)"."""
    cells = format_cells(name, metric)
    return f"{cells['value']} ({cells['interval'].replace(' %', '')})"


def format_baseline(name: str, value: float | None) -> str:
    """What is told without listening; "-" where it was not measured."""
    return "-" if value is None else format_value(name, value)


def is_share(name: str, value: float) -> bool:
    """Whether a metric's value lies between 0 and 1: not a median rank, nor one of nothing."""
    return not name.endswith(_RANK) and not math.isnan(value)
