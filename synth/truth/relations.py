"""How the sounds of a timeline lie to one another, whoever hears them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import Final, NamedTuple, TypeAlias

from synth.base.units import Frames
from synth.scene.activity import Activity, Stretch, cut, hull, intersect, measure
from synth.scene.timeline import Placement, Timeline

LEAST_COMPANY: Final = 0.25
"""Share of the shorter of two sounds that they must have in common to accompany one another."""

MOST_FADED: Final = 0.5
"""Share of the shorter of two sounds that a transition between them may cover."""

LEAST_REMAINDER: Final = 0.2
"""Share of a sound from which on its rest can be taken for a sound of its own."""

_REMAINDER: Final = 5
"""The same as a length, in the shortest overlaps that can be heard: 0.5 s where that is 0.1 s."""

_PAUSE: Final = 2
"""In the same measure: shorter pauses may go unheard, 0.2 s."""

_CROSSING: Final = 10
"""In the same measure: longer crossfades, over 1 s, may be said to sound together."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """What can be heard, and what counts as a transition rather than as sounding together.

    Args:
        transition: Overlap in frames up to which any two sounds still follow one another. Those
            that a crossfade joins may overlap as long as it lasts. Neither may cover more than
            half of the shorter sound. Who overlap for longer than ten times `audible` in a
            crossfade may be said to sound together.
        audible: Shortest overlap in frames that can be heard as sounding together, and shortest
            distance of two onsets that tells which was first.
    """

    transition: Frames = 0
    audible: Frames = 1

    @property
    def remainder(self) -> Frames:
        """How long a sound must go on alone to be taken for one that comes after."""
        return max(_REMAINDER * self.audible, 1)

    @property
    def pause(self) -> Frames:
        """How long nothing of a sound must be heard for everybody to hear two of it."""
        return max(_PAUSE * self.audible, 1)

    @property
    def crossing(self) -> Frames:
        """How long two sounds may overlap without anybody saying that they sound together."""
        return max(_CROSSING * self.audible, self.transition)


class Sound(NamedTuple):
    """One sound, as every listener hears it (`clear`) and as a keen one may (`faint`).

    Args:
        number: Its position among the timeline's placements.
        event: Position of its event in the scene.
        start: First frame at which it may be heard.
        clear_start: First frame from which on everybody hears it; of a sound that may be missed,
            the last at which somebody may first notice it.
        clear_end: The frame after the last at which everybody hears it; of a sound that may be
            missed, the first.
        end: The frame after the last at which it may be heard.
        clear_frames: How long everybody hears it, 0 for a sound that may be missed.
    """

    number: int
    event: int
    activity: Activity
    start: Frames
    clear_start: Frames
    clear_end: Frames
    end: Frames
    clear_frames: Frames

    @classmethod
    def of(cls, number: int, place: Placement) -> Sound:
        """That of a placement."""
        heard = place.heard
        start, end = hull(heard.faint) or Stretch(place.onset, place.offset)
        first, last = hull(heard.clear) or (end, start)
        return cls(number, place.event, heard, start, first, last, end, measure(heard.clear))


Span: TypeAlias = tuple[Sound, ...]
"""Sounds taken as one, in the order of their mention."""


class Relations:
    """How the sounds of a timeline lie to one another."""

    def __init__(self, timeline: Timeline, tolerance: Tolerance) -> None:
        self.tolerance = tolerance
        self._timeline = timeline
        self._orders: dict[tuple[int, int], bool] = {}
        self._loose_orders: dict[tuple[int, int], bool] = {}
        self._companies: dict[tuple[int, int], bool] = {}

    def is_over_when_next_starts(self, first: Span, second: Span) -> bool:
        """Whether all of one span is over, but for a transition, when the other begins."""
        for one in first:
            for other in second:
                if not self._precedes(one, other):
                    return False
        return True

    def starts_first_or_is_outlasted(self, first: Span, second: Span) -> bool:
        """Whether anything of the other span may be said to come after anything of the one."""
        for one in first:
            for other in second:
                if self._may_precede(one, other):
                    return True
        return False

    def one_lies_within_the_other(self, first: Span, second: Span) -> bool:
        """Whether one span lasts as long as the other, and each sound of either has company."""
        return (
            (_lies_within(first, second) or _lies_within(second, first))
            and self._has_company(first, second)
            and self._has_company(second, first)
        )

    def overlaps_at_all(self, first: Span, second: Span) -> bool:
        """Whether two spans share more than a transition."""
        onset = max(min(one.start for one in first), min(other.start for other in second))
        offset = min(max(one.end for one in first), max(other.end for other in second))
        transition = min(self._transition(one, other) for one, other in product(first, second))
        return offset - onset > min(transition, self.tolerance.crossing)

    def _transition(self, one: Sound, other: Sound) -> float:
        """How long two sounds may overlap and still follow one another."""
        shorter = min(one.clear_frames, other.clear_frames)
        return min(self._joined(one, other), MOST_FADED * shorter)

    def _joined(self, one: Sound, other: Sound) -> Frames:
        """How long the transition is that joins two sounds, however short they are."""
        return max(self._timeline.crossfade(one.event, other.event), self.tolerance.transition)

    def _precedes(self, one: Sound, other: Sound) -> bool:
        pair = one.number, other.number
        if pair not in self._orders:
            self._orders[pair] = (
                one.end - other.start <= self._transition(one, other)
                and other.start - (one.clear_start if one.clear_frames else one.start)
                >= self.tolerance.audible
            )
        return self._orders[pair]

    def _may_precede(self, one: Sound, other: Sound) -> bool:
        pair = one.number, other.number
        if pair not in self._loose_orders:
            self._loose_orders[pair] = other.clear_start - one.start >= (
                self.tolerance.audible
            ) or self._is_outlasted(one, other)
        return self._loose_orders[pair]

    def _is_outlasted(self, one: Sound, other: Sound) -> bool:
        """Whether enough of the other sound comes when the one is over to be said to follow it."""
        rest = measure(cut(other.activity.faint, one.clear_end, other.end))
        return rest >= self.tolerance.remainder or rest >= LEAST_REMAINDER * (
            other.clear_frames or 1
        )

    def _has_company(self, first: Span, second: Span) -> bool:
        """Whether each single sound of `first` is heard together with one of `second`."""
        return all(any(self._are_together(one, other) for other in second) for one in first)

    def _are_together(self, one: Sound, other: Sound) -> bool:
        """Whether two sounds share enough of the shorter one that nobody takes it for a brush."""
        pair = one.number, other.number
        if pair not in self._companies:
            shared = measure(intersect(one.activity.clear, other.activity.clear))
            shorter = min(measure(one.activity.faint), measure(other.activity.faint))
            # Who hears more of them also grants them a longer transition.
            self._companies[pair] = (
                shared >= self.tolerance.audible
                and shared > min(self._joined(one, other), MOST_FADED * shorter)
                and shared >= LEAST_COMPANY * shorter
            )
        return self._companies[pair]


def _lies_within(inner: Span, outer: Span) -> bool:
    """Whether one span begins no earlier and ends no later than another, whoever hears them."""
    return min(one.start for one in inner) >= min(one.clear_start for one in outer) and max(
        one.end for one in inner
    ) <= max(one.clear_end for one in outer)
