"""Changes: what an edit does to a scene, and what is proven of the scene before and after it.

Before and after play the same sounds at the same frames and gains, but for the one or two that are
edited. So nothing differs outside the stretch in which those are played.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import reduce
from typing import Final

from synth.base.units import Decibels
from synth.labels.lexicon import Tag
from synth.scene.activity import Stretch
from synth.scene.claim import And, Claim, Not
from synth.scene.scene import Concat, Event, Overlay, Scene
from synth.scene.timeline import PlacedEvent, Timeline, places, timeline
from synth.truth.truth import Hearing


class ChangeKind(StrEnum):
    """What is done.

    `add`, `remove`: a sound comes, or goes. `replace`: another sound takes its place. `quieter`,
    `louder`: its gain is changed. `swap`: two sounds that follow one another exchange their order.
    """

    ADD = "add"
    REMOVE = "remove"
    REPLACE = "replace"
    QUIETER = "quieter"
    LOUDER = "louder"
    SWAP = "swap"

    @property
    def reverse(self) -> ChangeKind:
        """What undoes it."""
        return _REVERSE.get(self, self)

    @property
    def is_level(self) -> bool:
        """Whether it changes a gain and nothing else."""
        return self in (ChangeKind.QUIETER, ChangeKind.LOUDER)


_REVERSE: Final = {
    ChangeKind.ADD: ChangeKind.REMOVE,
    ChangeKind.REMOVE: ChangeKind.ADD,
    ChangeKind.QUIETER: ChangeKind.LOUDER,
    ChangeKind.LOUDER: ChangeKind.QUIETER,
}

Claims = tuple[Claim, Claim]
"""What is proven before, and what is proven after."""


@dataclass(frozen=True, slots=True)
class Change:
    """What an edit does.

    Args:
        sounds: The labels of the sounds that it is about: one, or for `replace` what goes and what
            comes, and for `swap` the two in the order before.
        stretch: Nothing differs outside of it, in frames.
        gain_db: By how much a sound is raised, 0 where no gain is changed.
    """

    kind: ChangeKind
    sounds: tuple[str, ...]
    stretch: Stretch
    gain_db: Decibels = 0.0


def find_change(before: Scene, after: Scene) -> Change | None:
    """The single edit that leads from one scene to the other; None where there is no such edit.

    Scenes with crossfades have none: by those a sound changes its neighbours, too.
    """
    if any(join.crossfade > 0 for scene in (before, after) for join in timeline(scene).joins):
        return None
    had, has = places(before), places(after)
    gone = sorted(set(had) - set(has), key=_by_time)
    come = sorted(set(has) - set(had), key=_by_time)
    if len(set(had)) < len(had) or len(set(has)) < len(has) or not gone + come:
        return None
    stretch = Stretch(
        min(place.onset for place in gone + come), max(place.offset for place in gone + come)
    )
    match gone, come:
        case [place], []:
            return Change(ChangeKind.REMOVE, (place.event.label,), stretch)
        case [], [place]:
            return Change(ChangeKind.ADD, (place.event.label,), stretch)
        case [old], [new] if old.event.label != new.event.label and old.onset == new.onset:
            return Change(ChangeKind.REPLACE, (old.event.label, new.event.label), stretch)
        case [old], [new] if _is_same_take(old, new) and old.onset == new.onset:
            gain = round(new.event.played.gain_db - old.event.played.gain_db, 2)
            kind = ChangeKind.LOUDER if gain > 0 else ChangeKind.QUIETER
            return Change(kind, (old.event.label,), stretch, gain)
        case [first_old, second_old], [first, second] if (first_old.event, second_old.event) == (
            second.event,
            first.event,
        ):
            return Change(ChangeKind.SWAP, (first_old.event.label, second_old.event.label), stretch)
    return None


def list_claims(change: Change, others: tuple[str, ...] = ()) -> Iterator[Claims]:
    """What may be proven before and after a change, the plainest first.

    Args:
        others: Labels heard before and after, by which the place of a sound can be told.
    """
    sounds = [Event(label) for label in change.sounds]
    match change.kind, sounds:
        case ChangeKind.ADD, [sound]:
            yield from ((Not(sound), claim) for claim in _tell_places(sound, others))
        case ChangeKind.REMOVE, [sound]:
            yield from ((claim, Not(sound)) for claim in _tell_places(sound, others))
        case ChangeKind.SWAP, [first, second]:
            yield Concat(first, second), Concat(second, first)
        case _:
            yield sounds[0], sounds[-1]


def proves_change(change: Change, claims: Claims, before: Hearing, after: Hearing) -> bool:
    """Whether each claim is proven of its own side and, but for a level, refuted of the other."""
    first, second = claims
    if not (before.proves(first) and after.proves(second)):
        return False
    return change.kind.is_level or (before.refutes(second) and after.refutes(first))


def _tell_places(sound: Event, others: tuple[str, ...]) -> Iterator[Claim]:
    yield sound
    for other in map(Event, others):
        yield Concat(other, sound)
        yield Concat(sound, other)
        yield Overlay(sound, other)


def _is_same_take(before: PlacedEvent, after: PlacedEvent) -> bool:
    first, second = before.event.played, after.event.played
    return (first.clip, first.start, first.frames) == (second.clip, second.start, second.frames)


def _by_time(place: PlacedEvent) -> tuple[int, int, str]:
    return place.onset, place.offset, place.event.label


# Tags as facts: what a clip's tags add to a timeline, and the claims that captions make of them.
#
# A tag holds of its whole clip. Whatever is not among the tags counts as absent: the closed world.
# It is as good as the list of tags is complete; where tags are missing, "without guitar" is an
# assumption, not a proof. Tags that a trusted caption states may be added to the list first.


def annotate(timeline: Timeline, tags: Mapping[str, Iterable[str]]) -> Timeline:
    """The timeline, with a placement for every tag of each placement's clip.

    Args:
        timeline: Onsets and offsets in frames.
        tags: Names of the tags by clip id; a clip that is not in it has none. A name that the
            placement bears as its label already is not added.
    """
    added = (
        place._replace(label=name)
        for place in timeline.placements
        for name in dict.fromkeys(tags.get(place.excerpt.clip, ()))
        if name != place.label
    )
    return replace(timeline, placements=(*timeline.placements, *added))


def tag_claim(present: Sequence[Tag], absent: Sequence[Tag] = ()) -> Claim:
    """The claim that these tags hold, and those do not."""
    parts: list[Claim] = [Event(tag.name) for tag in present]
    parts += [Not(Event(tag.name)) for tag in absent]
    if not parts:
        raise ValueError("a claim needs a tag")
    return reduce(And, parts)
