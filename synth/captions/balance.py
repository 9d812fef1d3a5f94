"""Balance: the captions of a group of samples, so dealt that no text betrays its truth.

The members of a group exchange their main captions: what is the main caption of one is a negative
of the others. So a loss that looks for the true one among them has the same sentences before it at
each member, and each of them is true once. Whoever compares the texts alone is right at one member
and wrong at all others, whatever he compares.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, TypeAlias

import numpy as np

from synth.base.rng import pick, shuffle
from synth.captions.caption import Caption
from synth.captions.contrast import CaptionSet
from synth.scene.claim import And, Claim, Not
from synth.scene.edit import EditSelection, find_edit
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


@dataclass(frozen=True)
class Dealer:
    """Deals captions to the members of a group.

    Args:
        limit: Most true sentences of a member, its main caption included, and most false ones.
        denials: Share of groups whose captions deny a sound.
    """

    tell: Tell
    limit: int
    rng: np.random.Generator
    denials: float = 0.0

    def deal(self, members: Sequence[Member], pool: Sequence[Claim]) -> list[CaptionSet] | None:
        """Main captions that members exchange; None where one can be told from no other.

        Further true captions are drawn as the main ones are, so that they look like these.

        Args:
            pool: What may be said beside the statements.
        """
        count = -(-len(members) // (self.limit + 1))
        order = self.rng.permutation(len(members))
        sets: dict[int, CaptionSet] = {}
        for some in np.array_split(order, count):
            dealt = self._deal_set([members[at] for at in some], pool)
            if dealt is None:
                return None
            sets.update(zip(some.tolist(), dealt, strict=True))
        return [sets[at] for at in range(len(members))]

    def _deal_set(
        self, members: Sequence[Member], pool: Sequence[Claim]
    ) -> list[CaptionSet] | None:
        """The captions of members that exchange their main ones."""
        owned: list[list[Claim]] = [[] for _ in members]
        for claim in pool:
            owner = _find_owner(claim, members)
            if owner is not None:
                owned[owner].append(claim)
        for member, claims in zip(members, owned, strict=True):
            if _find_owner(member.statement, members) is not None:
                claims.insert(0, member.statement)
        options = self._choose_form(owned, members)
        if len(members) < 2 or not all(options):
            return None
        sets = list(map(self._tell_member, members, options))
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

    def deal_alone(self, members: Sequence[Member], pool: Sequence[Claim]) -> list[CaptionSet]:
        """True captions for members of which nothing true of one is false of another.

        They look like those that `deal` draws.
        """
        options = [
            [claim for claim in (member.statement, *pool) if member.hearing.proves(claim)]
            for member in members
        ]
        return list(map(self._tell_member, members, self._choose_form(options, members)))

    def _choose_form(
        self, options: Sequence[Sequence[Claim]], members: Sequence[Member]
    ) -> Sequence[Sequence[Claim]]:
        """Claims that all deny or none does, so that a kind of edit has as many rivals of either.

        What is denied beside sounds that others have, too, goes first: nothing but the denial
        tells. Where only some can deny, all that there are.
        """
        denies = self.rng.random() < self.denials
        forms = [
            [[claim for claim in own if _denies(claim) is wanted] for own in options]
            for wanted in (denies, not denies)
        ]
        if denies:
            pairs = zip(members, forms[0], strict=True)
            forms.insert(0, [[c for c in own if not _is_whole(c, member)] for member, own in pairs])
        return next((form for form in forms if all(form)), options)

    def _tell_member(self, member: Member, own: Sequence[Claim]) -> CaptionSet:
        """True captions of a member, all drawn alike; most tell all that it states."""
        whole = [claim for claim in own if _is_whole(claim, member)]
        main, *others = (
            self.tell(pick(whole if whole and self.rng.random() < _WHOLE else own, self.rng))
            for _ in range(self.limit)
        )
        true = {caption.text: caption for caption in others if caption.text != main.text}
        return CaptionSet(main, tuple(true.values()), ())

    def print_captions(self, members: Sequence[Member], pool: Sequence[Claim]) -> list[CaptionSet]:
        """Captions as CompA prints them: all of a scene, then compositions of any number of sounds.

        Their words leave open what belongs together: what reads like a true one is no false one.
        The text tells which is which.
        """
        compositions = [claim for claim in pool if isinstance(claim, Concat | Overlay)]
        sets = []
        for member in members:
            claims = (member.statement, *shuffle(compositions, self.rng))
            (main, *positives), negatives = tell_claims(member, claims, self.tell)
            limit = self.limit
            sets.append(CaptionSet(main, tuple(positives[: limit - 1]), tuple(negatives[:limit])))
        return sets


def tell_claims(
    member: Member, claims: Iterable[Claim], tell: Tell
) -> tuple[list[Caption], list[Caption]]:
    """Captions of the claims that are surely true, and of those surely false, each text once.

    What reads like a true one is no false one.
    """
    selection = EditSelection(member.statement)
    true: dict[str, Caption] = {}
    false: dict[str, Caption] = {}
    for claim in claims:
        if member.hearing.proves(claim):
            true.setdefault((caption := tell(claim)).text, caption)
        elif member.hearing.refutes(claim):
            caption = tell(claim).as_false(selection.kind(claim))
            false.setdefault(caption.text, caption)
    return [*true.values()], [caption for text, caption in false.items() if text not in true]


def _denies(claim: Claim) -> bool:
    return isinstance(claim, And) and isinstance(claim.second, Not)


def _find_owner(claim: Claim, members: Sequence[Member]) -> int | None:
    """The member of which alone a claim is true; None where it may be true of others, too."""
    for number, member in enumerate(members):
        if member.hearing.proves(claim):
            others = (other for other in members if other is not member)
            return number if all(other.hearing.refutes(claim) for other in others) else None
    return None


def _is_whole(claim: Claim, member: Member) -> bool:
    return member.statement in (claim, claim.first if isinstance(claim, And) else None)
