"""A test's results in words: a metric differs from a level only if its interval excludes it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Final

from train.bench.figures import format_value
from train.bench.metrics import Metric

TOGETHER_ALONE: Final = 2 / 3
"""What `triplets` gives a model that only recognises "while"."""
_RETRIEVAL: Final = ("audio_to_text_r1", "text_to_audio_r1")
_BY_CHANCE: Final = "no different from chance"


def verdicts(metrics: Mapping[str, Metric]) -> tuple[str, ...]:
    """A line each on order, "while" and retrieval, for those that were measured."""
    known = {name: one for name, one in metrics.items() if not math.isnan(one.value)}
    return tuple(_lines(known))


def _lines(known: Mapping[str, Metric]) -> Iterator[str]:
    order = {name: known[name] for name in ("bat", "negatives_reorder") if name in known}
    if order:
        yield f"order: {_describe_order(order)} ({_format_figures(order)}; chance 50 %)"
    if triplets := known.get("triplets"):
        told = _format_figures({"triplets": triplets})
        yield f"before, reversed or while: {_describe_triplets(triplets)} ({told}; chance 33.3 %)"
    retrieval = {name: known[name] for name in _RETRIEVAL if name in known}
    if retrieval:
        yield f"retrieval: {_describe_retrieval(retrieval)} ({_format_figures(retrieval)})"


def _describe_order(order: Mapping[str, Metric]) -> str:
    above = [one.low > one.chance for one in order.values()]
    if all(above):
        return "heard"
    if any(one.high < one.chance for one in order.values()):
        return "below chance: it prefers the reverse order, or one of the words"
    return "partly heard, one test is no different from chance" if any(above) else _BY_CHANCE


def _describe_triplets(one: Metric) -> str:
    if one.low > TOGETHER_ALONE:
        return "told apart, beyond recognising while alone, 66.7 %"
    if one.low <= one.chance:
        return _BY_CHANCE
    return "not beyond recognising while alone, 66.7 %"


def _describe_retrieval(retrieval: Mapping[str, Metric]) -> str:
    if all(one.low <= one.chance for one in retrieval.values()):
        return _BY_CHANCE
    times = " and ".join(f"{one.value / one.chance:.0f} times" for one in retrieval.values())
    return f"R@1 is {times} chance"


def _format_figures(metrics: Mapping[str, Metric]) -> str:
    lines = []
    for name, one in metrics.items():
        value, low, high = (format_value(name, each) for each in (one.value, one.low, one.high))
        lines.append(f"{name} {value}, {low} to {high}")
    return "; ".join(lines)
