"""Balance: the captions of a group of samples, so dealt that no text betrays its truth.

The members of a group exchange their main captions: what is the main caption of one is a negative
of the others. So a loss that looks for the true one among them has the same sentences before it at
each member, and each of them is true once. Whoever compares the texts alone is right at one member
and wrong at all others, whatever he compares.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, TypeAlias

import numpy as np

from synth.base.rng import pick, shuffle
from synth.captions.caption import Caption
from synth.captions.contrast import CaptionSet
from synth.scene.claim import And, Claim, Not
from synth.scene.edit import EditSelection, Outline, find_edit
from synth.scene.scene import Concat, Overlay, Scene
from synth.truth.truth import Hearing

_WHOLE: Final = 0.6
"""Share of captions that tell all of a scene."""


@dataclass(frozen=True)
class Member:
    """One scene of a group.

    Args:
        hearing: What is heard. It proves the statement.
    """

    statement: Scene
    hearing: Hearing


Tell: TypeAlias = Callable[[Claim], Caption]
"""Puts a claim into words."""


def exchange(captions: Sequence[Caption], edit: StrEnum) -> list[CaptionSet]:
    """Captions each of which is true of one sample, and false of all others by the same edit."""
    return [
        CaptionSet(
            caption, (), tuple(other.as_false(edit) for other in captions if other is not caption)
        )
        for caption in captions
    ]


def deal(
    members: Sequence[Member],
    pool: Sequence[Claim],
    tell: Tell,
    limit: int,
    rng: np.random.Generator,
    denials: float,
) -> list[CaptionSet] | None:
    """Captions for the members of a group.

    Further true captions are drawn as the main ones are, so that they look like these.

    Args:
        pool: What may be said beside the statements.
        limit: Most true sentences of a member, its main caption included, and most false ones.
        denials: Share of groups whose captions deny a sound.

    Returns:
        One set a member; None where one can be told from no other.
    """
    count = -(-len(members) // (limit + 1))
    order = rng.permutation(len(members))
    sets: dict[int, CaptionSet] = {}
    for some in np.array_split(order, count):
        dealt = _deal_set([members[at] for at in some], pool, tell, limit, rng, denials)
        if dealt is None:
            return None
        sets.update(zip(some.tolist(), dealt, strict=True))
    return [sets[at] for at in range(len(members))]


def _deal_set(
    members: Sequence[Member],
    pool: Sequence[Claim],
    tell: Tell,
    limit: int,
    rng: np.random.Generator,
    denials: float,
) -> list[CaptionSet] | None:
    """The captions of members that exchange their main ones."""
    options = _choose_form(
        [
            [claim for claim in (member.statement, *pool) if _is_own(claim, member, members)]
            for member in members
        ],
        members,
        denials,
        rng,
    )
    if len(members) < 2 or not all(options):
        return None
    sets = [
        _tell_member(member, own, tell, limit, rng)
        for member, own in zip(members, options, strict=True)
    ]
    mains = [captions.caption for captions in sets]
    return [
        replace(
            captions,
            negatives=tuple(
                rival.as_false(find_edit(captions.caption.claim, rival.claim))
                for rival in mains
                if rival is not captions.caption
            ),
        )
        for captions in sets
    ]


def deal_alone(
    members: Sequence[Member],
    pool: Sequence[Claim],
    tell: Tell,
    limit: int,
    rng: np.random.Generator,
    denials: float,
) -> list[CaptionSet]:
    """True captions for members of which nothing true of one is false of another.

    They look like those that `deal` draws.
    """
    options = [
        [claim for claim in (member.statement, *pool) if member.hearing.proves(claim)]
        for member in members
    ]
    return [
        _tell_member(member, own, tell, limit, rng)
        for member, own in zip(members, _choose_form(options, members, denials, rng), strict=True)
    ]


def _choose_form(
    options: Sequence[Sequence[Claim]],
    members: Sequence[Member],
    denials: float,
    rng: np.random.Generator,
) -> Sequence[Sequence[Claim]]:
    """Claims that all deny or none does, so that a kind of edit has as many rivals of either form.

    What is denied beside sounds that others have, too, goes first: nothing but the denial tells.
    Where only some can deny, all that there are.
    """
    denies = rng.random() < denials
    forms = [
        [[claim for claim in own if _denies(claim) is wanted] for own in options]
        for wanted in (denies, not denies)
    ]
    if denies:
        pairs = zip(members, forms[0], strict=True)
        forms.insert(0, [[c for c in own if not _is_whole(c, member)] for member, own in pairs])
    return next((form for form in forms if all(form)), options)


def _tell_member(
    member: Member, own: Sequence[Claim], tell: Tell, limit: int, rng: np.random.Generator
) -> CaptionSet:
    """True captions of a member, all drawn alike."""
    main, *others = (tell(_draw_claim(member, own, rng)) for _ in range(limit))
    true = {caption.text: caption for caption in others if caption.text != main.text}
    return CaptionSet(main, tuple(true.values()), ())


def _denies(claim: Claim) -> bool:
    return isinstance(claim, And) and isinstance(claim.second, Not)


def _is_own(claim: Claim, member: Member, members: Sequence[Member]) -> bool:
    """Whether a claim is true of one member alone."""
    return member.hearing.proves(claim) and all(
        other.hearing.refutes(claim) for other in members if other is not member
    )


def _draw_claim(member: Member, own: Sequence[Claim], rng: np.random.Generator) -> Claim:
    """A claim that tells all that a member states, mostly, or another."""
    whole = [claim for claim in own if _is_whole(claim, member)]
    return pick(whole if whole and rng.random() < _WHOLE else own, rng)


def _is_whole(claim: Claim, member: Member) -> bool:
    return member.statement in (claim, claim.first if isinstance(claim, And) else None)


def print_captions(
    members: Sequence[Member],
    pool: Sequence[Claim],
    tell: Tell,
    limit: int,
    rng: np.random.Generator,
) -> list[CaptionSet]:
    """Captions as CompA prints them: all of a scene, then compositions of any number of sounds.

    Their words leave open what belongs together: what reads like a true one is no false one. The
    text tells which is which.
    """
    compositions = [claim for claim in pool if isinstance(claim, Concat | Overlay)]
    sets = []
    for member in members:
        main = tell(member.statement)
        selection = EditSelection(member.statement)
        true = {main.text: main}
        false: dict[str, Caption] = {}
        for claim in shuffle(compositions, rng):
            if member.hearing.proves(claim):
                true.setdefault((caption := tell(claim)).text, caption)
            elif member.hearing.refutes(claim):
                caption = tell(claim).as_false(selection.kind(Outline.of(claim)))
                false.setdefault(caption.text, caption)
        negatives = [caption for text, caption in false.items() if text not in true]
        positives = [*true.values()][1:limit]
        sets.append(CaptionSet(main, tuple(positives), tuple(negatives[:limit])))
    return sets
