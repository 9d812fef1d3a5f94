"""Why clips are quarantined: reasons that differ in numbers and names alone, counted as one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest
from typing import Final

SHOWN: Final = 20
KIND_WORDS: Final = 4
_NUMBER: Final = re.compile(r"\d[\d,.]*")


@dataclass(frozen=True, slots=True)
class RefusalKind:
    """A kind of reason.

    Args:
        clips: How many clips it holds of.
        reason: The words that all share, with `…` for those that differ.
        location: Of the first of these clips.
    """

    clips: int
    reason: str
    location: str

    @property
    def line(self) -> str:
        """For people."""
        return f"{self.clips:,} quarantined: {self.reason} (as {self.location})"


def count_refusals(quarantine: Iterable[Mapping[str, str]]) -> list[RefusalKind]:
    """Quarantined clips, counted by kind of reason, the most frequent first.

    Args:
        quarantine: Rows of `schema.QUARANTINE`.
    """
    kinds: dict[str, list[Mapping[str, str]]] = {}
    for row in quarantine:
        kinds.setdefault(_classify(row["reason"]), []).append(row)
    ranked = sorted(kinds.values(), key=lambda rows: (-len(rows), rows[0]["reason"]))
    return [
        RefusalKind(
            len(rows), _find_common_reason([row["reason"] for row in rows]), rows[0]["location"]
        )
        for rows in ranked
    ]


def format_refusals(found: Sequence[RefusalKind]) -> list[str]:
    """For people: the most frequent reasons, and how many clips have others."""
    lines = [each.line for each in found[:SHOWN]]
    others = sum(each.clips for each in found[SHOWN:])
    return [*lines, f"and {others:,} for other reasons"] if others else lines


def _classify(reason: str) -> str:
    """What reasons that differ in numbers and names have in common: their first words."""
    return " ".join(_NUMBER.sub("#", reason).split()[:KIND_WORDS])


def _find_common_reason(reasons: list[str]) -> str:
    """The words that all share, with `…` for those that differ."""
    columns = [set(words) for words in zip_longest(*(reason.split() for reason in reasons))]
    shared = [words.pop() if len(words) == 1 else "…" for words in columns]
    return " ".join(word for word, _ in groupby(shared))
