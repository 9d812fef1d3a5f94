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

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, product
from typing import Final, NamedTuple, TypeAlias, assert_never

from synth.base.units import Frames
from synth.labels.lexicon import are_kin, could_be_called
from synth.scene.activity import Activity, Stretch, cut, hull, intersect, measure
from synth.scene.claim import And, Claim, Not, Only, claim_labels
from synth.scene.edit import projection
from synth.scene.scene import Concat, Event, Overlay, Scene, labels, operands
from synth.scene.timeline import Placement, Timeline

LEAST_COMPANY: Final = 0.25
"""Share of the shorter of two sounds that they must have in common to accompany one another."""

MOST_FADED: Final = 0.5
"""Share of the shorter of two sounds that a transition between them may cover."""

LEAST_REMAINDER: Final = 0.2
"""Share of a sound from which on its rest can be taken for a sound of its own."""

_REMAINDER: Final = 5
"""The same as a length, in the shortest overlaps that can be heard: 0.5 s where that is 0.1 s."""


@dataclass(frozen=True, slots=True)
class Tolerance:
    """What can be heard, and what counts as a transition rather than as sounding together.

    Args:
        transition: Overlap in frames up to which any two sounds still follow one another. Those
            that a crossfade joins may overlap as long as it lasts. Neither may cover more than
            half of the shorter sound.
        audible: Shortest overlap in frames that can be heard as sounding together, and shortest
            distance of two onsets that tells which was first.
    """

    transition: Frames = 0
    audible: Frames = 1

    @property
    def remainder(self) -> Frames:
        """How long a sound must go on alone to be taken for one that comes after."""
        return max(_REMAINDER * self.audible, 1)


