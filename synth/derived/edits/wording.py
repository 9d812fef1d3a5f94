"""The words of edits: several ways to ask for each, and where the sound is that is meant."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Final

from synth.captions.caption import capitalise
from synth.labels.lexicon import Phrase
from synth.scene.claim import Claim
from synth.scene.scene import Concat, Event, Overlay, labels
from synth.truth.change import Change, ChangeKind, Claims

_SLOT: Final = re.compile(r"\{(?P<sound>[ab])\.(?P<form>noun|definite|clause|gerund)\}")


class Where(StrEnum):
    """How the place of a sound is told: not at all, or by another one."""

    ANYWHERE = "anywhere"
    AFTER = "after"
    BEFORE = "before"
    WHILE = "while"


FRAMES: Final[Mapping[tuple[ChangeKind, Where], tuple[str, ...]]] = {
    (ChangeKind.ADD, Where.ANYWHERE): ("add {a.noun}", "insert {a.noun}", "add {a.gerund}"),
    (ChangeKind.ADD, Where.AFTER): (
        "add {a.noun} after {b.definite}",
        "insert {a.gerund} after {b.definite}",
        "after {b.definite}, add {a.noun}",
    ),
    (ChangeKind.ADD, Where.BEFORE): (
        "add {a.noun} before {b.definite}",
        "insert {a.gerund} before {b.definite}",
        "before {b.definite}, add {a.noun}",
    ),
    (ChangeKind.ADD, Where.WHILE): (
        "mix {a.noun} with {b.definite}",
        "add {a.noun} while {b.clause}",
        "while {b.clause}, add {a.gerund}",
    ),
    (ChangeKind.REMOVE, Where.ANYWHERE): (
        "remove {a.definite}",
        "silence {a.definite}",
        "take out {a.definite}",
    ),
    (ChangeKind.REMOVE, Where.AFTER): (
        "remove {a.definite} after {b.definite}",
        "silence {a.definite} after {b.definite}",
        "after {b.definite}, take out {a.definite}",
    ),
    (ChangeKind.REMOVE, Where.BEFORE): (
        "remove {a.definite} before {b.definite}",
        "silence {a.definite} before {b.definite}",
        "before {b.definite}, take out {a.definite}",
    ),
    (ChangeKind.REMOVE, Where.WHILE): (
        "remove {a.definite} and keep {b.definite}",
        "silence {a.definite} and keep {b.definite}",
        "keep {b.definite}, but take out {a.definite}",
    ),
    (ChangeKind.REPLACE, Where.ANYWHERE): (
        "replace {a.definite} with {b.noun}",
        "put {b.noun} in place of {a.definite}",
        "exchange {a.definite} for {b.noun}",
    ),
    (ChangeKind.QUIETER, Where.ANYWHERE): (
        "make {a.definite} quieter",
        "turn {a.definite} down",
        "lower {a.definite} by DB dB",
        "turn {a.definite} down by DB dB",
    ),
    (ChangeKind.LOUDER, Where.ANYWHERE): (
        "make {a.definite} louder",
        "turn {a.definite} up",
        "raise {a.definite} by DB dB",
        "turn {a.definite} up by DB dB",
    ),
    (ChangeKind.SWAP, Where.ANYWHERE): (
        "swap {a.definite} and {b.definite}",
        "exchange the order of {a.definite} and {b.definite}",
        "move {b.definite} before {a.definite}",
        "let {b.definite} come before {a.definite}",
    ),
}


def wordings(change: Change, claims: Claims) -> list[str]:
    """Every way to ask for a change; none where the claims are not of its kind."""
    told = claims[1] if change.kind is ChangeKind.ADD else claims[0]
    where, other = _locate(change, told)
    if where is None:
        return []
    named = (*change.sounds, other) if other else change.sounds
    said = {slot: Phrase.of_label(label) for slot, label in zip("ab", named, strict=False)}
    decibels = f"{abs(change.gain_db):.0f}"
    return [
        capitalise(
            _SLOT.sub(lambda slot: str(getattr(said[slot["sound"]], slot["form"])), frame)
        ).replace("DB", decibels)
        + "."
        for frame in FRAMES[change.kind, where]
    ]


def _locate(change: Change, told: Claim) -> tuple[Where | None, str]:
    """How the claim tells the place of the sound, and by which other one."""
    if change.kind not in (ChangeKind.ADD, ChangeKind.REMOVE):
        return Where.ANYWHERE, ""
    (label,) = change.sounds
    match told:
        case Event(found) if found == label:
            return Where.ANYWHERE, ""
        case Concat(Event(other), Event(found)) if found == label:
            return Where.AFTER, other
        case Concat(Event(found), Event(other)) if found == label:
            return Where.BEFORE, other
        case Overlay(Event(), Event()) if labels(told)[0] == label:
            return Where.WHILE, labels(told)[1]
    return None, ""
