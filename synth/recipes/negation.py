"""`negation`: captions of tagged clips; true ones deny an absent tag, false ones their own.

After Vasilakis et al., Towards effective negation modeling in joint audio-text models for music:
negation insert (section 2.1), half and fully negated captions (section 2.2). Every caption is
judged on the clip's tags; what only its caption states is trusted, but proves nothing.

In the paper inserts are true, and half and full are false: the text tells. In natural style clips
are taken two by two, and what is denied in each way is a tag of the one or of the other: true of
the clip that lacks it, false of the one that bears it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from pydantic import Field

from synth.captions.caption import Caption, Style
from synth.captions.contrast import CaptionSet, judge
from synth.labels.tag import Tag
from synth.recipes.base import Draft, Groups, RecipeSettings, Setting, explain_too_short
from synth.recipes.clips import Clip
from synth.recipes.negation_pairs import Amounts, MainCaption, NegationPairs, caption_tags
from synth.recipes.tag_groups import whole_clip
from synth.scene.timeline import timeline
from synth.text.negation.negation import Negation, negate
from synth.text.negation.outcome import Negated, NegationExtent
from synth.text.tags.tag_captions import FRAMES, describe
from synth.text.tags.tags import TagVocabulary
from synth.truth.annotation import annotate, tag_claim
from synth.truth.relations import Tolerance


class NegationRecipe(RecipeSettings):
    """Settings of the recipe.

    Args:
        style: `paper` puts a plain negator before a tag, in the paper's distribution: the text
            alone reveals what is false. `natural` makes each kind of caption as often true as
            false.
        inserts: Captions per clip that deny one absent tag.
        half: Make captions with half of the tags denied.
        full: Make captions with all tags denied.
    """

    name: ClassVar[str] = "negation"
    style: Style = Style.NATURAL
    inserts: int = Field(default=1, ge=0, le=20)
    half: bool = True
    full: bool = True

    def check(self, setting: Setting, splits: Collection[str]) -> None:
        """Any clip length and any split will do."""

    def refusal(self, clip: Clip, setting: Setting) -> str | None:
        """A clip must have a caption, or tags that can be said."""
        if not clip.captions and not describe(clip.tags).text:
            return "has neither a caption nor a tag that fits into one"
        return explain_too_short(clip, 0, setting)

    def groups(self, clips: Mapping[str, Sequence[Clip]], setting: Setting) -> Mapping[str, Groups]:
        """Groups of two clips, or of one or a few; the tags of all clips are the vocabulary."""
        found = TagVocabulary.of(
            tag for each in clips.values() for clip in each for tag in clip.tags
        )
        how = Negation(found)
        if self.style is Style.PAPER:
            return {
                split: Negations(self, split, each, how, setting) for split, each in clips.items()
            }
        amounts = Amounts(self.inserts, self.half, self.full)
        return {
            split: NegationPairs(amounts, split, each, how, setting)
            for split, each in clips.items()
        }


@dataclass(frozen=True)
class Negations:
    """The groups of one split in the style of the paper, each of one clip and computed alone."""

    settings: NegationRecipe
    split: str
    clips: Sequence[Clip]
    how: Negation
    setting: Setting

    def __len__(self) -> int:
        return len(self.clips)

    def group(self, index: int) -> Sequence[Draft]:
        """The clip with its caption, and that caption's negations."""
        clip = self.clips[index]
        rng = self.setting.randomness.at(f"negation/{self.split}", index)
        scene = whole_clip(clip, self.setting, rng)
        frame = int(rng.integers(FRAMES))
        told = MainCaption.of(clip, self.how.vocabulary, rng)
        main = told.caption(clip, frame)
        if not told.sure:
            return [Draft(scene, CaptionSet(main, (), ()))]
        heard = annotate(timeline(scene), {clip.id: [tag.name for tag in clip.tags]})
        known = tuple(dict.fromkeys((*clip.tags, *told.stated)))
        others = self._others(main.text, known, clip.tags, rng)
        if restated := caption_tags(clip, frame):
            others.append(restated)
        return [Draft(scene, judge(main, others, heard, Tolerance()))]

    def _others(
        self, text: str, known: Sequence[Tag], sure: Collection[Tag], rng: np.random.Generator
    ) -> list[Caption]:
        """The caption's negations, as claims over tags of the clip, or tags that nobody states.

        What only the caption states is never denied in a true caption, and alone makes no false.
        """
        modes = [NegationExtent.INSERT] * self.settings.inserts
        modes += [NegationExtent.HALF] * self.settings.half + [
            NegationExtent.FULL
        ] * self.settings.full
        found = [negate(text, mode, self.how, rng, known) for mode in modes]
        captions = (_caption(each, known, sure) for each in found)
        return [caption for caption in captions if caption is not None]


def _caption(negated: Negated, known: Collection[Tag], sure: Collection[Tag]) -> Caption | None:
    """The caption of a negation, None for none; what the caption alone states is not claimed."""
    denied = [tag for tag in negated.denied if tag in sure or tag not in known]
    if not denied:
        return None
    claim = tag_claim([tag for tag in negated.kept if tag in sure], denied)
    rule = f"rule:negate/{Style.PAPER.value}/{negated.outcome.value}"
    return Caption(negated.text, claim, f"negate-{negated.mode.value}", "", rule)
