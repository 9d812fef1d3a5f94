"""What a caption claims: a scene over labels, or a statement built from such scenes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, TypeAlias, assert_never

from synth.base.errors import SceneError
from synth.scene.scene import (
    MAX_DEPTH,
    Concat,
    Event,
    Overlay,
    Scene,
    from_json,
    read_json_text,
    to_json,
    to_text,
)

MAX_TIMES: Final = 100
"""How often a claim may say that a sound is heard."""


@dataclass(frozen=True, slots=True)
class And:
    """Both claims are true, with no word on how they relate in time."""

    first: Claim
    second: Claim


@dataclass(frozen=True, slots=True)
class Not:
    """The claim is false."""

    claim: Claim


@dataclass(frozen=True, slots=True)
class Only:
    """The claim is true and no other label is heard."""

    claim: Claim


@dataclass(frozen=True, slots=True)
class Count:
    """A sound is heard so many times, no more and no fewer.

    Args:
        event: The sound, by its label.
        times: How often, at least 1.
    """

    event: Event
    times: int

    def __post_init__(self) -> None:
        if not 1 <= self.times <= MAX_TIMES:
            raise SceneError(
                f"a sound cannot be counted {self.times} times", fix=f"1 to {MAX_TIMES}"
            )


Claim: TypeAlias = Scene | And | Not | Only | Count


def claim_to_json(claim: Claim) -> dict[str, Any]:
    """The claim as JSON values; `claim_from_json` is its inverse."""
    match claim:
        case And(first, second):
            return {"and": [claim_to_json(first), claim_to_json(second)]}
        case Not(inner):
            return {"not": claim_to_json(inner)}
        case Only(inner):
            return {"only": claim_to_json(inner)}
        case Count(event, times):
            return {"count": to_json(event), "times": times}
        case Event() | Concat() | Overlay():
            return to_json(claim)
        case _:
            assert_never(claim)


def claim_to_text(claim: Claim) -> str:
    """`claim_to_json` as text with sorted keys and no spaces: equal claims give equal text."""
    match claim:
        case And(first, second):
            return f'{{"and":[{claim_to_text(first)},{claim_to_text(second)}]}}'
        case Not(inner):
            return f'{{"not":{claim_to_text(inner)}}}'
        case Only(inner):
            return f'{{"only":{claim_to_text(inner)}}}'
        case Count(event, times):
            return f'{{"count":{to_text(event)},"times":{times}}}'
        case Event() | Concat() | Overlay():
            return to_text(claim)
        case _:
            assert_never(claim)


def claim_from_json(value: Any) -> Claim:
    """The claim that `claim_to_json` wrote.

    Raises:
        SceneError: If `value` is not of that form.
    """
    return _read(value, 0)


def _read(value: Any, depth: int) -> Claim:
    if depth > MAX_DEPTH:
        raise SceneError(f"a claim is at most {MAX_DEPTH} deep", fix="claim fewer things at once")
    match value:
        case {"and": [first, second]}:
            return And(_read(first, depth + 1), _read(second, depth + 1))
        case {"not": inner}:
            return Not(_read(inner, depth + 1))
        case {"only": inner}:
            return Only(_read(inner, depth + 1))
        case {"count": event, "times": int(times)} if type(times) is int:
            found = from_json(event)
            if isinstance(found, Event):
                return Count(found, times)
        case {"event": _} | {"sequence": _} | {"overlay": _}:
            return from_json(value)
    raise SceneError(
        "not a claim: " + f"{value!r}"[:200],
        fix='expected a scene, or an object with "and", "not", "only" or "count"',
    )


def claim_from_text(text: str) -> Claim:
    """The claim that `claim_to_text` wrote.

    Raises:
        SceneError: If the text is no JSON, nested too deeply, or not of that form.
    """
    return claim_from_json(read_json_text(text))


def claim_labels(claim: Claim) -> frozenset[str]:
    """Every label that the claim mentions."""
    # Asked of every claim of a plan: patterns with classes take twice as long.
    if isinstance(claim, Not | Only):
        return claim_labels(claim.claim)
    if isinstance(claim, And):
        return claim_labels(claim.first) | claim_labels(claim.second)
    if isinstance(claim, Count):
        return frozenset(claim.event.named)
    return frozenset(claim.named)


def parts_of(claim: Claim) -> tuple[Claim, ...]:
    """The claims that `And` joins, however it is nested."""
    if isinstance(claim, And):
        return *parts_of(claim.first), *parts_of(claim.second)
    return (claim,)
