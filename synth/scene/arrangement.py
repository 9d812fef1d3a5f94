"""Arrangements: sounds by the frame in which each begins, and the scene that plays them so."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

from synth.base.errors import SceneError
from synth.base.units import Frames
from synth.scene.scene import Concat, Event, Overlay, Scene
from synth.scene.timeline import duration, timeline


class PlacedEvent(NamedTuple):
    """A sound, and the frame in which it begins."""

    onset: Frames
    event: Event

    @property
    def offset(self) -> Frames:
        """The frame after its last."""
        return self.onset + self.event.heard.frames


def places(scene: Scene) -> tuple[PlacedEvent, ...]:
    """The sounds of a scene in its order, and where they begin."""
    return tuple(
        PlacedEvent(each.onset, Event(each.label, each.excerpt))
        for each in timeline(scene).placements
    )


def arrange(found: Iterable[PlacedEvent]) -> Scene:
    """The scene in which every sound begins at its place, without crossfades.

    Sounds that overlap are overlaid, the earliest first; what follows is joined after a pause. The
    timeline of the scene has the same places (`places`), in order of time.

    Args:
        found: At least one; the first begins at frame 0, as no scene begins with silence.
    """
    ordered = sorted(found, key=lambda place: (place.onset, -place.offset, place.event.label))
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
