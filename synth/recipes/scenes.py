"""`scenes`: modular template scenes, in groups (CompA, section 4.1).

Up to four sounds are nested at will; more follow one another, in small overlays at most. `+` joins
two parts with a crossfade of 10 % of the shorter one, `*` mixes them between classes, the shorter
placed at random inside the longer. A minimal-pair group is one scene and its edits over the same
clips: parts reordered, an operator changed, a sound put with another partner, one exchanged for a
sound that was absent. Up to 7 captions of every granularity are true of each member, and up
to 7 false; `balance` deals them so that no text betrays which it is.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar

from synth.base.errors import PlanError
from synth.captions.measured_pool import ToldQuantity
from synth.recipes.base import Groups, Setting, check_splits, check_unpadded
from synth.recipes.casting import explain_uncast
from synth.recipes.clips import Clip, share_out
from synth.recipes.scene_groups import SceneGroups
from synth.recipes.scene_settings import SceneSettings
from synth.scene.scene import labels


class Scenes(SceneSettings):
    """The recipe: groups of `variants` scenes over clips with one label each."""

    name: ClassVar[str] = "scenes"

    def check(self, setting: Setting, splits: Collection[str]) -> None:
        """Expressions must read, sounds fit, and `scenes` must be for the spec's splits."""
        check_splits("recipe.scenes.scenes", self.scenes, splits)
        if ToldQuantity.POSITION in self.tell:
            check_unpadded("recipe.scenes.tell", setting)
        sizes = [len(labels(template)) for template in self.templates] or [self.max_events]
        longest = self.longest_sound(max(sizes), setting)
        if longest is not None and longest < setting.audible:
            raise PlanError(
                f"{max(sizes)} sounds in a row leave {longest / setting.rate:g} s for "
                f"each; less than {setting.audible / setting.rate:g} s cannot be made out",
                fix="raise audio.length or max_event_s, or lower truth.min_overlap_s",
            )

    def refusal(self, clip: Clip, setting: Setting) -> str | None:
        """A clip must have one label, and be long enough to be made out."""
        return explain_uncast(clip, self.name, self.style, setting)

    def groups(self, clips: Mapping[str, Sequence[Clip]], setting: Setting) -> Mapping[str, Groups]:
        """Groups of `variants` scenes."""
        return {
            split: SceneGroups(self, split, count, tuple(clips[split]), setting)
            for split, count in self._groups(clips).items()
        }

    def _groups(self, clips: Mapping[str, Sequence[Clip]]) -> dict[str, int]:
        if isinstance(self.scenes, dict):
            return {split: count // self.variants for split, count in self.scenes.items()}
        return share_out(self.scenes // self.variants, clips)
