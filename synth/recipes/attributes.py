"""`attributes`: how long, when and how loud a sound is heard, and how otherwise than before.

The members of a group hold the same sounds and differ in one attribute: "A dog barks for about
three seconds" is true of one of them and false of the other.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Final

from pydantic import Field, field_validator

from synth.base.errors import LeftOutError, PlanError
from synth.base.units import Decibels, Seconds
from synth.captions.caption import Style
from synth.recipes.attribute_scenes import Attribute, AttributeScenes, AttributeSounds
from synth.recipes.base import (
    Clip,
    Draft,
    Groups,
    RecipeSettings,
    Setting,
    SplitCounts,
    SplitGroups,
    check_splits,
    check_unpadded,
    explain_misleading,
    explain_too_short,
    share_out,
)
from synth.truth.listener import Listener

_TRIES: Final = 60
_UNPROVEN: Final = "no clips are found of which the attribute can be proven"


class Attributes(RecipeSettings):
    """Settings of the recipe.

    Args:
        pairs: Total groups, shared among the splits by their number of clips; or groups per
            split. The attributes take turns.
        attributes: Which: `duration`, `longer`, `gap`, `onset`, `position`, `louder`, `background`
            and `again_louder` of any clips; `trend`, `again_farther`, `again_roomier`,
            `again_higher` and `again_faster` of the source `treated`.
        max_event_s: Longer sounds are cut to an excerpt of this length. Treated clips are played
            whole, and may be twice as long.
        apart_db: How far two sounds lie apart of which one is louder; more where their peaks ask
            for it.
        style: Caption style. `paper` gives each sample every false sentence of its group;
            `natural` deals them, so that text alone reveals nothing.
    """

    name: ClassVar[str] = "attributes"
    pairs: SplitCounts = 1000
    attributes: tuple[Attribute, ...] = tuple(
        each for each in Attribute if not each.needs_treatment
    )
    max_event_s: Seconds = Field(default=3.0, ge=0.5, le=36_000)
    apart_db: Decibels = Field(default=10.0, ge=8, le=30)
    style: Style = Style.NATURAL

    @field_validator("attributes")
    @classmethod
    def _check_attributes(cls, found: tuple[Attribute, ...]) -> tuple[Attribute, ...]:
        if not found or len(set(found)) < len(found):
            raise ValueError("expected one or more different attributes")
        return found

    def check(self, setting: Setting, splits: Collection[str]) -> None:
        """A sample must have room for its sounds, and the pause between them."""
        check_splits("recipe.attributes.pairs", self.pairs, splits)
        for attribute in self.attributes:
            seconds = attribute.measure_room(self.max_event_s)
            if setting.max_frames is not None and setting.max_frames < seconds * setting.rate:
                raise PlanError(
                    f"samples of {setting.max_frames / setting.rate:g} s are too short for "
                    f"{attribute.value}: it needs {seconds:g} s",
                    fix="raise audio.length, lower recipe.attributes.max_event_s, or leave "
                    f"{attribute.value} out of recipe.attributes.attributes",
                )
        if Attribute.POSITION in self.attributes:
            check_unpadded("recipe.attributes.attributes", setting)

    def refusal(self, clip: Clip, setting: Setting) -> str | None:
        """A clip must have one label, and a sound that can be heard."""
        if len(clip.labels) != 1:
            return f"has {len(clip.labels)} labels; attributes needs exactly one"
        return explain_misleading(clip.labels[0], self.style) or explain_too_short(clip, 0, setting)

    def groups(self, clips: Mapping[str, Sequence[Clip]], setting: Setting) -> Mapping[str, Groups]:
        """Pairs of sounds, or one sound, of each split."""
        return AttributePairs.by_split(self, share_out(self.pairs, clips), clips, setting)


@dataclass(frozen=True)
class AttributePairs(SplitGroups[Attributes]):
    """Groups of two scenes that differ in one attribute."""

    def __post_init__(self) -> None:
        labels = {clip.labels[0] for clip in self.clips}
        if len(labels) < 2:
            raise PlanError(
                f"split {self.split}: attributes needs clips of two labels, found {len(labels)}",
                fix="add clips of other labels, or change the splits",
            )
        missing = [each.value for each in self.settings.attributes if each.needs_treatment]
        if missing and not any(clip.treatment for clip in self.clips):
            raise PlanError(
                f"split {self.split}: {', '.join(missing)} need treated clips, found none",
                fix="wrap the source: `source: {treated: {of: {...}}}`",
            )

    def group(self, index: int) -> Sequence[Draft]:
        """One attribute, told of members that differ in it."""
        rng = self.rng(index)
        attributes = self.settings.attributes
        attribute = attributes[index % len(attributes)]
        for _ in range(_TRIES):
            members = self._scenes.draw(attribute, rng)
            drafts = members and self.draft_rivals(members, attribute.value, self.settings.style)
            if drafts:
                return drafts
        raise LeftOutError(
            _UNPROVEN,
            example=attribute.value,
            fix=f"add clips to split {self.split}, or leave the attribute out",
        )

    @cached_property
    def listener(self) -> Listener:
        """Hears the clips, and how they sound."""
        return self._scenes.sounds.listener

    @cached_property
    def _scenes(self) -> AttributeScenes:
        settings = self.settings
        sounds = AttributeSounds(self.clips, self.setting, settings.max_event_s, settings.apart_db)
        return AttributeScenes(sounds, settings.style)
