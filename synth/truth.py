"""Truth: does a claim hold on a timeline, whichever way its words are read?

Words leave room, in time and in what they name. "A dog barks before it rains" may mean that the
barking is over when the rain sets in, or only that it starts first; "while" may mean all through,
or for a moment; "a dog" may be said of what is catalogued as a bark (`lexicon.kin`). A claim is
*proven* when it holds under the strictest reading and *refuted* when it fails under the loosest, so
a proven positive and a refuted negative are right whatever the reader had in mind. What lies
between is neither, and cannot enter a corpus.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, product
from typing import Final, TypeAlias, assert_never

from synth.claim import And, Claim, Not, Only, claim_labels
from synth.lexicon import kin
from synth.scene import Event, Overlay, Scene, Sequence, labels, longest_crossfade, operands
from synth.timeline import Placement, Timeline
from synth.units import Frames

LEAST_COMPANY: Final = 0.25
"""Share of the shorter of two sounds that they must have in common to accompany one another."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """What counts as a transition rather than as sounding together.

    Args:
        transition: Overlap in frames up to which two sounds still follow one another. The crossfade
            that joins them is one.
        audible: Shortest overlap in frames that can be heard as sounding together.
    """

    transition: Frames = 0
    audible: Frames = 1

    @classmethod
    def of_scene(cls, scene: Scene, audible: Frames) -> Tolerance:
        """What a scene's own joins allow: its longest crossfade is a transition."""
        return cls(longest_crossfade(scene), audible)


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time, `onset` included and `offset` excluded, in frames."""

    onset: Frames
    offset: Frames
    parts: tuple[Span, ...] = ()

    def sounds(self) -> tuple[Span, ...]:
        """The single sounds in it."""
        return self.parts or (self,)


Relation: TypeAlias = Callable[[Span, Span, Tolerance], bool]


@dataclass(frozen=True, slots=True)
class Reading:
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


def _overlap(first: Span, second: Span) -> Frames:
    return min(first.offset, second.offset) - max(first.onset, second.onset)


def _is_over_when_next_starts(first: Span, second: Span, tolerance: Tolerance) -> bool:
    starts = max(sound.onset for sound in first.sounds()) < second.onset
    ends = first.offset < min(sound.offset for sound in second.sounds())
    return starts and ends and _overlap(first, second) <= tolerance.transition


def _starts_first(first: Span, second: Span, tolerance: Tolerance) -> bool:
    return first.onset < max(sound.onset for sound in second.sounds())


def _one_lies_within_the_other(first: Span, second: Span, tolerance: Tolerance) -> bool:
    shorter = min(first.offset - first.onset, second.offset - second.onset)
    overlap = _overlap(first, second)
    if overlap < max(shorter, tolerance.audible) or overlap <= tolerance.transition:
        return False
    return _has_company(first, second, tolerance) and _has_company(second, first, tolerance)


def _has_company(first: Span, second: Span, tolerance: Tolerance) -> bool:
    """Whether each single sound in `first` is heard together with one in `second`."""
    return all(
        any(_are_together(one, other, tolerance) for other in second.sounds())
        for one in first.sounds()
    )


def _are_together(one: Span, other: Span, tolerance: Tolerance) -> bool:
    """Whether two sounds share enough of the shorter one that nobody takes it for a brush."""
    shorter = min(one.offset - one.onset, other.offset - other.onset)
    shared = _overlap(one, other)
    least = max(tolerance.audible, tolerance.transition + 1)
    return shared >= least and shared >= LEAST_COMPANY * shorter


def _overlap_at_all(first: Span, second: Span, tolerance: Tolerance) -> bool:
    return _overlap(first, second) > tolerance.transition


STRICTEST = Reading(_is_over_when_next_starts, _one_lies_within_the_other, every=True)
LOOSEST = Reading(_starts_first, _overlap_at_all, every=False)


def proves(timeline: Timeline, claim: Claim, tolerance: Tolerance) -> bool:
    """Whether the claim holds on the timeline under every reading of its words."""
    match claim:
        case And(first, second):
            return proves(timeline, first, tolerance) and proves(timeline, second, tolerance)
        case Not(inner):
            return refutes(timeline, inner, tolerance)
        case Only(inner):
            return proves(timeline, inner, tolerance) and not _others(timeline, inner)
        case Event() | Sequence() | Overlay():
            named = labels(claim)
            if len(set(named)) < len(named) or _ambiguous(named, timeline):
                return False  # two mentions, or two sounds, of one name may be one or two
            return bool(_occurrences(claim, timeline, tolerance, STRICTEST))
        case _:
            assert_never(claim)


def refutes(timeline: Timeline, claim: Claim, tolerance: Tolerance) -> bool:
    """Whether the claim fails on the timeline under every reading of its words."""
    match claim:
        case And(first, second):
            return refutes(timeline, first, tolerance) or refutes(timeline, second, tolerance)
        case Not(inner):
            return proves(timeline, inner, tolerance)
        case Only(inner):
            return refutes(timeline, inner, tolerance) or bool(_others(timeline, inner))
        case Event() | Sequence() | Overlay():
            return not _occurrences(claim, timeline, tolerance, LOOSEST)
        case _:
            assert_never(claim)


def _others(timeline: Timeline, claim: Claim) -> frozenset[str]:
    return timeline.labels() - claim_labels(claim)


def _ambiguous(named: tuple[str, ...], timeline: Timeline) -> bool:
    """Whether a name could also be said of another sound than those that bear it.

    A tag of a recording is no other sound than the recording's other tags.
    """
    return any(
        name != place.label and kin(name, place.label) and not _bears(place, name, timeline)
        for name in named
        for place in timeline.placements
    )


def _bears(place: Placement, name: str, timeline: Timeline) -> bool:
    return any(
        other.label == name and other.onset == place.onset and other.excerpt == place.excerpt
        for other in timeline.placements
    )


def _occurrences(
    scene: Scene, timeline: Timeline, tolerance: Tolerance, reading: Reading
) -> list[Span]:
    """The spans at which the scene is heard under one reading; none means that it is not."""
    match scene:
        case Event(label):
            return [
                Span(place.onset, place.offset)
                for place in timeline.placements
                if place.label == label or (not reading.every and kin(label, place.label))
            ]
        case Sequence():
            relation = reading.precedes
        case Overlay():
            relation = reading.accompanies
        case _:
            assert_never(scene)
    found = [_occurrences(part, timeline, tolerance, reading) for part in operands(scene)]
    choices = list(product(*found))
    fitting = [
        spans
        for spans in choices
        if all(relation(first, second, tolerance) for first, second in combinations(spans, 2))
    ]
    if reading.every and len(fitting) < len(choices):
        return []
    return [
        Span(
            min(span.onset for span in spans),
            max(span.offset for span in spans),
            tuple(sound for span in spans for sound in span.sounds()),
        )
        for spans in fitting
    ]
