"""`edits`: a scene before and after one edit, such as "remove the dog".

The members of a group are one scene twice: with a sound and without it, with another in its place,
with the sound quieter, or with two sounds in the opposite order. All others are the same samples at
the same gain. Gains are lowered so far that no sample has to be turned down as a whole: before and
after share one normalisation, and nothing differs outside the edit.

The instruction is told by `synth.derived.edits`; `segue export --to edits` writes it, with stems.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import ClassVar

from synth.base.errors import PlanError
from synth.recipes.base import Groups, Setting, check_splits
from synth.recipes.casting import explain_uncast
from synth.recipes.clips import Clip, share_out
from synth.recipes.edit_pairs import EditPairs
from synth.recipes.edit_settings import EditSettings
from synth.truth.relations import Tolerance


class Edits(EditSettings):
    """The recipe: pairs of scenes over clips with one label each."""

    name: ClassVar[str] = "edits"

    def check(self, setting: Setting, splits: Collection[str]) -> None:
        """Samples must have one length and one normalisation, and sounds must fit."""
        check_splits("recipe.edits.pairs", self.pairs, splits)
        if setting.max_frames is None or setting.least_frames < setting.max_frames:
            raise PlanError(
                "edits need samples of one length: else a sound that goes makes its sample shorter",
                fix="set audio.length, as in `length: exact 10 s`",
            )
        if self.peak_db > setting.peak_db:
            raise PlanError(
                f"recipe.edits.peak_db is {self.peak_db:g}, above audio.peak_db "
                f"({setting.peak_db:g}): before and after would be turned down differently",
                fix=f"set recipe.edits.peak_db to {setting.peak_db:g} or less",
            )
        pause = Tolerance(audible=setting.audible).pause
        if self.pauses(setting)[0] < pause:
            raise PlanError(
                f"pauses of {self.pause_s[0]:g} s may go unheard",
                fix=f"give recipe.edits.pause_s at least {pause / setting.rate:g} s",
            )
        if self.longest_sound(self.max_events, setting) < setting.audible:
            raise PlanError(
                f"{self.max_events} sounds with pauses of {self.pause_s[1]:g} s leave no room for "
                "them",
                fix="raise audio.length, or lower recipe.edits.max_events or pause_s",
            )

    def refusal(self, clip: Clip, setting: Setting) -> str | None:
        """A clip must have one label, and be long enough to be made out."""
        return explain_uncast(clip, self.name, self.style, setting)

    def groups(self, clips: Mapping[str, Sequence[Clip]], setting: Setting) -> Mapping[str, Groups]:
        """Pairs over the clips of each split."""
        counts = self.pairs if isinstance(self.pairs, dict) else share_out(self.pairs, clips)
        for split in counts:
            if not clips.get(split):
                raise PlanError(
                    f"split {split}: edits need clips, found none",
                    fix="add clips, or change the splits",
                )
        return {
            split: EditPairs(self, split, count, tuple(clips[split]), setting)
            for split, count in counts.items()
        }
