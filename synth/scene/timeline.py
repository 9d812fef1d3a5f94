"""The timeline of a scene: every event in whole frames, and when it is heard."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import reduce
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np
from jaxtyping import Float

from synth.base.errors import SceneError
from synth.base.units import Frames, Seconds
from synth.scene.activity import Activity
from synth.scene.edit import list_meanings
from synth.scene.scene import Concat, Event, Excerpt, Overlay, Scene, labels, operands

CUT_S: Final[Seconds] = 0.005
"""Within so long a sound begins, or ends, that is cut out of its clip."""


class Fade(StrEnum):
    """Crossfade law: `linear` gains add up to 1; `equal_power` gains' squares do."""

    LINEAR = "linear"
    EQUAL_POWER = "equal_power"

    def rise(self, progress: Float[np.ndarray, ...]) -> Float[np.ndarray, ...]:
        """The gain of what comes, by how much of the crossfade is over, from 0 to 1.

        That of what goes is the same of what is left.
        """
        if self is Fade.LINEAR:
            return progress
        return np.asarray(np.sin(progress * progress.dtype.type(np.pi / 2)))


class Placement(NamedTuple):
    """One event in time: it lasts from `onset` (included) to `offset` (excluded), in frames.

    Args:
        event: Its position among the scene's events, from 0; tags of one sound share it.
        activity: When it is heard, None for all through.
    """

    label: str
    onset: Frames
    offset: Frames
    excerpt: Excerpt
    event: int = 0
    activity: Activity | None = None

    @property
    def frames(self) -> Frames:
        """How long it lasts."""
        return self.offset - self.onset

    @property
    def heard(self) -> Activity:
        """When it is heard."""
        return self.activity or Activity.throughout(self.onset, self.offset)


class Join(NamedTuple):
    """A concatenation of the events `start` to before `middle`, and `middle` to before `stop`.

    Args:
        seam: First frame of its second part.
        crossfade: How long its parts overlap from there on, in frames.
    """

    start: int
    middle: int
    stop: int
    seam: Frames
    crossfade: Frames

    def parts(self, first: int, second: int) -> bool:
        """Whether it joins the one event to the other."""
        return self.start <= min(first, second) < self.middle <= max(first, second) < self.stop


@dataclass(frozen=True, slots=True)
class Timeline:
    """Placements in scene order (left to right), the length of the whole, and what joins them."""

    placements: tuple[Placement, ...]
    frames: Frames
    joins: tuple[Join, ...] = ()

    def labels(self) -> frozenset[str]:
        """The labels heard anywhere."""
        return frozenset(placement.label for placement in self.placements)

    def of_label(self, label: str) -> list[Placement]:
        """The placements of a label."""
        return [place for place in self.placements if place.label == label]

    def crossfade(self, first: int, second: int) -> Frames:
        """How long the crossfade is that joins two events, 0 where none does."""
        for join in self.joins:
            if join.parts(first, second):
                return join.crossfade
        return 0


def timeline(
    scene: Scene, activities: Sequence[Activity] | None = None, lead: Frames = 0
) -> Timeline:
    """Place every event of a scene whose events all carry excerpts.

    Args:
        activities: When each event is heard, in the scene's order and after the lead; without,
            each is heard all through.
    """
    placements: list[Placement] = []
    joins: list[Join] = []
    frames = lead + _place(scene, lead, placements, joins)
    if activities is not None:
        if len(activities) != len(placements):
            raise SceneError(
                f"{len(activities)} activities for {len(placements)} sounds",
                fix="the manifest is damaged: build again",
            )
        placements = [
            place._replace(activity=activity)
            for place, activity in zip(placements, activities, strict=True)
        ]
    return Timeline(tuple(placements), frames, tuple(joins))


def delay(placed: Timeline, frames: Frames) -> Timeline:
    """The same after so many frames more of silence."""
    if not frames:
        return placed
    placements = (
        place._replace(
            onset=place.onset + frames,
            offset=place.offset + frames,
            activity=place.activity and place.activity.shift(frames),
        )
        for place in placed.placements
    )
    joins = (join._replace(seam=join.seam + frames) for join in placed.joins)
    return Timeline(tuple(placements), placed.frames + frames, tuple(joins))


def duration(scene: Scene) -> Frames:
    """Length of a scene in frames.

    A concatenation lasts d1 + d2 - crossfade; an overlay spans the hull of its parts.
    """
    if isinstance(scene, Event):
        return scene.played.frames
    first, second = duration(scene.first), duration(scene.second)
    if isinstance(scene, Concat):
        return _joined_length(scene, first, second)
    return _spanned_length(scene.offset, first, second)


