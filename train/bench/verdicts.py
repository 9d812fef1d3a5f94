"""Metrics for people: what each is, its figure, and whether it differs from a level."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from synth.base.shipped import shipped_table
from train.bench.metrics import Metric

MAIN: Final = re.compile(r"bat|triplets|(audio_to_text|text_to_audio)_\w+")
"""The metrics that come first."""


def read_glossary() -> Mapping[str, str]:
    """What each metric is, by its name, where `*` matches anything; the longest match counts."""
    return shipped_table("metrics")


def explain_metrics(metrics: Iterable[str]) -> dict[str, str]:
    """The entries of the glossary that some metrics match, each once."""
    entries = (_entry(name) for name in metrics)
    return {name: read_glossary()[name] for name in entries if name is not None}


def _entry(metric: str) -> str | None:
    fitting = [
        name
        for name in read_glossary()
        if re.fullmatch(re.escape(name).replace(r"\*", ".*"), metric)
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
