"""What a test says in words: a metric is told from a level only if its interval leaves it out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Final

from train.bench.figures import format_value
from train.bench.metrics import Metric

TOGETHER_ALONE: Final = 2 / 3
"""What `triplets` gives to a model that only knows together from not together."""
_RETRIEVAL: Final = ("audio_to_text_r1", "text_to_audio_r1")
_BY_CHANCE: Final = "not told from chance"


def verdicts(metrics: Mapping[str, Metric]) -> tuple[str, ...]:
    """A line on order, on while and on retrieval, each where the metrics hold its own."""
    known = {name: one for name, one in metrics.items() if not math.isnan(one.value)}
    return tuple(_lines(known))


def _lines(known: Mapping[str, Metric]) -> Iterator[str]:
    order = {name: known[name] for name in ("bat", "negatives_reorder") if name in known}
    if order:
        yield f"order: {_describe_order(order)} ({_format_figures(order)}; chance 50 %)"
    if triplets := known.get("triplets"):
        told = _format_figures({"triplets": triplets})
        yield f"before, reversed, while: {_describe_triplets(triplets)} ({told}; chance 33.3 %)"
    retrieval = {name: known[name] for name in _RETRIEVAL if name in known}
    if retrieval:
        yield f"retrieval: {_describe_retrieval(retrieval)} ({_format_figures(retrieval)})"


def _describe_order(order: Mapping[str, Metric]) -> str:
    above = [one.low > one.chance for one in order.values()]
    if all(above):
        return "hears order"
    if any(one.high < one.chance for one in order.values()):
        return "turned round, or a liking for one word: under chance"
    return "hears some, one of the two is not told from chance" if any(above) else _BY_CHANCE


def _describe_triplets(one: Metric) -> str:
    if one.low > TOGETHER_ALONE:
        return "told apart, more than together from not together"
    if one.low <= one.chance:
        return _BY_CHANCE
    return "no more than together from not together, which alone gives 66.7 %"


def _describe_retrieval(retrieval: Mapping[str, Metric]) -> str:
    if all(one.low <= one.chance for one in retrieval.values()):
        return _BY_CHANCE
    times = " and ".join(f"{one.value / one.chance:.0f}" for one in retrieval.values())
    return f"R@1 is {times} times that of chance"


def _format_figures(metrics: Mapping[str, Metric]) -> str:
    lines = []
    for name, one in metrics.items():
        value, low, high = (format_value(name, each) for each in (one.value, one.low, one.high))
        lines.append(f"{name} {value}, {low} to {high}")
    return "; ".join(lines)
