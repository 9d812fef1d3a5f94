"""Memo: values that are kept while there is room, as they may be asked for again."""

from __future__ import annotations

from collections import OrderedDict
from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


def remember(values: OrderedDict[K, V], key: K, value: V, most: int) -> V:
    """Keep a value, in the place of the oldest where there are `most`."""
    if len(values) >= most:
        values.popitem(last=False)
    values[key] = value
    return value
