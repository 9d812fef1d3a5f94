"""`tag_captions`: captions from a clip's tags, partial views of them, and contraries swapped in.

After Manco et al., Augment, Drop & Swap: tag-to-caption (section 4.1), Augmented View Dropout and
TextSwap (section 5.1). Main caption: all tags. Positives: views. Negatives: swapped keywords.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from pydantic import Field, PositiveInt

from synth.captions.caption import Caption, Style
from synth.captions.contrast import judge
from synth.labels.tag import Tag
from synth.recipes.base import Clip, Draft, Groups, RecipeSettings, Setting, explain_too_short
from synth.recipes.negation import whole_clip
from synth.scene.claim import Claim
from synth.scene.timeline import timeline
from synth.text.tags.tag_captions import FRAMES, Sentence, describe, draw_views, join_tags
from synth.text.tags.tags import TagVocabulary
from synth.text.textswap.textswap import Dictionary, Swapped, build, swap
from synth.truth.annotation import annotate, tag_claim
from synth.truth.relations import Tolerance


class TagCaptions(RecipeSettings):
    """Settings of the recipe.

    Args:
        style: `paper` joins the tags with commas; `natural` writes sentences.
        views: Partial views of each clip's tags; the paper makes 10.
        per_category: Most tags of one category in a view.
        swaps: False captions of each clip, with one keyword per category exchanged.
        max_share: Two tags contradict only if at most this share of the rarer one's clips bear
            both.
    """

    name: ClassVar[str] = "tag_captions"
    style: Style = Style.NATURAL
    views: int = Field(default=10, ge=0, le=100)
    per_category: PositiveInt = 3
    swaps: int = Field(default=3, ge=0, le=20)
    max_share: float = Field(default=0.05, ge=0, le=1)

    def check(self, setting: Setting, splits: Collection[str]) -> None:
        """Any clip length and any split will do."""

    def refusal(self, clip: Clip, setting: Setting) -> str | None:
        """A clip must have a tag that can be said."""
        if not self.describe(clip.tags, 0).text:
            return "has no tag that can be said"
        return explain_too_short(clip, 0, setting)

    def describe(self, tags: Sequence[Tag], frame: int) -> Sentence:
        """Tags in words."""
        return join_tags(tags) if self.style is Style.PAPER else describe(tags, (), frame)

    def groups(self, clips: Mapping[str, Sequence[Clip]], setting: Setting) -> Mapping[str, Groups]:
        """One group, of one sample, for each clip; what contradicts is learnt from all clips."""
        tags = [clip.tags for each in clips.values() for clip in each]
        found = TagVocabulary.of(tag for each in tags for tag in each)
        dictionary = Dictionary(tuple(build(found, tags, self.max_share)))
        return {
            split: TaggedClips(self, split, each, dictionary, setting)
            for split, each in clips.items()
        }


@dataclass(frozen=True)
class TaggedClips:
    """The groups of one split, each computed alone."""

    settings: TagCaptions
    split: str
    clips: Sequence[Clip]
    dictionary: Dictionary
    setting: Setting

    def __len__(self) -> int:
        return len(self.clips)

    def group(self, index: int) -> Sequence[Draft]:
        """The clip with its caption, its views and its swapped captions."""
        clip = self.clips[index]
        rng = self.setting.randomness.at(f"tag_captions/{self.split}", index)
        scene = whole_clip(clip, self.setting, rng)
        heard = annotate(timeline(scene), {clip.id: [tag.name for tag in clip.tags]})
        frame = int(rng.integers(FRAMES))
        told = self.settings.describe(clip.tags, frame)
        main = self._caption(told, "caption")
        others = [*self._views(clip, rng), *self._swap_tags(told, clip, rng)]
        return [Draft(scene, judge(main, others, heard, Tolerance()))]

    def _caption(self, sentence: Sentence, kind: str) -> Caption:
        rule = f"rule:tags/{self.settings.style.value}"
        return Caption(sentence.text, tag_claim(sentence.present), kind, "", rule)

    def _views(self, clip: Clip, rng: np.random.Generator) -> list[Caption]:
        found = draw_views(clip.tags, self.settings.views, self.settings.per_category, rng)
        told = [self.settings.describe(view, int(rng.integers(FRAMES))) for view in found]
        return [self._caption(sentence, "restatement") for sentence in told if sentence.text]

    def _swap_tags(self, told: Sentence, clip: Clip, rng: np.random.Generator) -> list[Caption]:
        drawn = [
            swap(told.text, clip.tags, self.dictionary, rng) for _ in range(self.settings.swaps)
        ]
        return [
            Caption(each.text, _exchange_tags(told.present, each), "replace", "", "rule:textswap")
            for each in drawn
            if each.swaps
        ]


def _exchange_tags(tags: Sequence[Tag], swapped: Swapped) -> Claim:
    """The claim of a caption over these tags after the exchange."""
    instead = dict(swapped.swaps)
    return tag_claim([instead.get(tag, tag) for tag in tags])
