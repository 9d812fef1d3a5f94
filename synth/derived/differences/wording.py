"""The words of difference captions: several ways to put each kind.

Frame k of a kind and of its reverse are twins, so that a caption and its reverse differ in what
they say and not in how.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from typing import Final, TypeAlias

from synth.derived.questions.subject import Subject
from synth.derived.questions.wording import sayings
from synth.scene.claim import Claim, Not
from synth.scene.scene import Concat, Event, Overlay

Claims: TypeAlias = tuple[Claim, Claim]
"""What is said of the first sample, and of the second."""


class DifferenceKind(StrEnum):
    """How the second sample differs from the first.

    `reorder`: two sounds follow one another the other way round. `together`: they follow one
    another in the first and are together in the second; `apart` the reverse. `rebind`: a sound is
    together with another partner. `replaced`: a sound is gone and another has come. `added`,
    `removed`: one has come, or gone.
    """

    REORDER = "reorder"
    TOGETHER = "together"
    APART = "apart"
    REBIND = "rebind"
    REPLACED = "replaced"
    ADDED = "added"
    REMOVED = "removed"


FRAMES: Final[Mapping[DifferenceKind, tuple[str, ...]]] = {
    DifferenceKind.REORDER: (
        "in the first recording, {a.clause} before {b.clause}; in the second, "
        "it is the other way round",
        "in the first recording, {a.clause} before {b.clause}; in the second, only afterwards",
        "in the first recording you hear {a.noun} before {b.noun}; in the second, "
        "{a.noun} after {b.noun}",
        "in the first recording you hear {a.noun} and then {b.noun}; in the second, "
        "{b.noun} and then {a.noun}",
    ),
    DifferenceKind.TOGETHER: (
        "in the first recording, {a.clause} before {b.clause}; in the second, "
        "both are heard at the same time",
        "in the first recording you hear {a.noun} and then {b.noun}; in the second, "
        "both at the same time",
        "in the first recording, {b.clause} after {a.clause}; in the second, "
        "{a.clause} while {b.clause}",
    ),
    DifferenceKind.APART: (
        "in the first recording, {a.clause} while {b.clause}; in the second, "
        "{a.clause} before {b.clause}",
        "in the first recording you hear {a.noun} and {b.noun} at the same time; in the second, "
        "first {a.noun} and then {b.noun}",
        "in the first recording, {a.clause} while {b.clause}; in the second, "
        "{b.clause} after {a.clause}",
    ),
    DifferenceKind.REBIND: (
        "in the first recording you hear {a.noun} together with {b.noun}; in the second, "
        "together with {c.noun}",
        "in the first recording, {a.clause} while {b.clause}; in the second, while {c.clause}",
        "in the first recording you hear {a.noun} and {b.noun} at the same time; in the second, "
        "{a.noun} and {c.noun}",
    ),
    DifferenceKind.REPLACED: (
        "in the first recording you hear {a.noun}; in the second, {b.noun} instead",
        "only in the first recording do you hear {a.noun}, and only in the second {b.noun}",
        "in the first recording, {a.clause}; in the second, {b.clause} instead",
    ),
    DifferenceKind.ADDED: (
        "only in the second recording do you hear {a.noun}",
        "you hear {a.noun} in the second recording, but not in the first",
        "in the first recording you never hear {a.noun}; in the second you do",
    ),
    DifferenceKind.REMOVED: (
        "only in the first recording do you hear {a.noun}",
        "you hear {a.noun} in the first recording, but not in the second",
        "in the first recording you hear {a.noun}; in the second you do not",
    ),
}
_REVERSE: Final = {
    DifferenceKind.TOGETHER: DifferenceKind.APART,
    DifferenceKind.APART: DifferenceKind.TOGETHER,
    DifferenceKind.ADDED: DifferenceKind.REMOVED,
    DifferenceKind.REMOVED: DifferenceKind.ADDED,
}


def reverse_kind(kind: DifferenceKind) -> DifferenceKind:
    """How the first sample differs from the second."""
    return _REVERSE.get(kind, kind)


def wordings(kind: DifferenceKind, claims: Claims, first: Subject, second: Subject) -> list[str]:
    """Every way to say a difference; none where the claims are not of its kind."""
    named = _list_sounds(kind, claims)
    if named is None:
        return []
    speaker = replace(first, sentences=first.sentences | second.sentences)
    found = sayings(FRAMES[kind], dict(zip("abc", named, strict=False)), speaker)
    return [f"{text}." for text in found]


def _list_sounds(kind: DifferenceKind, claims: Claims) -> tuple[str, ...] | None:
    """The sounds of a difference, in the order of its frames' slots."""
    match kind, claims:
        case DifferenceKind.REORDER, (Concat(Event(a), Event(b)), Concat(Event(c), Event(d))):
            return (a, b) if (a, b) == (d, c) else None
        case DifferenceKind.TOGETHER, (Concat(Event(a), Event(b)), Overlay(Event(c), Event(d))):
            return (a, b) if (a, b) == (c, d) else None
        case DifferenceKind.APART, (Overlay(Event(c), Event(d)), Concat(Event(a), Event(b))):
            return (a, b) if (a, b) == (c, d) else None
        case DifferenceKind.REBIND, (Overlay(Event(a), Event(b)), Overlay(Event(d), Event(c))):
            return (a, b, c) if a == d else None
        case DifferenceKind.REPLACED, (Event(a), Event(b)):
            return (a, b)
        case DifferenceKind.ADDED, (Not(Event(a)), Event(b)):
            return (a,) if a == b else None
        case DifferenceKind.REMOVED, (Event(a), Not(Event(b))):
            return (a,) if a == b else None
    return None
