"""Truth: does a claim hold on a timeline, whichever way its words are read?

Words leave room. "A dog barks before it rains" may mean that the barking is over when the rain
sets in, or only that it starts first; "while" may mean all through, or for a moment. A claim is
*proven* when it holds under the strictest reading and *refuted* when it fails under the loosest, so
a proven positive and a refuted negative are right whatever the reader had in mind. What lies
between is neither, and cannot enter a corpus.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import TypeAlias, assert_never

from synth.claim import And, Claim, Not, Only, claim_labels
from synth.scene import Event, Overlay, Scene, Sequence, labels
from synth.timeline import Timeline
from synth.units import Frames


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
        every: Whether all occurrences of a label must fit, or one pair of them is enough.
    """

    precedes: Relation
    accompanies: Relation
    every: bool


def _overlap(first: Span, second: Span) -> Frames:
    return min(first.offset, second.offset) - max(first.onset, second.onset)


def _is_over_when_next_starts(first: Span, second: Span, tolerance: Tolerance) -> bool:
    in_order = first.onset < second.onset and first.offset < second.offset
    return in_order and _overlap(first, second) <= tolerance.transition


def _starts_first(first: Span, second: Span, tolerance: Tolerance) -> bool:
    return first.onset < second.onset


def _one_lies_within_the_other(first: Span, second: Span, tolerance: Tolerance) -> bool:
    shorter = min(first.offset - first.onset, second.offset - second.onset)
    overlap = _overlap(first, second)
    if overlap < max(shorter, tolerance.audible) or overlap <= tolerance.transition:
        return False
    return _has_company(first, second, tolerance) and _has_company(second, first, tolerance)


def _has_company(first: Span, second: Span, tolerance: Tolerance) -> bool:
    """Whether each single sound in `first` is heard together with one in `second`."""
    return all(
        any(_overlap(one, other) > tolerance.transition for other in second.sounds())
        for one in first.sounds()
    )


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
            if len(set(named)) < len(named):
                return False  # two mentions of a label may mean one sound or two
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


def _occurrences(
    scene: Scene, timeline: Timeline, tolerance: Tolerance, reading: Reading
) -> list[Span]:
    """The spans at which the scene is heard under one reading; none means that it is not."""
    match scene:
        case Event(label):
            heard = (place for place in timeline.placements if place.label == label)
            return [Span(place.onset, place.offset) for place in heard]
        case Sequence(first, second):
            relation = reading.precedes
        case Overlay(first, second):
            relation = reading.accompanies
        case _:
            assert_never(scene)
    pairs = list(
        product(
            _occurrences(first, timeline, tolerance, reading),
            _occurrences(second, timeline, tolerance, reading),
        )
    )
    fitting = [(left, right) for left, right in pairs if relation(left, right, tolerance)]
    if reading.every and len(fitting) < len(pairs):
        return []
    return [
        Span(
            min(left.onset, right.onset),
            max(left.offset, right.offset),
            left.sounds() + right.sounds(),
        )
        for left, right in fitting
    ]