class Sound(NamedTuple):
    """One sound, as every listener hears it (`clear`) and as a keen one may (`faint`).

    Args:
        number: Its position among the timeline's placements.
        event: Position of its event in the scene.
        activity: When it is heard.
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


class Relations:
    """How the sounds of a timeline lie to one another.

    Args:
        timeline: What is heard.
        tolerance: What counts as a transition.
    """

    def __init__(self, timeline: Timeline, tolerance: Tolerance) -> None:
        self._timeline = timeline
        self._tolerance = tolerance
        self._orders: dict[tuple[int, int], bool] = {}
        self._loose_orders: dict[tuple[int, int], bool] = {}
        self._companies: dict[tuple[int, int], bool] = {}

    def is_over_when_next_starts(self, first: Span, second: Span) -> bool:
        """Whether all of one span is over, but for a transition, when the other begins."""
        return all(self._precedes(one, other) for one, other in product(first, second))

    def starts_first_or_is_outlasted(self, first: Span, second: Span) -> bool:
        """Whether anything of the other span may be said to come after anything of the one."""
        return any(self._may_precede(one, other) for one, other in product(first, second))

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
        return offset - onset > min(
            self._transition(one, other) for one, other in product(first, second)
        )

    def _transition(self, one: Sound, other: Sound) -> float:
        """How long two sounds may overlap and still follow one another."""
        joined = self._timeline.crossfade(one.event, other.event)
        shorter = min(one.clear_frames, other.clear_frames)
        return min(max(joined, self._tolerance.transition), MOST_FADED * shorter)

    def _precedes(self, one: Sound, other: Sound) -> bool:
        pair = one.number, other.number
        if pair not in self._orders:
            self._orders[pair] = (
                one.end - other.start <= self._transition(one, other)
                and other.start - (one.clear_start if one.clear_frames else one.start)
                >= self._tolerance.audible
            )
        return self._orders[pair]

    def _may_precede(self, one: Sound, other: Sound) -> bool:
        pair = one.number, other.number
        if pair not in self._loose_orders:
            self._loose_orders[pair] = other.clear_start - one.start >= (
                self._tolerance.audible
            ) or self._is_outlasted(one, other)
        return self._loose_orders[pair]

    def _is_outlasted(self, one: Sound, other: Sound) -> bool:
        """Whether enough of the other sound comes when the one is over to be said to follow it."""
        rest = measure(cut(other.activity.faint, one.clear_end, other.end))
        return rest >= self._tolerance.remainder or rest >= LEAST_REMAINDER * (
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
            self._companies[pair] = (
                shared >= self._tolerance.audible
                and shared > self._transition(one, other)
                and shared >= LEAST_COMPANY * shorter
            )
        return self._companies[pair]


def _lies_within(inner: Span, outer: Span) -> bool:
    """Whether one span begins no earlier and ends no later than another, whoever hears them."""
    return min(one.start for one in inner) >= min(one.clear_start for one in outer) and max(
        one.end for one in inner
    ) <= max(one.clear_end for one in outer)


Relation: TypeAlias = Callable[[Relations, Span, Span], bool]

STRICTEST = Interpretation(
    Relations.is_over_when_next_starts, Relations.one_lies_within_the_other, every=True
)
LOOSEST = Interpretation(
    Relations.starts_first_or_is_outlasted, Relations.overlaps_at_all, every=False
)


class Hearing:
    """A timeline on which claims are decided, one after the other.

    Args:
        timeline: What is heard.
        tolerance: What counts as a transition.
    """

    def __init__(self, timeline: Timeline, tolerance: Tolerance) -> None:
        self._timeline = timeline
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
        match claim:
            case Event() | Concat() | Overlay():
                named = labels(claim)
                names = frozenset(named)
                # Two mentions, or two sounds, of one name may be one or two.
                return (
                    len(names) == len(named)
                    and names <= self._clear
                    and self._holds(claim, STRICTEST)
                    and not self._is_ambiguous(names)
                )
            case And(first, second):
                return self.proves(second) and self.proves(first)
            case Not(inner):
                return self.refutes(inner)
            case Only(inner):
                return self.proves(inner) and self._own.keys() <= claim_labels(inner)
            case _:
                assert_never(claim)

    def refutes(self, claim: Claim) -> bool:
        """Whether the claim fails under every reading of its words."""
        match claim:
            case Event() | Concat() | Overlay():
                if self._holds(claim, LOOSEST):
                    return False
                named = frozenset(labels(claim))
                spare = self._spare_names(named)
                rest = projection(claim, named - spare) if spare else None
                return rest is None or self.refutes(rest)
            case And(first, second):
                return self.refutes(second) or self.refutes(first)
            case Not(inner):
                return self.proves(inner)
            case Only(inner):
                named = claim_labels(inner)
                return self.refutes(inner) or not all(
                    any(could_be_called(other, name) for name in named)
                    for other in self._clear - named
                )
            case _:
                assert_never(claim)

    def _find_called(self, name: str) -> list[tuple[Sound, Placement]]:
        """The sounds of other labels that could be called by a name, with their places."""
        found = self._others.get(name)
        if found is None:
            found = self._others[name] = [
                (sound, place)
                for sound, place in zip(self._sounds, self._timeline.placements, strict=True)
                if place.label != name and could_be_called(place.label, name)
            ]
        return found

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
        found: list[list[Span]] = []
        for operand in operands(part):
            spans = self._spans(operand, reading, scene)
            if not spans:
                return []
            found.append(spans)
        fits = reading.precedes if isinstance(part, Concat) else reading.accompanies
        fitting: list[tuple[Span, ...]] = []
        for chosen in product(*found):
            for one, other in combinations(chosen, 2):
                if not fits(self._relations, one, other):
                    if reading.every:
                        return []
                    break
            else:
                fitting.append(chosen)
        return fitting


def proves(timeline: Timeline, claim: Claim, tolerance: Tolerance) -> bool:
    """Whether the claim holds on the timeline under every reading of its words."""
    return Hearing(timeline, tolerance).proves(claim)


def refutes(timeline: Timeline, claim: Claim, tolerance: Tolerance) -> bool:
    """Whether the claim fails on the timeline under every reading of its words."""
    return Hearing(timeline, tolerance).refutes(claim)
