"""What captions claim: as numbers that are equal where they say the same, and of which sounds.

A loss takes the other captions of a batch for false. Of another group's that is a fair guess; of
the own group's it is known, and one that is not refuted must not stand against the sound.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import torch
from jaxtyping import Bool
from torch import Tensor

from synth.base.rng import digest
from synth.base.units import Frames
from synth.corpus.schema import canonical_json, read_timeline
from synth.labels.lexicon import MUSIC
from synth.recipes.clips import UNNAMED
from synth.scene.claim import claim_from_text, claim_to_text
from synth.scene.scene import Event
from synth.truth.relations import Tolerance
from synth.truth.truth import Hearing
from train.data.rows import Row

NAMELESS: Final = frozenset(claim_to_text(Event(label)) for label in (MUSIC, UNNAMED))
"""The claims of captions that claim neither a label nor a tag."""


@lru_cache(maxsize=65536)
def number_of(text: str) -> int:
    """A number that any process gives this text: 60 bits of its SHA-256."""
    return int(digest(text)[:15], 16)


@lru_cache(maxsize=65536)
def meaning(claim: str) -> str:
    """A claim in the one form that all claims of equal meaning share.

    Args:
        claim: Claim as JSON. What is heard together, or joined by "and", has no order; and the
            three compositions join the same parts however they are nested.
    """
    return canonical_json(_sort_operands(json.loads(claim)))


def find_meaning(caption: str, claim: str) -> str:
    """What a caption says: its claim, or its own words where that names nothing."""
    return caption if claim in NAMELESS else meaning(claim)


def _sort_operands(value: Any) -> Any:
    match value:
        case {"overlay": _, **rest}:
            return {
                "overlay": sorted(_collect_operands(value, "overlay"), key=canonical_json),
                **rest,
            }
        case {"and": _}:
            return {"and": sorted(_collect_operands(value, "and"), key=canonical_json)}
        case {"sequence": _, **rest}:
            return {"sequence": _collect_operands(value, "sequence"), **rest}
        case {"not": inner}:
            return {"not": _sort_operands(inner)}
        case {"only": inner}:
            return {"only": _sort_operands(inner)}
    return value


def _collect_operands(value: Any, kind: str) -> list[Any]:
    """What a composition joins, however it is nested."""
    if kind not in value:
        return [_sort_operands(value)]
    return [operand for part in value[kind] for operand in _collect_operands(part, kind)]


def find_unrefuted(
    rows: Sequence[Row], claims: Sequence[str], audible: Frames
) -> Bool[Tensor, "rows rows"]:
    """Which caption (column) is not refuted of which sound (row), within groups.

    The negatives of a row are known to be false. Other claims are judged on what is heard of it; of
    a part of a sample they count as not refuted.
    """
    unrefuted = torch.zeros(len(rows), len(rows), dtype=torch.bool)
    groups: dict[str, list[int]] = {}
    for at, row in enumerate(rows):
        groups.setdefault(row["group"], []).append(at)
    for members in groups.values():
        for at in members if len(members) > 1 else ():
            row, hearing = rows[at], None
            false = {meaning(text["claim"]) for text in row["negatives"]}
            for other in members:
                if other == at or meaning(claims[other]) in false:
                    continue
                if row.crop is None:
                    hearing = hearing or Hearing(read_timeline(row), Tolerance(audible=audible))
                    if hearing.refutes(claim_from_text(claims[other])):
                        continue
                unrefuted[at, other] = True
    return unrefuted
