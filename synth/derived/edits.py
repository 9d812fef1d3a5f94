"""Edits: pairs of samples of which one becomes the other by one instruction, proven on both.

A sample is compared with the others of its group. Both must have the same length and have been
turned down by the same gain, so that nothing differs outside of the edit.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations
from typing import Any, Final

import numpy as np

from synth.base.rng import Randomness, pick, shuffle
from synth.base.units import Decibels, Frames
from synth.captions.caption import capitalise
from synth.derived.asking import group_members
from synth.derived.questions import Subject, subjects
from synth.labels.lexicon import Phrase
from synth.scene.claim import Claim, claim_to_text
from synth.scene.scene import Concat, Event, Overlay, Scene, from_text, labels
from synth.truth.change import Change, ChangeKind, Claims, find_change, list_claims, proves_change
from synth.truth.truth import Hearing

# The words of edits: several ways to ask for each, and where the sound is that is meant.


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
    claim = claims[1] if change.kind is ChangeKind.ADD else claims[0]
    where, other = _locate(change, claim)
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


# Finding the edits of a group.


_TOLD_PLAINLY: Final = 0.5


@dataclass(frozen=True)
class Take:
    """One sample of a corpus, as it is edited.

    Args:
        gain_db: By which the whole was turned down.
    """

    subject: Subject
    scene: Scene
    frames: Frames
    gain_db: Decibels

    @property
    def hearing(self) -> Hearing:
        """Decides claims on what is heard."""
        return Hearing(self.subject.heard, self.subject.tolerance)


@dataclass(frozen=True, slots=True)
class Edit:
    """An instruction, and the two samples between which it leads.

    Args:
        claims: What is proven before, and what is proven after.
    """

    id: str
    before: str
    after: str
    change: Change
    instruction: str
    reverse_instruction: str
    claims: Claims

    def to_json(self) -> dict[str, Any]:
        """As a row; claims are JSON text, as in the manifests."""
        return {
            "id": self.id,
            "before": self.before,
            "after": self.after,
            "kind": self.change.kind.value,
            "sounds": list(self.change.sounds),
            "instruction": self.instruction,
            "reverse_instruction": self.reverse_instruction,
            "onset": self.change.stretch.onset,
            "offset": self.change.stretch.offset,
            "gain_db": self.change.gain_db,
            "claims": [claim_to_text(claim) for claim in self.claims],
        }


@dataclass(frozen=True)
class FoundEdits:
    """Edits, and the pairs of one group of which none leads to the other.

    Args:
        unlike: How many pairs have none.
    """

    edits: tuple[Edit, ...]
    unlike: int


def takes(
    rows: Iterable[Mapping[str, Any]], clips: Mapping[str, Mapping[str, Any]], audible: Frames
) -> list[Take]:
    """Samples as they are edited, in the order of their rows.

    Args:
        clips: Rows of `schema.CLIPS` by clip id; labels, captions and tags are read.
        audible: Shortest overlap that can be heard, as the manifest's metadata says.
    """
    rows = list(rows)
    return [
        Take(subject, from_text(row["scene"]), row["frames"], row["gain_db"])
        for row, subject in zip(rows, subjects(rows, clips, audible), strict=True)
    ]


def find_edits(found: Sequence[Take], randomness: Randomness) -> FoundEdits:
    """The edit between every two samples of a group that differ by one.

    Args:
        found: Whole groups of one split; a pure function of them and the seed.
        randomness: The source of all that is drawn; also which sample of a pair comes before.
    """
    edits: list[Edit] = []
    unlike = 0
    about = [take.subject for take in found]
    for number, members in enumerate(group_members(about)):
        rng = randomness.at(f"edits/{about[0].id}", number)
        for pair in combinations(members, 2):
            before, after = (found[at] for at in shuffle(pair, rng))
            edit = _find_edit(before, after, rng)
            if edit is None:
                unlike += 1
            else:
                edits.append(edit)
    return FoundEdits(tuple(edits), unlike)


def _find_edit(before: Take, after: Take, rng: np.random.Generator) -> Edit | None:
    change = find_change(before.scene, after.scene)
    if change is None or _differ_as_wholes(before, after):
        return None
    sides = before.hearing, after.hearing
    candidates = [
        claims
        for claims in list_claims(change, _shared_sounds(before, after))
        if proves_change(change, claims, *sides)
    ]
    if not candidates:
        return None
    plain, *placed = candidates
    is_plain = not placed or rng.random() < _TOLD_PLAINLY
    claims = plain if is_plain else pick(placed, rng)
    asked, undone = wordings(change, claims), wordings(_reverse(change), claims[::-1])
    if not asked or not undone:
        return None
    return Edit(
        id=f"{before.subject.id}-{after.subject.id}",
        before=before.subject.id,
        after=after.subject.id,
        change=change,
        instruction=pick(asked, rng),
        reverse_instruction=pick(undone, rng),
        claims=claims,
    )


def _reverse(change: Change) -> Change:
    return replace(
        change,
        kind=change.kind.reverse,
        sounds=change.sounds[::-1],
        gain_db=-change.gain_db,
    )


def _shared_sounds(before: Take, after: Take) -> tuple[str, ...]:
    """The sounds that both name, each once."""
    return tuple(label for label in before.subject.sounds if label in after.subject.sounds)


def _differ_as_wholes(before: Take, after: Take) -> bool:
    return (before.frames, before.gain_db) != (after.frames, after.gain_db)
