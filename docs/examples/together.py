"""A recipe. Two sounds of different classes at once: "a dog barks while it rains"."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

from pydantic import PositiveInt

from synth.base.errors import LeftOutError
from synth.base.rng import pick
from synth.captions.caption import Style
from synth.captions.contrast import Wording
from synth.labels.connective import Connective
from synth.labels.lexicon import Phrase, are_kin
from synth.recipes.base import (
    Clip,
    Draft,
    Groups,
    Recipe,
    Setting,
    SplitGroups,
    explain_too_short,
)
from synth.recipes.fitting import DO_NOT_FIT, Fitting


class Together(Recipe):
    """Settings of the recipe.

    Args:
        pairs: Samples in each split.
    """

    name: ClassVar[str] = "together"
    pairs: PositiveInt = 100

    def refusal(self, clip: Clip, setting: Setting) -> str | None:
        """Why a clip cannot be used: it needs one label, and enough sound to be made out."""
        return "needs one label" if len(clip.labels) != 1 else explain_too_short(clip, 0, setting)

    def groups(self, clips: Mapping[str, Sequence[Clip]], setting: Setting) -> Mapping[str, Groups]:
        """The groups of every split."""
        return Pairs.by_split(self, dict.fromkeys(clips, self.pairs), clips, setting)


@dataclass(frozen=True)
class Pairs(SplitGroups[Together]):
    """The groups of one split: group i is a pure function of the seed and i."""

    def group(self, index: int) -> Sequence[Draft]:
        """One pair, told by "while"; "before" and "after" are its false captions."""
        rng = self.rng(index)
        first = pick(self.clips, rng)
        others = [c for c in self.clips if not are_kin(c.labels[0], first.labels[0])]
        pair = self.fitting.find([first], others, rng)
        if pair is None:
            raise LeftOutError(DO_NOT_FIT, example=first.labels[0], fix="add clips of other labels")
        words = (Connective.WHILE, Connective.BEFORE, Connective.AFTER)
        wording = Wording(words, Phrase.of_label, Style.NATURAL, frame=0)
        return [self.draft_contrast(pair.overlay, Connective.WHILE, wording)]

    @cached_property
    def fitting(self) -> Fitting:
        """Finds two sounds of which neither can be said to come first."""
        return Fitting(self.listener, self.setting, longest=self.setting.max_frames)
