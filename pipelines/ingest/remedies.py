"""Remedies: the setting that would have kept clips, or made groups, by the reason that is told.

Reasons lie in manifests, where they never change; `remedies.csv` says what to do about them. There
`#` stands for a number, and `choose` names the function that makes the value of all clips' numbers.
"""

from __future__ import annotations

import csv
import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final, TypeAlias

from synth.base.own_label import name_of
from synth.labels.lexicon import spell_listed

Row: TypeAlias = Mapping[str, Any]
_NAMED: Final = 3
"""Labels that a remedy names."""
_STEP_S: Final = 0.01
"""The numbers of reasons are rounded to this, or less."""
_CHOOSE: Final[Mapping[str, Callable[[Sequence[float]], float]]] = {
    "below": lambda numbers: _round_down(min(numbers) - _STEP_S / 2),
    "half_below": lambda numbers: _round_down((min(numbers) - _STEP_S / 2) / 2),
    "above": lambda numbers: math.floor(max(numbers)) + 1,
    "least": min,
    "most": max,
}
_TWO_LABELS: Final = re.compile(r"is one sound under two labels: .* \((.*)\) and .* \((.*)\)")


def with_clip(row: Row, clip: Row | None) -> Row:
    """A row of `schema.QUARANTINE` with what `find_remedy` asks of its clip, if that is known."""
    if clip is None:
        return row
    seconds = (clip["offset"] - clip["onset"]) / clip["sample_rate"]
    return {**row, "labels": clip["labels"], "seconds": seconds}


def find_pattern(reason: str) -> str:
    """Which row of `remedies.csv` a reason falls under, "" where none: one has one remedy."""
    return next((row.pattern for row, _, _ in _read_remedies() if row.match(reason)), "")


def find_remedy(rows: Sequence[Row]) -> str:
    """What is to be done about one kind of reason, "" where nothing is known.

    Args:
        rows: With a `reason`; those of `schema.QUARANTINE` with the `labels` and `seconds` of clips
            that are catalogued.
    """
    first = rows[0]["reason"]
    for pattern, choose, remedy in _read_remedies():
        if pattern.match(first):
            matches = [match for row in rows if (match := pattern.match(row["reason"]))]
            numbers = [float(match[1].replace(",", "")) for match in matches if pattern.groups]
            named = dict.fromkeys(name_of(label) for row in rows for label in row.get("labels", ()))
            labels = [*named][:_NAMED]
            them = "it" if len(rows) == 1 else "them"
            if len(named) > _NAMED and "{countable}" in remedy:
                them = f"those of these {_NAMED} labels"
            return remedy.format(
                recipe=rows[0].get("stage", "").removeprefix("recipe "),
                value=f"{_CHOOSE[choose](numbers):g}" if choose else "",
                them=them,
                labels=", ".join(labels),
                countable=", ".join(f"{label}: {{countable: true}}" for label in labels),
                seconds=f"{math.ceil(10 * max(row.get('seconds', 0) for row in rows)) / 10:g}",
            )
    if match := _TWO_LABELS.match(first):
        for label, other in (match.groups(), match.groups()[::-1]):
            if spell_listed(other):
                return f"`labels: {{{label}: {{also: [{other}]}}}}` keeps one, if both are right"
    return ""


@cache
def _read_remedies() -> Sequence[tuple[re.Pattern[str], str, str]]:
    with Path(__file__).with_name("remedies.csv").open(encoding="utf-8", newline="") as file:
        return [
            (re.compile(row["reason"].replace("#", r"([\d.,]*\d)")), row["choose"], row["remedy"])
            for row in csv.DictReader(file)
        ]


def _round_down(number: float) -> float:
    return max(0, math.floor(number / _STEP_S)) * _STEP_S
