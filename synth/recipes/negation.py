"""`negation`: captions of tagged clips; true ones deny an absent tag, false ones their own.

After Vasilakis et al., Towards effective negation modeling in joint audio-text models for music:
negation insert (section 2.1) makes positives; half and fully negated captions (section 2.2) make
negatives. Every one is judged on the clip's tags; what only its caption states is trusted, but
proves nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Final

import numpy as np
from pydantic import Field

from synth.captions.caption import Caption, Style
from synth.captions.contrast import CaptionSet, judge
from synth.labels.tag import Tag
from synth.recipes.base import (
    Clip,
    Draft,
    Groups,
    RecipeSettings,
    Setting,
    excerpt,
    explain_too_short,
)
from synth.scene.scene import Event
from synth.scene.timeline import timeline
from synth.text.negation.negation import Mode, Negated, Negation, find_stated_tags, negate
from synth.text.tags.tag_captions import FRAMES, describe
from synth.text.tags.tags import TagVocabulary
from synth.truth.annotation import annotate, tag_claim
from synth.truth.relations import Tolerance

MUSIC: Final = "music"
"""The label of a clip that has none."""


class NegationRecipe(RecipeSettings):
    """Settings of the recipe.

    Args:
        style: `paper` puts a plain negator before a tag; `natural` mends the grammar.
        inserts: True captions with an absent tag denied, for each clip.
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
            return "has neither a caption nor a tag that can be said"
        return explain_too_short(clip, 0, setting)

    def groups(self, clips: Mapping[str, Sequence[Clip]], setting: Setting) -> Mapping[str, Groups]:
        """One group, of one sample, for each clip; the tags of all clips are the vocabulary."""
        found = TagVocabulary.of(
            tag for each in clips.values() for clip in each for tag in clip.tags
        )
        how = Negation(found, natural=self.style is Style.NATURAL)
        return {split: Negations(self, split, each, how, setting) for split, each in clips.items()}


@dataclass(frozen=True)
class Negations:
    """The groups of one split, each computed alone."""

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
        told = describe(clip.tags, (), int(rng.integers(FRAMES)))
        text = str(rng.choice(clip.captions)) if clip.captions else told.text
        stated = find_stated_tags(text, self.how.vocabulary)
        heard = annotate(timeline(scene), {clip.id: [tag.name for tag in clip.tags]})
        origin = "source:caption" if clip.captions else "rule:tags"
        sure = [tag for tag in stated if tag in clip.tags]
        if not sure:
            main = Caption(text, Event(scene.label), "caption", "", f"{origin}/no-tags")
            return [Draft(scene, CaptionSet(main, (), ()))]
        main = Caption(text, tag_claim(sure), "caption", "", origin)
        known = tuple(dict.fromkeys((*clip.tags, *stated)))
        others = self._others(text, known, clip.tags, rng)
        if told.text:
            others.append(Caption(told.text, tag_claim(told.present), "", "", "rule:tags"))
        return [Draft(scene, judge(main, others, heard, Tolerance()))]

    def _others(
        self, text: str, known: Sequence[Tag], sure: Collection[Tag], rng: np.random.Generator
    ) -> list[Caption]:
        """The caption's negations, as claims over tags of the clip, or tags that nobody states.

        What only the caption states is never denied in a true caption, and alone makes no false.
        """
        modes = [Mode.INSERT] * self.settings.inserts
        modes += [Mode.HALF] * self.settings.half + [Mode.FULL] * self.settings.full
        found = [negate(text, mode, self.how, rng, known) for mode in modes]
        captions = (_caption(each, known, sure, self.settings.style) for each in found)
        return [caption for caption in captions if caption is not None]


def whole_clip(clip: Clip, setting: Setting, rng: np.random.Generator) -> Event:
    """The clip alone, in an excerpt where it is longer than the corpus's samples."""
    label = clip.labels[0] if clip.labels else MUSIC
    return Event(label, excerpt(clip, setting.max_frames, setting, rng))


def _caption(
    negated: Negated, known: Collection[Tag], sure: Collection[Tag], style: Style
) -> Caption | None:
    """The caption of a negation, None for none; what the caption alone states is not claimed."""
    denied = [tag for tag in negated.denied if tag in sure or tag not in known]
    if not denied:
        return None
    claim = tag_claim([tag for tag in negated.kept if tag in sure], denied)
    rule = f"rule:negate/{style.value}/{negated.outcome.value}"
    return Caption(negated.text, claim, f"negate-{negated.mode.value}", "", rule)
