"""Edits: pairs of samples of which one becomes the other by one instruction, proven on both.

A sample is compared with the others of its group. Both must have the same length and have been
turned down by the same gain, so that nothing differs outside of the edit.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Any, Final, TypeAlias

import numpy as np

from synth.base.rng import Randomness, pick
from synth.derived.questions import Derived, Subject, derive_of_pairs, group_members
from synth.derived.wording import fill_frames, list_frames
from synth.labels.lexicon import Phrase
from synth.scene.activity import Stretch
from synth.scene.claim import Claim, claim_to_text
from synth.scene.scene import Concat, Event, Overlay, from_text
from synth.truth.change import Change, ChangeKind, Claims, find_change, list_claims, proves_change

# The words of edits: several ways to ask for each, and where the sound is that is meant.


def wordings(change: Change, claims: Claims) -> list[str]:
    """Every way to ask for a change."""
    where, other = _locate(change, claims[1] if change.kind is ChangeKind.ADD else claims[0])
    phrases = [Phrase.of_label(label) for label in (*change.sounds, *other)]
    decibels = f"{abs(change.gain_db):.0f}"
    return [
        f"{text.replace('DB', decibels)}."
        for text in fill_frames(list_frames("edit")[f"{change.kind}{where}"], phrases)
    ]


def _locate(change: Change, told: Claim) -> tuple[str, tuple[str, ...]]:
    """How the claim tells the place of a sound that comes or goes, and by which other one."""
    if change.kind in (ChangeKind.ADD, ChangeKind.REMOVE):
        match told:
            case Concat(Event(other), Event(label)) if label == change.sounds[0]:
                return " after", (other,)
            case Concat(_, Event(other)):
                return " before", (other,)
            case Overlay(_, Event(other)):
                return " while", (other,)
    return "", ()


# Finding the edits of a group.


EDIT: Final = "edit"
_TOLD_PLAINLY: Final = 0.5


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
            "gain_db": self.change.gain_db,
            "claims": [claim_to_text(claim) for claim in self.claims],
        }


Rows: TypeAlias = Mapping[str, Mapping[str, Any]]
"""Rows of `schema.SAMPLES` by id: of each, scene, frames and gain are read."""


def find_edits(subjects: Sequence[Subject], rows: Rows, randomness: Randomness) -> Derived[Edit]:
    """The edit between every two samples of a group that differ by one, whichever comes before."""
    return derive_of_pairs(subjects, randomness, "edits", partial(_find_edit, rows), EDIT)


def _find_edit(
    rows: Rows, before: Subject, after: Subject, rng: np.random.Generator
) -> Edit | None:
    change = _compare(rows[before.id], rows[after.id])
    if change is None:
        return None
    shared = tuple(label for label in before.sounds if label in after.sounds)
    candidates = [
        claims
        for claims in list_claims(change, shared)
        if proves_change(change, claims, before.hearing, after.hearing)
    ]
    if not candidates:
        return None
    plain, *placed = candidates
    is_plain = not placed or rng.random() < _TOLD_PLAINLY
    claims = plain if is_plain else pick(placed, rng)
    reverse = replace(
        change, kind=change.kind.reverse, sounds=change.sounds[::-1], gain_db=-change.gain_db
    )
    return Edit(
        id=f"{before.id}-{after.id}",
        before=before.id,
        after=after.id,
        change=change,
        instruction=pick(wordings(change, claims), rng),
        reverse_instruction=pick(wordings(reverse, claims[::-1]), rng),
        claims=claims,
    )


def _compare(had: Mapping[str, Any], has: Mapping[str, Any]) -> Change | None:
    """The single edit between two rows that are alike else."""
    change = find_change(from_text(had["scene"]), from_text(has["scene"]))
    whole = "lead", "frames", "gain_db"
    if change is None or any(had.get(name) != has.get(name) for name in whole):
        return None
    lead = had.get("lead") or 0
    return replace(change, stretch=Stretch(*(frame + lead for frame in change.stretch)))


# Two edits of one sample, of which an instruction means one.


@dataclass(frozen=True, slots=True)
class EditChoice:
    """A sample, two instructions, and the samples to which they lead, in the same order.

    Both are changes of one kind, by as many dB, in the same words but for the sounds. So the sample
    says nothing of which is meant, nor does an instruction to whoever cannot tell the sounds apart.

    Args:
        group: Of all three samples.
    """

    group: str
    kind: ChangeKind
    source: str
    targets: tuple[str, str]
    instructions: tuple[str, str]


def find_choices(
    subjects: Sequence[Subject], rows: Rows, kinds: Collection[str], randomness: Randomness
) -> list[EditChoice]:
    """Every two edits of a sample by a kind of change, each refuted of where the other leads."""
    choices = []
    for number, members in enumerate(group_members(subjects)):
        rng = randomness.at(f"choices/{subjects[0].id}", number)
        group = [subjects[at] for at in members]
        for source in group:
            ends: dict[tuple[str, float], list[tuple[Subject, Change]]] = defaultdict(list)
            for target in group:
                change = _compare(rows[source.id], rows[target.id])
                if change is not None and change.kind in kinds and _proves(change, source, target):
                    ends[change.kind, change.gain_db].append((target, change))
            for pair in (pair for some in ends.values() for pair in combinations(some, 2)):
                if _are_apart(*pair):
                    choices.append(_word_choice(source, pair, rng))
    return choices


def _proves(change: Change, source: Subject, target: Subject) -> bool:
    return proves_change(change, next(list_claims(change)), source.hearing, target.hearing)


def _are_apart(one: tuple[Subject, Change], other: tuple[Subject, Change]) -> bool:
    """Whether what is proven after each change is false after the other; of levels none tells."""
    if one[1].kind.is_level:
        return one[1].sounds != other[1].sounds
    after = [next(list_claims(change))[1] for _, change in (one, other)]
    return other[0].refutes(after[0]) and one[0].refutes(after[1])


def _word_choice(
    source: Subject, pair: Sequence[tuple[Subject, Change]], rng: np.random.Generator
) -> EditChoice:
    texts = [wordings(change, next(list_claims(change))) for _, change in pair]
    at = int(rng.integers(len(texts[0])))
    (one, change), (other, _) = pair
    return EditChoice(
        source.group, change.kind, source.id, (one.id, other.id), (texts[0][at], texts[1][at])
    )
