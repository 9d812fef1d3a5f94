"""Truth: does a claim hold on a timeline, whichever way its words are read?

Words leave room, in time and in what they name. "A dog barks before it rains" may mean that the
barking is over when the rain sets in, or only that it starts first; "while" may mean all through,
or for a moment; "a dog" may be said of what is catalogued as a bark (`lexicon.are_kin`), "an
engine" of an airplane (`lexicon.could_be_called`). Ears differ, too (`synth.scene.activity`). A
claim is *proven* when it holds under the strictest reading and *refuted* when it fails under the
loosest, for every ear, so a proven positive and a refuted negative are right whatever the reader
had in mind. What lies between is neither, and cannot enter a corpus.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import chain, combinations, product
from typing import TypeAlias, assert_never

from synth.labels.lexicon import are_kin, could_be_called, has_rhythm
from synth.scene.activity import cut
from synth.scene.claim import And, Claim, Count, Measured, Not, Only, Quantity, claim_labels
from synth.scene.edit import projection
from synth.scene.scene import Concat, Event, Overlay, Scene, labels, operands
from synth.scene.timeline import Placement, Timeline
from synth.truth.relations import Relations, Sound, Span, Tolerance, are_apart, judge_one, judge_two

Relation: TypeAlias = Callable[[Relations, Span, Span], bool]


@dataclass(frozen=True, slots=True)
class Interpretation:
    """One way to take the words.

    Args:
        precedes: When one span comes before another.
        accompanies: When two spans sound together.
        every: Whether all occurrences of a label must fit, and a sound goes by its own label only;
            or one of each is enough, and a sound goes by any name that may be said of it.
    """

    precedes: Relation
    accompanies: Relation
    every: bool


STRICTEST = Interpretation(
    Relations.is_over_when_next_starts, Relations.one_lies_within_the_other, every=True
)
LOOSEST = Interpretation(
    Relations.starts_first_or_is_outlasted, Relations.overlaps_at_all, every=False
)


_Scene = (Event, Concat, Overlay)


class Hearing:
    """A timeline on which claims are decided, one after the other."""

    def __init__(self, timeline: Timeline, tolerance: Tolerance) -> None:
        self._timeline = timeline
        self._tolerance = tolerance
        self._relations = Relations(timeline, tolerance)
        self._own: dict[str, list[Sound]] = {}
        self._others: dict[str, list[tuple[Sound, Placement]]] = {}
        self._clear: set[str] = set()
        self._sounds = [Sound.of(*pair) for pair in enumerate(timeline.placements)]
        for sound, place in zip(self._sounds, timeline.placements, strict=True):
            self._own.setdefault(place.label, []).append(sound)
            if sound.clear_frames:
                self._clear.add(place.label)

    def proves(self, claim: Claim) -> bool:
        """Whether the claim holds under every reading of its words."""
        if isinstance(claim, _Scene):  # patterns with classes take twice as long
            named = labels(claim)
            names = frozenset(named)
            # Two mentions, or two sounds, of one name may be one or two.
            return (
                len(names) == len(named)
                and names <= self._clear
                and self._holds(claim, STRICTEST)
                and not self._is_ambiguous(names)
            )
        if isinstance(claim, And):
            return self.proves(claim.second) and self.proves(claim.first)
        match claim:
            case Not(inner):
                return self.refutes(inner)
            case Only(inner):
                return self.proves(inner) and self._own.keys() <= claim_labels(inner)
            case Count(event, times):
                fewest, most = self._count(event.label)
                return fewest == times == most and self.bears_alone(event.label)
            case Measured():
                return self._measure(claim) is True
            case _:
                assert_never(claim)

    def refutes(self, claim: Claim) -> bool:
        """Whether the claim fails under every reading of its words."""
        if isinstance(claim, _Scene):
            if self._holds(claim, LOOSEST):
                return False
            named = frozenset(labels(claim))
            spare = self._spare_names(named)
            rest = projection(claim, named - spare) if spare else None
            return rest is None or self.refutes(rest)
        if isinstance(claim, And):
            return self.refutes(claim.second) or self.refutes(claim.first)
        match claim:
            case Not(inner):
                return self.proves(inner)
            case Only(inner):
                named = claim_labels(inner)
                return self.refutes(inner) or not all(
                    any(could_be_called(other, name) for name in named)
                    for other in self._clear - named
                )
            case Count(event, times):
                fewest, most = self._count(event.label)
                return times < fewest or times > most
            case Measured():
                return self._measure(claim) is False
            case _:
                assert_never(claim)

    def bears_alone(self, name: str) -> bool:
        """Whether no other sound could be called by a name than those that bear it."""
        return all(self._bears(place, name) for _, place in self._find_called(name))

    def _count(self, name: str) -> tuple[int, float]:
        """How often anybody may say that a sound is heard: the fewest times, and the most.

        A sound of one onset is heard once. One that may begin anew is heard once at least, if it
        begins at all, and two that no pause parts may be taken for one.
        """
        own = sorted(self._own.get(name, ()), key=lambda sound: sound.start)
        fewest, end = 0, -math.inf
        for sound in own:
            if sound.clear_frames and sound.activity.onsets:
                fewest += sound.start - end >= self._tolerance.pause
            end = max(end, sound.end)
        others = (sound for sound, place in self._find_called(name) if not self._bears(place, name))
        return fewest, sum(map(_count_most, chain(own, others)))

    def _measure(self, claim: Measured) -> bool | None:
        """Whether a quantity has a value; None where it may, or where it is unclear of what.

        One sound must bear each name, two where it is said to be heard again, and no other sound
        may be called by it.
        """
        named = [event.label for event in claim.of]
        if any(not self._own.get(name) and not self._find_called(name) for name in named):
            return False
        if not all(map(self.bears_alone, named)):
            return None
        if claim.quantity is Quantity.AGAIN_FASTER and not all(map(has_rhythm, named)):
            return None
        again = claim.quantity.is_again
        sounds = [sound for name in named for sound in self._own.get(name, ())]
        if len(sounds) != len(named) + again or not all(sound.clear_frames for sound in sounds):
            return None
        if len(sounds) == 1:
            whole = self._timeline.frames
            return judge_one(claim.quantity, claim.value, sounds[0], whole, self._tolerance)
        first, second = sorted(sounds, key=lambda sound: sound.start) if again else sounds
        if again and not are_apart(first, second):
            return None
        if claim.quantity is Quantity.GAP and self._is_filled(first, second):
            return None
        return judge_two(claim.quantity, claim.value, first, second, self._relations)

    def _is_filled(self, first: Sound, second: Sound) -> bool:
        """Whether another sound may be heard between two: then the pause is another one."""
        return any(
            cut(sound.activity.faint, first.clear_end, second.clear_start)
            for sound in self._sounds
            if sound.event not in (first.event, second.event)
        )

    def _find_called(self, name: str) -> list[tuple[Sound, Placement]]:
        """The sounds of other labels that could be called by a name, with their places."""
        called = self._others.get(name)
        if called is None:
            called = self._others[name] = [
                (sound, place)
                for sound, place in zip(self._sounds, self._timeline.placements, strict=True)
                if place.label != name and could_be_called(place.label, name)
            ]
        return called

    def _is_ambiguous(self, named: frozenset[str]) -> bool:
        """Whether a name could also be said of another sound than those that bear it.

        A tag of a recording is no other sound than the recording's other tags. That a sound is
        heard is no less true where another could be called by its name.
        """
        return any(
            (self._is_meant(place, name, named) if len(named) > 1 else are_kin(name, place.label))
            and not self._bears(place, name)
            for name in named
            for _, place in self._find_called(name)
        )

    def _is_meant(self, place: Placement, name: str, named: frozenset[str]) -> bool:
        """Whether a name could be meant for a sound in a sentence that names these labels.

        "An engine" could be an airplane's, but not where the sentence names the airplane, too, and
        an engine of its own is heard: then each name means its own sound.
        """
        return are_kin(name, place.label) or place.label not in named or name not in self._clear

    def _spare_names(self, named: frozenset[str]) -> frozenset[str]:
        """The names that nothing surely bears, and that may say again what another of them says.

        "An airplane flies, then an engine runs" is not false of an airplane alone.
        """
        return frozenset(
            name
            for name in named
            if name not in self._clear
            and any(place.label in named for _, place in self._find_called(name))
        )

    def _bears(self, place: Placement, name: str) -> bool:
        return any(
            other.label == name and other.onset == place.onset and other.excerpt == place.excerpt
            for other in self._timeline.placements
        )

    def _holds(self, scene: Scene, reading: Interpretation) -> bool:
        """Whether the scene is heard under one reading."""
        if isinstance(scene, Event):
            return bool(self._spans(scene, reading, scene))
        return bool(self._fit_spans(scene, reading, scene))

    def _spans(self, part: Scene, reading: Interpretation, scene: Scene) -> list[Span]:
        """The spans at which a part of the scene is heard; none means that it is not."""
        if not isinstance(part, Event):
            return [
                tuple(sound for span in spans for sound in span)
                for spans in self._fit_spans(part, reading, scene)
            ]
        own: list[Span] = [(sound,) for sound in self._own.get(part.label, ())]
        if reading.every or not (others := self._find_called(part.label)):
            return own
        named = frozenset(labels(scene))
        return own + [
            (sound,) for sound, place in others if self._is_meant(place, part.label, named)
        ]

    def _fit_spans(
        self, part: Concat | Overlay, reading: Interpretation, scene: Scene
    ) -> list[tuple[Span, ...]]:
        """The spans of the operands of a part, as they fit together."""
        choices: list[list[Span]] = []
        for operand in operands(part):
            spans = self._spans(operand, reading, scene)
            if not spans:
                return []
            choices.append(spans)
        fits = reading.precedes if isinstance(part, Concat) else reading.accompanies
        fitting: list[tuple[Span, ...]] = []
        for chosen in product(*choices):
            for span, other in combinations(chosen, 2):
                if not fits(self._relations, span, other):
                    if reading.every:
                        return []
                    break
            else:
                fitting.append(chosen)
        return fitting


def _count_most(sound: Sound) -> float:
    """How often anybody may count a sound: its onsets, or the stretches in which it is heard."""
    activity = sound.activity
    if activity.onsets is None:
        return math.inf
    return max(activity.onsets, len(activity.clear), len(activity.faint))


def proves(timeline: Timeline, claim: Claim, tolerance: Tolerance) -> bool:
    """Whether the claim holds on the timeline under every reading of its words."""
    return Hearing(timeline, tolerance).proves(claim)


def refutes(timeline: Timeline, claim: Claim, tolerance: Tolerance) -> bool:
    """Whether the claim fails on the timeline under every reading of its words."""
    return Hearing(timeline, tolerance).refutes(claim)
