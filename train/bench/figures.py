"""Figures of metrics, for people."""

from __future__ import annotations

import math
from typing import Final

_RANK: Final = "median_rank"


def format_value(name: str, value: float) -> str:
    """A value for people: a median rank as a number, anything else in percent."""
    if math.isnan(value):
        return "-"
    if name.endswith(_RANK):
        return f"{value:.1f}"
    # Chances such as 0.082 % would be lost at one decimal.
    return f"{100 * value:.2g} %" if 0 < value < 0.01 else f"{100 * value:.1f} %"


def is_share(name: str, value: float) -> bool:
    """Whether a metric's value lies between 0 and 1: not a median rank, nor one of nothing."""
    return not name.endswith(_RANK) and not math.isnan(value)
