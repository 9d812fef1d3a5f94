"""Why a sentence is false: the smallest part of its claim that fails, however it is read.

The judge is `synth.truth`; what is told here is which part it refutes, and where its sounds lie.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Final, assert_never

from synth.base.own_label import name_of
from synth.labels.lexicon import could_be_called
from synth.scene.activity import hull, intersect, measure
from synth.scene.claim import And, Claim, Count, Measured, Not, Only, Part, Quantity, claim_labels
from synth.scene.scene import Concat, Event, Overlay, format_scene, operands
from synth.scene.timeline import Placement, Timeline
from synth.truth.relations import Tolerance
from synth.truth.truth import refutes

_TIMES: Final = (
    Quantity.DURATION,
    Quantity.ONSET,
    Quantity.POSITION,
    Quantity.GAP,
    Quantity.LONGER,
)
"""Quantities that follow from when sounds are heard."""


@dataclass(frozen=True, slots=True)
class Explainer:
    """Tells why claims are false on a timeline, which has the tags of its clips."""

    placed: Timeline
    tolerance: Tolerance
    sample_rate: int

    def explain(self, claim: Claim) -> str | None:
        """The reason; None where the timeline does not refute the claim."""
        return self._explain_claim(claim) if refutes(self.placed, claim, self.tolerance) else None

    def _explain_claim(self, claim: Claim) -> str:
        match claim:
            case And(first, second):
                return self._explain_claim(first if self._fails(first) else second)
            case Not(inner):
                so = "heard" if isinstance(inner, Event) else "so"
                times = self._describe_times(inner)
                return f"it denies {describe_claim(inner)}, which is {so}: {times}"
            case Only(inner):
                if self._fails(inner):
                    return self._explain_claim(inner)
                named = claim_labels(inner)
                others = sorted(
                    label
                    for label in self.placed.labels() - named
                    if not any(could_be_called(label, name) for name in named)
                )
                return f"{_join_labels(others)} can be heard, too"
            case Count():
                return f"it counts {describe_claim(claim)}: {self._describe_times(claim)}"
            case Measured():
                return f"it says {self._describe_value(claim)}: {self._describe_sounds(claim)}"
            case Event(label):
                labels = _join_labels(sorted(self.placed.labels()))
                return f"{_quote(label)} is not heard; heard: {labels}"
            case Concat() | Overlay():
                return self._explain_composition(claim)
            case _:
                assert_never(claim)

    def _explain_composition(self, claim: Concat | Overlay) -> str:
        """The reason in the first operand that fails by itself, else in the first such pair."""
        parts = operands(claim)
        for part in parts:
            if self._fails(part):
                return self._explain_claim(part)
        for first, second in combinations(parts, 2):
            pair = type(claim)(first, second)
            if self._fails(pair):
                return self._explain_pair(pair)
        return f"each part is heard, but never all at once as said: {self._describe_times(claim)}"

    def _explain_pair(self, pair: Concat | Overlay) -> str:
        first, second = describe_claim(pair.first), describe_claim(pair.second)
        times = f"{self._describe_times(pair.first)}; {self._describe_times(pair.second)}"
        if isinstance(pair, Concat):
            return f"{first} does not start first, nor does {second} go on alone: {times}"
        shared = max(
            (
                measure(intersect(sound.heard.faint, other.heard.faint))
                for sound in self._find_sounds(pair.first)
                for other in self._find_sounds(pair.second)
            ),
            default=0,
        )
        brush = (
            f"; the {self._format_seconds(shared)} s they share are a transition"
            if shared > 0
            else ""
        )
        return f"{first} and {second} are never heard together: {times}{brush}"

    def _describe_value(self, claim: Measured) -> str:
        quantity, value = claim.quantity, claim.value
        if quantity.is_time:
            words = f"{self._format_seconds(value)} s"
        elif quantity is Quantity.POSITION:
            words = Part(value).name.lower()
        else:
            words = "more" if value > 0 else "less"
        return f"{describe_claim(claim)} is {words}"

    def _describe_sounds(self, claim: Measured) -> str:
        """When the claim's sounds are heard, with what else the claim tells of."""
        times = self._describe_times(claim)
        if claim.quantity in _TIMES:
            return times
        details = []
        for place in sorted(self._find_sounds(claim), key=lambda place: place.onset):
            acoustics = place.heard.acoustics
            if acoustics is None:
                continue
            if claim.quantity is Quantity.TREND:
                thirds = (f"{level:.1f}" for level in acoustics.thirds_dba)
                text = f"{', '.join(thirds)} dBA by thirds"
            elif claim.quantity in (Quantity.LOUDER, Quantity.AGAIN_LOUDER):
                text = f"{acoustics.mean_dba:.1f} dBA, at most {acoustics.peak_dba:.1f}"
            else:
                text = acoustics.treatment or "as recorded"
            details.append(f"{name_of(place.label)} {text}")
        return f"{times}; {'; '.join(details)}"

    def _fails(self, claim: Claim) -> bool:
        return refutes(self.placed, claim, self.tolerance)

    def _find_sounds(self, claim: Claim) -> list[Placement]:
        """The sounds that a claim's labels may mean, those that bear them first."""
        named = claim_labels(claim)
        own = [place for place in self.placed.placements if place.label in named]
        others = [
            place
            for place in self.placed.placements
            if place.label not in named
            and any(could_be_called(place.label, label) for label in named)
        ]
        return own + others

    def _describe_times(self, claim: Claim) -> str:
        sounds = self._find_sounds(claim)
        times = []
        for place in sorted(sounds, key=lambda place: place.onset):
            onset, offset = hull(place.heard.clear) or (place.onset, place.offset)
            seconds = f"{self._format_seconds(onset)} to {self._format_seconds(offset)} s"
            times.append(f"{name_of(place.label)} {seconds}")
        return ", ".join(times) or "none of it is heard"

    def _format_seconds(self, frames: int) -> str:
        return f"{frames / self.sample_rate:.2f}"


def describe_claim(claim: Claim) -> str:
    """A claim in few words, its scenes in notation."""
    match claim:
        case And(first, second):
            return f"{describe_claim(first)} and {describe_claim(second)}"
        case Not(inner):
            return f"no {describe_claim(inner)}"
        case Only(inner):
            return f"only {describe_claim(inner)}"
        case Count(event, times):
            return f"{times} of {_quote(event.label)}"
        case Measured(quantity, of):
            named = " and ".join(_quote(event.label) for event in of)
            return f"{quantity.value.replace('_', ' ')} of {named}"
        case Event(label):
            return _quote(label)
        case Concat() | Overlay():
            return _quote(format_scene(claim))
        case _:
            assert_never(claim)


def _quote(text: str) -> str:
    return f"“{name_of(text)}”"


def _join_labels(labels: list[str]) -> str:
    return ", ".join(map(name_of, labels)) or "nothing"
