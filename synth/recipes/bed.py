"""Background beds: one steady sound under a whole scene, which its captions leave unmentioned."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from synth.base.errors import PlanError
from synth.base.units import Decibels
from synth.labels.lexicon import category, could_be_called
from synth.recipes.base import Clip, Setting, excerpt, pick
from synth.scene.scene import Event, Overlay, Scene
from synth.scene.timeline import duration


class Background(BaseModel):
    """Settings of the bed.

    Args:
        of: Labels or categories of sounds that serve as beds.
        share: Share of the groups that get one, where a clip is long enough.
        snr_db: How far the bed lies below the scene's sounds.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    of: tuple[str, ...] = Field(min_length=1)
    share: float = Field(default=1.0, gt=0, le=1)
    snr_db: Decibels = Field(default=15.0, ge=0, le=60)

    def clips(self, clips: Sequence[Clip]) -> list[Clip]:
        """The clips that can serve.

        Raises:
            PlanError: If no clip is of one of the labels or categories.
        """
        found = {clip.labels[0] for clip in clips}
        for name in self.of:
            if not any(name in (label, category(label)) for label in found):
                raise PlanError(
                    f"recipe.scenes.background.of: no clip is labelled {name!r}, or of that "
                    "category",
                    fix=f"there are {', '.join(sorted({category(label) for label in found}))}",
                )
        return [
            clip
            for clip in clips
            if clip.labels[0] in self.of or category(clip.labels[0]) in self.of
        ]

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
            clips: What `clips` found.
            scenes: The group's scenes.
            named: Labels that its captions name, or deny.
            setting: As the recipe is given.
            rng: The group's.
        """
        if rng.random() >= self.share:
            return None
        longest = max(duration(scene) for scene in scenes)
        fitting = [
            clip
            for clip in clips
            if clip.frames >= longest
            and not any(could_be_called(clip.labels[0], name) for name in named)
        ]
        if not fitting:
            return None
        clip = pick(fitting, rng)
        heard = excerpt(clip, longest, setting, rng)
        lowered = replace(heard, gain_db=round(heard.gain_db - self.snr_db, 2))
        return Bed(Event(clip.labels[0], lowered))


@dataclass(frozen=True, slots=True)
class Bed:
    """A bed as long as the longest scene of its group."""

    event: Event

    def lay_under(self, scene: Scene) -> Overlay:
        """The scene with as much of the bed as it lasts."""
        heard = replace(self.event.heard, frames=duration(scene))
        return Overlay(scene, Event(self.event.label, heard))
