"""Memo: values that are kept while there is room, as they may be asked for again."""

from __future__ import annotations

from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")


def remember(values: dict[K, V], key: K, value: V, most: int) -> V:
    """Keep a value, in the place of the oldest where there are `most`."""
    if len(values) >= most:
        values.pop(next(iter(values)), None)
    values[key] = value
    return value
