"""The splits of a library's clips: no recording is in two."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from synth.base.rng import uniform_hash
from synth.sources.catalogue import quarantine_row


@dataclass(frozen=True, slots=True)
class SplitRule:
    """How clips are dealt to a split.

    Args:
        name: `train`, `val` or `test`.
        fraction: Share of the recordings, or None.
        source_splits: The library's own splits or folds that form it.
    """

    name: str
    fraction: float | None = None
    source_splits: tuple[str, ...] = ()


def assign_splits(
    rows: Sequence[dict[str, Any]], rules: Sequence[SplitRule], seed: int
) -> list[dict[str, str]]:
    """Set each row's `split` so that no recording is in two; "" for rows outside every split.

    By fraction: a recording's split follows from the seed, its name and the fractions alone, so
    that it does not move where other clips come or go. The fractions hold in expectation.

    Returns:
        Rows of `schema.QUARANTINE` for clips of recordings that the library itself divides.
    """
    find_split = split_finder(rules, seed)
    for row in rows:
        row["split"] = find_split(row)
    return _withdraw_divided(rows)


def split_finder(rules: Sequence[SplitRule], seed: int) -> Callable[[Mapping[str, Any]], str]:
    """What tells a clip's split, by its row; see `assign_splits`."""
    if all(rule.fraction is None for rule in rules):
        owner = {name: rule.name for rule in rules for name in rule.source_splits}
        return lambda row: owner.get(row["source_split"], "")
    return lambda row: _split_at(uniform_hash("split", str(seed), row["recording"]), rules)


def _split_at(position: float, rules: Sequence[SplitRule]) -> str:
    edge = 0.0
    for rule in rules:
        edge += rule.fraction or 0.0
        if position < edge:
            return rule.name
    return rules[-1].name if edge > 1 - 1e-9 else ""


def _withdraw_divided(rows: Sequence[dict[str, Any]]) -> list[dict[str, str]]:
    splits: dict[str, set[str]] = {}
    for row in rows:
        if row["split"]:
            splits.setdefault(row["recording"], set()).add(row["split"])
    withdrawn = []
    for row in rows:
        splits_of = sorted(splits.get(row["recording"], ()))
        if row["split"] and len(splits_of) > 1:
            row["split"] = ""
            named = " and ".join(splits_of)
            reason = f"is from recording {row['recording']}, which lies in the splits {named}"
            withdrawn.append(quarantine_row(row["id"], row["location"], "split", reason))
    return withdrawn
