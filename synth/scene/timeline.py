"""The timeline of a scene: every event with its clip, onset, offset and gain in whole frames."""

from __future__ import annotations

from dataclasses import dataclass
from typing import assert_never

from synth.base.errors import SceneError
from synth.base.units import Frames
from synth.scene.scene import Concat, Event, Excerpt, Overlay, Scene


@dataclass(frozen=True, slots=True)
class Placement:
    """One event in time: heard from `onset` (included) to `offset` (excluded), in frames."""

    label: str
    onset: Frames
    offset: Frames
    excerpt: Excerpt

    @property
    def frames(self) -> Frames:
        """How long it is heard."""
        return self.offset - self.onset


@dataclass(frozen=True, slots=True)
class Timeline:
    """Placements in scene order (left to right), and the length of the whole."""

    placements: tuple[Placement, ...]
    frames: Frames

    def labels(self) -> frozenset[str]:
        """The labels heard anywhere."""
        return frozenset(placement.label for placement in self.placements)


def timeline(scene: Scene) -> Timeline:
    """Place every event of a scene whose events all carry excerpts.

    Raises:
        SceneError: If an event has no excerpt, or a crossfade is longer than a part it joins.
    """
    placements: list[Placement] = []
    frames = _place(scene, 0, placements)
    return Timeline(tuple(placements), frames)


def duration(scene: Scene) -> Frames:
    """Length of a scene in frames.

    A concatenation lasts d1 + d2 - crossfade; an overlay spans the hull of its parts.
    """
    match scene:
        case Event():
            return scene.heard.frames
        case Concat(first, second):
            return _joined_length(scene, duration(first), duration(second))
        case Overlay(first, second, offset):
            return _spanned_length(offset, duration(first), duration(second))
        case _:
            assert_never(scene)


def _joined_length(scene: Concat, left: Frames, right: Frames) -> Frames:
    if scene.crossfade > min(left, right):
        raise SceneError(
            f"a crossfade of {scene.crossfade} frames cannot join {left} and {right} frames",
            fix="shorten the crossfade or leave out the shorter sound",
        )
    return left + right - scene.crossfade


def _spanned_length(offset: Frames, first: Frames, second: Frames) -> Frames:
    return max(first, offset + second) - min(0, offset)


def _place(scene: Scene, onset: Frames, placements: list[Placement]) -> Frames:
    """Place a scene's events from an onset. Returns the scene's length."""
    match scene:
        case Event(label):
            excerpt = scene.heard
            placements.append(Placement(label, onset, onset + excerpt.frames, excerpt))
            return excerpt.frames
        case Concat(first, second, crossfade):
            left = _place(first, onset, placements)
            return _joined_length(scene, left, _place(second, onset + left - crossfade, placements))
        case Overlay(first, second, offset):
            one = _place(first, onset + max(0, -offset), placements)
            other = _place(second, onset + max(0, offset), placements)
            return _spanned_length(offset, one, other)
        case _:
            assert_never(scene)
