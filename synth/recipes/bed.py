"""Background beds: one steady sound under a whole scene, which its captions leave unmentioned."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from pydantic import Field

from synth.base.choice import StrictModel
from synth.base.errors import PlanError
from synth.base.own_label import name_of
from synth.base.rng import pick
from synth.base.units import Decibels, Frames, to_frames
from synth.labels.lexicon import category, could_be_called
from synth.recipes.base import Clip, Length, Setting, retake, take
from synth.recipes.composing import amplify_sound
from synth.scene.scene import Concat, Event, Overlay, Scene
from synth.scene.timeline import duration

MOST_REPEATS: Final = 32
"""Of a bed: a scene of repeats is nested as deeply."""


class Background(StrictModel):
    """Settings of the bed.

    Args:
        of: Labels or categories of sounds that serve as beds.
        share: Share of the groups with a bed, if a clip is long enough.
        snr_db: Level of the scene's sounds above the bed.
        repeat_crossfade_s: Crossfade for repeating a clip that is shorter than the scene; if null,
            such clips are not used.
    """

    of: tuple[str, ...] = Field(min_length=1)
    share: float = Field(default=1.0, gt=0, le=1)
    snr_db: Decibels = Field(default=15.0, ge=0, le=60)
    repeat_crossfade_s: Length | None = None

    def clips(self, clips: Sequence[Clip]) -> list[Clip]:
        """The clips that can serve."""
        labels = {clip.labels[0] for clip in clips}
        for name in self.of:
            if not any(name in _names(label) for label in labels):
                raise PlanError(
                    f"recipe.scenes.background.of: no clip is labelled {name!r}, or of that "
                    "category",
                    fix=f"there are {', '.join(sorted({category(label) for label in labels}))}",
                )
        return [clip for clip in clips if not _names(clip.labels[0]).isdisjoint(self.of)]

    def draw(
        self,
        clips: Sequence[Clip],
        scenes: Sequence[Scene],
        named: Collection[str],
        setting: Setting,
        rng: np.random.Generator,
    ) -> Bed | None:
        """A bed for a group; None where none is due, or no clip is long enough.

        Args:
            named: Labels that its captions name, or deny.
        """
        if rng.random() >= self.share:
            return None
        longest = max(duration(scene) for scene in scenes)
        fitting = [
            clip
            for clip in clips
            if self._can_last(clip, longest, setting.rate)
            and not any(could_be_called(clip.labels[0], name) for name in named)
        ]
        if not fitting:
            return None
        sound = take(pick(fitting, rng), longest, setting, rng)
        return Bed(amplify_sound(sound, -self.snr_db), self._crossfade(setting.rate))

    def _crossfade(self, rate: int) -> Frames:
        return to_frames(self.repeat_crossfade_s or 0, rate)

    def _can_last(self, clip: Clip, longest: Frames, rate: int) -> bool:
        """Whether a clip is long enough, or becomes so when it is repeated."""
        if clip.frames >= longest or self.repeat_crossfade_s is None:
            return clip.frames >= longest
        crossfade = self._crossfade(rate)
        new = clip.frames - crossfade  # what each repeat adds
        return new >= max(crossfade, 1) and crossfade + MOST_REPEATS * new >= longest


@dataclass(frozen=True, slots=True)
class Bed:
    """A bed for the scenes of a group.

    Args:
        event: As long as the longest scene, or a whole clip that is repeated.
        crossfade: Overlap of its repeats in frames.
    """

    event: Event
    crossfade: Frames = 0

    def lay_under(self, scene: Scene) -> Overlay:
        """The scene with as much of the bed as it lasts."""
        whole, left = self.event.heard.frames, duration(scene)
        laid: Scene = self._cut(left)
        while left > whole:
            left -= whole - self.crossfade  # more than a crossfade is left
            laid = Concat(laid, self._cut(left), self.crossfade)
        return Overlay(scene, laid)

    def _cut(self, frames: Frames) -> Event:
        return retake(self.event, frames=min(self.event.heard.frames, frames))


def _names(label: str) -> frozenset[str]:
    """By which a spec may name a label."""
    return frozenset({label, name_of(label), category(label)})
