"""Checks of what a reader says that a text states: its form, and that it is a given claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, ClassVar, Final

from pydantic import Field

from synth.base.rng import uniform_hash
from synth.labels.lexicon import are_confusable, shipped_phrases
from synth.llm.checks.check import Case, Check, quote
from synth.llm.item import PromptItem
from synth.scene.claim import Claim, claim_from_json, claim_labels, claim_to_text
from synth.scene.statements import SOUNDS, VALUED, Statement, classify, complete, state

OTHER: Final = "other"
"""What a sound is called that a text names and that is not in the list."""

_SHOWN: Final = 3


class Reading(Check):
    """Each statement is of as many sounds as it needs, all of the list, with a value if it has one.

    Args:
        sounds: The item's field that lists the sounds.
    """

    name: ClassVar[str] = "reading"
    main: ClassVar[str] = "sounds"
    sounds: str = "sounds"

    def fields(self) -> frozenset[str]:
        """The list."""
        return frozenset({self.sounds})

    def faults(self, case: Case) -> list[str]:
        """Sounds that are not listed, too many or too few of them, and values out of range."""
        known = [*case.field(self.sounds), OTHER]
        found = []
        for each in read_statements(case.answer):
            strange = [sound for sound in each.sounds if sound not in known]
            if strange:
                found.append(f'{quote(strange[0])} is not in the list; say "{OTHER}"')
            elif each.says not in SOUNDS:
                found.append(f"{quote(each.says)} is not among the things that can be said")
            elif len(set(each.sounds)) != len(each.sounds) or len(each.sounds) != SOUNDS[each.says]:
                found.append(f'"{each.says}" is said of {SOUNDS[each.says]} different sounds')
            elif each.value < 0 or (each.says == "times" and each.value < 1):
                found.append(f'"{each.says}" cannot have the value {each.value:g}')
        return found


class SameClaim(Check):
    """The statements that a reader found are those of the item's claim, no more and no fewer.

    Args:
        claim: The item's field that holds the claim, as JSON.
        decoys: How many sounds the reader is told of beside those of the claim.
    """

    name: ClassVar[str] = "same_claim"
    main: ClassVar[str] = "claim"
    claim: str = "claim"
    decoys: int = Field(default=6, ge=0, le=50)

    def fields(self) -> frozenset[str]:
        """The claim."""
        return frozenset({self.claim})

    def tells(self, item: PromptItem) -> Mapping[str, Any]:
        """The `sounds` that a reader chooses from, in an order that says nothing."""
        return {"sounds": list(list_sounds(self._claim(item), self.decoys))}

    def kind(self, item: PromptItem) -> str:
        """The kind of the claim."""
        claim = self._claim(item)
        state(claim, item.fields.get("sample_rate"))  # One without its rate is told at once.
        return classify(claim)

    def faults(self, case: Case) -> list[str]:
        """One fault that tells what is lost and what is added."""
        claim = self._claim(case.item)
        if OTHER in claim_labels(claim):
            return [f"the label {quote(OTHER)} cannot be told from a sound that is not listed"]
        wanted = state(claim, case.field("sample_rate"))
        given = complete(read_statements(case.answer))
        parts = ("lost", wanted - given), ("added", given - wanted)
        told = [f"{name} {_list(which)}" for name, which in parts if which]
        return [f"read otherwise: {'; '.join(told)}"] if told else []

    def _claim(self, item: PromptItem) -> Claim:
        return claim_from_json(item.fields[self.claim])


def read_statements(answer: Mapping[str, Any]) -> list[Statement]:
    """The statements of an answer to `read-claim`."""
    return [
        Statement(each["says"], tuple(each["sounds"]), each["value"] if _has_value(each) else 0.0)
        for each in answer["statements"]
    ]


def _has_value(each: Mapping[str, Any]) -> bool:
    return each["says"] in VALUED


@lru_cache(maxsize=1 << 16)
def list_sounds(claim: Claim, decoys: int) -> tuple[str, ...]:
    """The labels of a claim among others that none of them could be called by.

    Args:
        claim: The claim; equal claims have equal lists.
        decoys: How many others.
    """
    text, named = claim_to_text(claim), claim_labels(claim)
    listed = list(shipped_phrases())
    found = set(named)
    for turn in range(20 * decoys):
        label = listed[int(uniform_hash("decoy", text, str(turn)) * len(listed))]
        if len(found) == len(named) + decoys:
            break
        if not any(are_confusable(label, other) for other in found):
            found.add(label)
    return tuple(sorted(found, key=lambda label: uniform_hash("place", text, label)))


def _list(statements: frozenset[Statement]) -> str:
    shown: Sequence[str] = sorted(map(str, statements))
    more = [f"{len(shown) - _SHOWN} more"] * (len(shown) > _SHOWN)
    return ", ".join([*map(quote, shown[:_SHOWN]), *more])