def _joined_length(scene: Concat, left: Frames, right: Frames) -> Frames:
    if scene.crossfade > min(left, right):
        raise SceneError(
            f"a crossfade of {scene.crossfade} frames cannot join {left} and {right} frames",
            fix="shorten the crossfade or leave out the shorter sound",
        )
    return left + right - scene.crossfade


def _spanned_length(offset: Frames, first: Frames, second: Frames) -> Frames:
    return max(first, offset + second) - min(0, offset)


def _place(scene: Scene, onset: Frames, placements: list[Placement], joins: list[Join]) -> Frames:
    """Place a scene's events from an onset. Returns the scene's length."""
    start = len(placements)
    if isinstance(scene, Event):
        excerpt = scene.played
        placements.append(Placement(scene.label, onset, onset + excerpt.frames, excerpt, start))
        return excerpt.frames
    if isinstance(scene, Concat):
        left = _place(scene.first, onset, placements, joins)
        middle, seam = len(placements), onset + left - scene.crossfade
        right = _place(scene.second, seam, placements, joins)
        joins.append(Join(start, middle, len(placements), seam, scene.crossfade))
        return _joined_length(scene, left, right)
    offset = scene.offset
    first = _place(scene.first, onset + max(0, -offset), placements, joins)
    second = _place(scene.second, onset + max(0, offset), placements, joins)
    return _spanned_length(offset, first, second)


# Arrangements: sounds by the frame in which each begins, and the scene that plays them so.


class PlacedEvent(NamedTuple):
    """A sound, and the frame in which it begins."""

    onset: Frames
    event: Event

    @property
    def offset(self) -> Frames:
        """The frame after its last."""
        return self.onset + self.event.played.frames


def places(scene: Scene) -> tuple[PlacedEvent, ...]:
    """The sounds of a scene in its order, and where they begin."""
    return tuple(
        PlacedEvent(place.onset, Event(place.label, place.excerpt))
        for place in timeline(scene).placements
    )


def arrange(sounds: Iterable[PlacedEvent]) -> Scene:
    """The scene in which every sound begins at its place, without crossfades.

    Sounds that overlap are overlaid, the earliest first; what follows is joined after a pause. The
    timeline of the scene has the same places (`places`), in order of time.

    Args:
        sounds: At least one; the first begins at frame 0, as no scene begins with silence.
    """
    ordered = sorted(sounds, key=lambda place: (place.onset, -place.offset, place.event.label))
    if not ordered or ordered[0].onset:
        raise SceneError("no sound begins with the scene", fix=_FIX)
    clusters: list[list[PlacedEvent]] = []
    ends = -1
    for place in ordered:
        if place.onset < ends:
            clusters[-1].append(place)
        else:
            clusters.append([place])
        ends = max(ends, place.offset)
    scene = _overlay(clusters[0])
    for cluster in clusters[1:]:
        scene = Concat(scene, _overlay(cluster), duration(scene) - cluster[0].onset)
    return scene


_FIX: Final = "let the first one begin at frame 0"


def _overlay(cluster: list[PlacedEvent]) -> Scene:
    first, *others = cluster
    scene: Scene = first.event
    for place in others:
        scene = Overlay(scene, place.event, place.onset - first.onset)
    return scene


# Sequences: statements of many sounds, one after the other, with small overlays among them.


def is_sequence(statement: Scene, most: int) -> bool:
    """Whether single sounds and overlays of up to `most` single sounds follow one another."""
    return isinstance(statement, Concat) and all(
        isinstance(part, Event)
        or (
            isinstance(part, Overlay)
            and len(labels(part)) <= most
            and all(isinstance(operand, Event) for operand in operands(part))
        )
        for part in operands(statement)
    )


def make_sequence(parts: Sequence[Scene]) -> Scene:
    """The parts, one after the other."""
    return reduce(Concat, parts)


def recompose(statement: Concat, most: int) -> Iterator[Scene]:
    """The sequences one edit away, with overlays of at most `most`, each meaning once, not its own.

    Neighbours exchanged or put together, overlays taken apart, two labels exchanged.
    """
    return list_meanings(statement, _edits(statement, most))


def _edits(statement: Concat, most: int) -> Iterator[Scene]:
    parts = operands(statement)
    for at, (left, right) in enumerate(pairwise(parts)):
        edited: list[tuple[Scene, ...]] = [(right, left)]
        if len(labels(left)) + len(labels(right)) <= most:
            edited.append((Overlay(left, right),))
        for edit in edited:
            yield make_sequence((*parts[:at], *edit, *parts[at + 2 :]))
    for at, part in enumerate(parts):
        if isinstance(part, Overlay):
            steps = operands(part)
            for edit in (steps, steps[::-1]):
                yield make_sequence((*parts[:at], *edit, *parts[at + 1 :]))
