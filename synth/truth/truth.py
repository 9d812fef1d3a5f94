"""Truth: does a claim hold on a timeline, whichever way its words are read?

Words leave room, in time and in what they name. "A dog barks before it rains" may mean that the
barking is over when the rain sets in, or only that it starts first; "while" may mean all through,
or for a moment; "a dog" may be said of what is catalogued as a bark (`lexicon.are_kin`), "an
engine" of an airplane (`lexicon.could_be_called`). A claim is *proven* when it holds under the
strictest reading and *refuted* when it fails under the loosest, so a proven positive and a refuted
negative are right whatever the reader had in mind. What lies between is neither, and cannot enter a
corpus.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations, product
from typing import Final, NamedTuple, TypeAlias, assert_never

from synth.base.units import Frames
from synth.labels.lexicon import are_kin, could_be_called
from synth.scene.claim import And, Claim, Not, Only, claim_labels
from synth.scene.edit import projection
from synth.scene.scene import Concat, Event, Overlay, Scene, labels, longest_crossfade, operands
from synth.scene.timeline import Placement, Timeline

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


class Span(NamedTuple):
    """A stretch of time, `onset` included and `offset` excluded, in frames."""

    onset: Frames
    offset: Frames
    parts: tuple[Span, ...] = ()

    def sounds(self) -> tuple[Span, ...]:
        """The single sounds in it."""
        return self.parts or (self,)


Relation: TypeAlias = Callable[[Span, Span, Tolerance], bool]


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


def _overlap(first: Span, second: Span) -> Frames:
    return min(first.offset, second.offset) - max(first.onset, second.onset)


def _is_over_when_next_starts(first: Span, second: Span, tolerance: Tolerance) -> bool:
    if _overlap(first, second) > tolerance.transition:
        return False
    starts = max(sound.onset for sound in first.sounds()) < second.onset
    return starts and first.offset < min(sound.offset for sound in second.sounds())


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


STRICTEST = Interpretation(_is_over_when_next_starts, _one_lies_within_the_other, every=True)
LOOSEST = Interpretation(_starts_first, _overlap_at_all, every=False)


class Hearing:
    """A timeline on which claims are decided, one after the other.

    Args:
        timeline: What is heard.
        tolerance: What counts as a transition.
    """

    def __init__(self, timeline: Timeline, tolerance: Tolerance) -> None:
        self._timeline = timeline
        self._tolerance = tolerance
        self._own: dict[str, list[Span]] = {}
        self._others: dict[str, list[Placement]] = {}
        for place in timeline.placements:
            self._own.setdefault(place.label, []).append(Span(place.onset, place.offset))

    def proves(self, claim: Claim) -> bool:
        """Whether the claim holds under every reading of its words."""
        match claim:
            case Event() | Concat() | Overlay():
                named = labels(claim)
                names = frozenset(named)
                # Two mentions, or two sounds, of one name may be one or two.
                return (
                    len(names) == len(named)
                    and names <= self._own.keys()
                    and self._holds(claim, STRICTEST)
                    and not self._is_ambiguous(names)
                )
            case And(first, second):
                return self.proves(second) and self.proves(first)
            case Not(inner):
                return self.refutes(inner)
            case Only(inner):
                return self.proves(inner) and not self._unnamed_labels(inner)
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
                    for other in self._unnamed_labels(inner)
                )
            case _:
                assert_never(claim)

    def _unnamed_labels(self, claim: Claim) -> frozenset[str]:
        return self._timeline.labels() - claim_labels(claim)

    def _find_called(self, name: str) -> list[Placement]:
        """The sounds of other labels that could be called by a name."""
        found = self._others.get(name)
        if found is None:
            found = self._others[name] = [
                place
                for place in self._timeline.placements
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
            for place in self._find_called(name)
        )

    def _is_meant(self, place: Placement, name: str, named: frozenset[str]) -> bool:
        """Whether a name could be meant for a sound in a sentence that names these labels.

        "An engine" could be an airplane's, but not where the sentence names the airplane, too, and
        an engine of its own is heard: then each name means its own sound.
        """
        return are_kin(name, place.label) or place.label not in named or name not in self._own

    def _spare_names(self, named: frozenset[str]) -> frozenset[str]:
        """The names that nothing bears, and that may say again what another of them says.

        "An airplane flies, then an engine runs" is not false of an airplane alone.
        """
        return frozenset(
            name
            for name in named
            if name not in self._own
            and any(place.label in named for place in self._find_called(name))
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
            return [_join_spans(spans) for spans in self._fit_spans(part, reading, scene)]
        own = self._own.get(part.label, [])
        if reading.every or not (others := self._find_called(part.label)):
            return own
        named = frozenset(labels(scene))
        return own + [
            Span(place.onset, place.offset)
            for place in others
            if self._is_meant(place, part.label, named)
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
        relation = reading.precedes if isinstance(part, Concat) else reading.accompanies
        fitting: list[tuple[Span, ...]] = []
        for chosen in product(*found):
            for one, other in combinations(chosen, 2):
                if not relation(one, other, self._tolerance):
                    if reading.every:
                        return []
                    break
            else:
                fitting.append(chosen)
        return fitting


def _join_spans(spans: tuple[Span, ...]) -> Span:
    return Span(
        min(span.onset for span in spans),
        max(span.offset for span in spans),
        tuple(sound for span in spans for sound in span.sounds()),
    )


def proves(timeline: Timeline, claim: Claim, tolerance: Tolerance) -> bool:
    """Whether the claim holds on the timeline under every reading of its words."""
    return Hearing(timeline, tolerance).proves(claim)


def refutes(timeline: Timeline, claim: Claim, tolerance: Tolerance) -> bool:
    """Whether the claim fails on the timeline under every reading of its words."""
    return Hearing(timeline, tolerance).refutes(claim)
