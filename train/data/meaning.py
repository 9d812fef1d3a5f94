"""What captions say, as numbers that are equal where they say the same."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import Any

from synth.base.rng import digest
from synth.corpus.schema import canonical_json


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
