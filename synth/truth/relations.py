"""How the sounds of a timeline lie to one another, and how loud, long and high they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from typing import Final, NamedTuple, TypeAlias, assert_never

from synth.base.units import Decibels, Frames
from synth.labels.lexicon import Treatment
from synth.scene.activity import Acoustics, Activity, Stretch, cut, hull, intersect, measure
from synth.scene.claim import Part, Quantity
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
        activity = place.heard
        start, end = hull(activity.faint) or Stretch(place.onset, place.offset)
        first, last = hull(activity.clear) or (end, start)
        return cls(number, place.event, activity, start, first, last, end, measure(activity.clear))


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
        for sound in first:
            for other in second:
                if not self._precedes(sound, other):
                    return False
        return True

    def starts_first_or_is_outlasted(self, first: Span, second: Span) -> bool:
        """Whether anything of the other span may be said to come after anything of the one."""
        for sound in first:
            for other in second:
                if self._may_precede(sound, other):
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
        onset = max(min(sound.start for sound in first), min(other.start for other in second))
        offset = min(max(sound.end for sound in first), max(other.end for other in second))
        transition = min(self._transition(sound, other) for sound, other in product(first, second))
        return offset - onset > min(transition, self.tolerance.crossing)

    def _transition(self, first: Sound, second: Sound) -> float:
        """How long two sounds may overlap and still follow one another."""
        shorter = min(first.clear_frames, second.clear_frames)
        return min(self._joined(first, second), MOST_FADED * shorter)

    def _joined(self, first: Sound, second: Sound) -> Frames:
        """How long the transition is that joins two sounds, however short they are."""
        return max(self._timeline.crossfade(first.event, second.event), self.tolerance.transition)

    def _precedes(self, first: Sound, second: Sound) -> bool:
        pair = first.number, second.number
        if pair not in self._orders:
            self._orders[pair] = (
                first.end - second.start <= self._transition(first, second)
                and second.start - (first.clear_start if first.clear_frames else first.start)
                >= self.tolerance.audible
            )
        return self._orders[pair]

    def _may_precede(self, first: Sound, second: Sound) -> bool:
        pair = first.number, second.number
        if pair not in self._loose_orders:
            self._loose_orders[pair] = second.clear_start - first.start >= (
                self.tolerance.audible
            ) or self._is_outlasted(first, second)
        return self._loose_orders[pair]

    def _is_outlasted(self, first: Sound, second: Sound) -> bool:
        """Whether enough of the second sound comes when the first is over to be said to follow."""
        rest = measure(cut(second.activity.faint, first.clear_end, second.end))
        return rest >= self.tolerance.remainder or rest >= LEAST_REMAINDER * (
            second.clear_frames or 1
        )

    def _has_company(self, first: Span, second: Span) -> bool:
        """Whether each single sound of `first` is heard together with one of `second`."""
        return all(any(self._are_together(sound, partner) for partner in second) for sound in first)

    def _are_together(self, first: Sound, second: Sound) -> bool:
        """Whether two sounds share enough of the shorter one that nobody takes it for a brush."""
        pair = first.number, second.number
        if pair not in self._companies:
            shared = measure(intersect(first.activity.clear, second.activity.clear))
            shorter = min(measure(first.activity.faint), measure(second.activity.faint))
            # Who hears more of them also grants them a longer transition.
            self._companies[pair] = (
                shared >= self.tolerance.audible
                and shared > min(self._joined(first, second), MOST_FADED * shorter)
                and shared >= LEAST_COMPANY * shorter
            )
        return self._companies[pair]


def _lies_within(inner: Span, outer: Span) -> bool:
    """Whether one span begins no earlier and ends no later than another, whoever hears them."""
    return min(sound.start for sound in inner) >= min(sound.clear_start for sound in outer) and max(
        sound.end for sound in inner
    ) <= max(sound.clear_end for sound in outer)


# Measures: does a sound last so long, begin then, sound louder than another?
#
# Each judge takes what is measured between two bounds, as ears differ, and answers True where a
# value is right under every reading of the words, False where it is wrong under every reading, and
# None in between. "About three seconds" is 2.4 to 3.6 s to everybody, and 1.5 to 4.5 s to somebody.


# Effects: in what a treated recording differs from itself, to every ear.
#
# Recordings carry their own rooms, distances and pitches. So of these only differences between two
# treatments of one recording can be told.


EFFECTS: Final[Mapping[str, Mapping[Quantity, int]]] = {
    "": dict.fromkeys(
        (
            Quantity.AGAIN_FARTHER,
            Quantity.AGAIN_ROOMIER,
            Quantity.AGAIN_HIGHER,
            Quantity.AGAIN_FASTER,
        ),
        0,
    ),
    Treatment.HALL: {Quantity.AGAIN_ROOMIER: 1},
    Treatment.FAR: {Quantity.AGAIN_FARTHER: 1},
    Treatment.HIGH: {Quantity.AGAIN_HIGHER: 1},
    Treatment.LOW: {Quantity.AGAIN_HIGHER: -1},
    Treatment.FAST: {Quantity.AGAIN_FASTER: 1},
    Treatment.SLOW: {Quantity.AGAIN_FASTER: -1},
}
"""By treatment and quantity: 1 for more, -1 for less, 0 for the same; others are unclear."""


ABOUT: Final = (0.2, 0.5)
"""Of a length: who says "about" means no more than the first share off, or no less than the last.
"""

_NEAR: Final = (2, 5)
"""Neither is less than so many shortest overlaps: 0.2 s and 0.5 s."""

_RIGHT_AFTER: Final = (5, 10)
"""In the same measure: what follows "right after" comes so soon: 0.5 s, 1 s."""

_AT: Final = (3, 10)
"""In the same measure: how far off the time may be at which a sound is said to begin, or to be."""

LONGER: Final = 1.5
"""A sound that is longer than another lasts so many times as long."""

LOUDER_DB: Final[tuple[Decibels, Decibels]] = (6.0, -3.0)
"""A sound that is louder than another is by the first; one that is not may be so by the last."""

TREND_DB: Final[tuple[Decibels, Decibels]] = (3.0, -3.0)
"""The same of each third of a sound that gets louder over the third before, and of the last over
the first."""

_EDGE: Final = 0.1
"""What begins at the start begins within this share of the whole."""


def judge_one(
    quantity: Quantity, value: int, sound: Sound, whole: Frames, tolerance: Tolerance
) -> bool | None:
    """Whether a quantity of one sound has a value.

    Args:
        quantity: Of one sound, heard once.
        sound: Everybody hears it.
    """
    match quantity:
        case Quantity.DURATION:
            # With pauses, some count the sound alone, and others from its begin to its end.
            least, most = sound.clear_frames, sound.end - sound.start
            return _is_about(least, most, value, tolerance)
        case Quantity.ONSET:
            return _is_at(sound, value, _to_frames(_AT, tolerance))
        case Quantity.POSITION:
            return _lies_in(sound, Part(value), whole)
        case Quantity.TREND:
            return _tends(sound.activity.acoustics, value)
        case _:
            raise ValueError(f"{quantity.value} is of two sounds, or is not judged yet")


def are_apart(first: Sound, second: Sound) -> bool:
    """Whether the pause between two hearings of a sound is longer than any within one of them.

    Else a bark of the first may be taken for one of the second.
    """
    inner = max(sound.activity.longest_pause for sound in (first, second))
    return second.start - first.end > inner


def judge_two(
    quantity: Quantity, value: int, first: Sound, second: Sound, relations: Relations
) -> bool | None:
    """Whether a quantity of two sounds has a value.

    Args:
        quantity: Of two sounds, or of one that is heard twice.
        first: Everybody hears it.
        second: The same; of a sound that is heard twice, the second time.
    """
    match quantity:
        case Quantity.GAP:
            return _follows(value, first, second, relations)
        case Quantity.LONGER:
            return _outlasts(first, second) if value > 0 else _outlasts(second, first)
        case Quantity.LOUDER | Quantity.AGAIN_LOUDER:
            again = quantity is Quantity.AGAIN_LOUDER
            one, other = (second, first) if (value > 0) is again else (first, second)
            return _drowns(one.activity.acoustics, other.activity.acoustics)
        case _:
            return _is_changed(quantity, value, first, second)


def _to_frames(lengths: tuple[int, int], tolerance: Tolerance) -> tuple[Frames, Frames]:
    audible = max(tolerance.audible, 1)
    return lengths[0] * audible, lengths[1] * audible


def _is_within(
    least: Frames, most: Frames, value: Frames, off: tuple[Frames, Frames]
) -> bool | None:
    """Whether all from `least` to `most` is near a value, or nothing of it is."""
    strict, loose = off
    if value - strict <= least and most <= value + strict:
        return True
    return False if most < value - loose or least > value + loose else None


def _is_at(sound: Sound, moment: Frames, off: tuple[Frames, Frames]) -> bool | None:
    """Whether a sound begins at a moment; of one that goes on, somebody may say so later."""
    begins = _is_within(sound.start, sound.clear_start, moment, off)
    is_over = sound.end + off[0] < moment
    return begins if begins or moment < sound.start or is_over else None


def _is_about(least: Frames, most: Frames, value: Frames, tolerance: Tolerance) -> bool | None:
    strict, loose = _to_frames(_NEAR, tolerance)
    off = max(round(ABOUT[0] * value), strict), max(round(ABOUT[1] * value), loose)
    return _is_within(least, most, value, off)


def _lies_in(sound: Sound, part: Part, whole: Frames) -> bool | None:
    """Whether a sound lies in a part of the whole.

    To everybody a part is a third of the whole, and the outer ones begin or end with it; to
    somebody whatever reaches into an outer third, or out of the outer quarters, lies there.
    """
    start, end = sound.start / whole, sound.end / whole
    match part:
        case Part.START:
            if sound.clear_start / whole <= _EDGE and end <= 1 / 3:
                return True
            return False if start >= 1 / 3 else None
        case Part.MIDDLE:
            if start >= 1 / 3 and end <= 2 / 3:
                return True
            return False if end <= 1 / 4 or start >= 3 / 4 else None
        case Part.END:
            if start >= 2 / 3 and sound.clear_end / whole >= 1 - _EDGE:
                return True
            return False if end <= 2 / 3 else None
        case _:
            assert_never(part)


def _tends(acoustics: Acoustics | None, sign: int) -> bool | None:
    if acoustics is None:
        return None
    first, second, last = (sign * level for level in acoustics.thirds_dba)
    if round(min(second - first, last - second), 1) >= TREND_DB[0]:
        return True
    # What rises at any time gets louder to somebody.
    is_falling = last <= second <= first and last - first <= TREND_DB[1]
    return False if is_falling else None


def _follows(frames: Frames, first: Sound, second: Sound, relations: Relations) -> bool | None:
    """Whether a sound begins so long after another is over."""
    one, other, tolerance = (first,), (second,), relations.tolerance
    if not relations.starts_first_or_is_outlasted(one, other):
        return False
    least, most = second.start - first.end, second.clear_start - first.clear_end
    if frames:
        verdict = _is_about(least, most, frames, tolerance)
    else:
        verdict = _is_within(least, most, 0, _to_frames(_RIGHT_AFTER, tolerance))
    return verdict if not verdict or relations.is_over_when_next_starts(one, other) else None


def _outlasts(first: Sound, second: Sound) -> bool | None:
    least, most = second.clear_frames, second.end - second.start
    if first.clear_frames >= LONGER * most:
        return True
    return False if first.end - first.start <= least else None


def _drowns(first: Acoustics | None, second: Acoustics | None) -> bool | None:
    """Whether one sound is louder, by its mean in dBA and in LUFS, and at its loudest."""
    if first is None or second is None:
        return None
    apart = first.minus(second)
    if min(apart) >= LOUDER_DB[0]:
        return True
    return False if max(apart) <= LOUDER_DB[1] else None


def _is_changed(quantity: Quantity, sign: int, first: Sound, second: Sound) -> bool | None:
    """Whether a recording is heard in another treatment the second time."""
    one, other = first.activity.acoustics, second.activity.acoustics
    if one is None or other is None or not one.recording or one.recording != other.recording:
        return None
    before, after = (EFFECTS.get(sound.treatment, {}).get(quantity) for sound in (one, other))
    if before is None or after is None:
        return None
    is_changed = (after - before) * sign > 0
    if quantity is not Quantity.AGAIN_FARTHER:
        return is_changed
    # What is far away is quieter, and what is quieter may be far away.
    near, far = (one, other) if sign > 0 else (other, one)
    if is_changed:
        return _drowns(near, far) or None
    return None if near.mean_dba > far.mean_dba else False
