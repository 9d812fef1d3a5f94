"""`tag_captions`: captions from a clip's tags, partial views of them, and contraries swapped in.

After Manco et al., Augment, Drop & Swap: tag-to-caption (section 4.1), Augmented View Dropout and
TextSwap (section 5.1). Main caption: all tags. Positives: views. Negatives: swapped keywords. In
natural style clips are taken two by two, and keywords exchanged between them, in both directions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
from pydantic import Field

from synth.captions.caption import Caption, Provenance, Style
from synth.captions.contrast import judge
from synth.labels.lexicon import Tag
from synth.recipes.base import (
    Clip,
    Count,
    Draft,
    Groups,
    Recipe,
    Setting,
    SplitGroups,
    explain_too_short,
)
from synth.recipes.tag_pairs import (
    Exchange,
    TagGroups,
    TagPair,
    find_exchanges,
    hear_whole,
    heard_tags,
    whole_clip,
)
from synth.scene.edit import EditKind
from synth.text.tags.tag_captions import FRAMES, TagSentence, describe, draw_views, join_tags
from synth.text.tags.tags import TagForm, TagVocabulary, phrase_tag
from synth.text.textswap import Dictionary, are_alike, draw_swaps
from synth.truth.change import tag_claim
from synth.truth.relations import Tolerance


class TagCaptions(Recipe):
    """Captions from a clip's tags.

    Args:
        style: `paper` joins the tags with commas, and swaps in any contrary: the text alone reveals
            what is false. `natural` writes sentences; each
            false one is true of another clip.
        views: Partial views of each clip's tags; the paper makes 10.
        per_category: Maximum number of tags of one category in a view.
        swaps: In `paper`: false captions per clip, with one keyword per category exchanged.
        max_share: Two tags contradict only if at most this share of the rarer tag's clips have
            both.
    """

    name: ClassVar[str] = "tag_captions"
    mixes: ClassVar[bool] = False
    style: Style = Style.NATURAL
    views: int = Field(default=10, ge=0, le=100)
    per_category: Count = 3
    swaps: int = Field(default=3, ge=0, le=20)
    max_share: float = Field(default=0.05, ge=0, le=1)

    def refusal(self, clip: Clip, setting: Setting) -> str | None:
        """A clip must have a tag that can be said."""
        if not self.describe(clip.tags, 0).text:
            return "has no tag that fits into a caption"
        return explain_too_short(clip, 0, setting)

    def describe(self, tags: Sequence[Tag], frame: int) -> TagSentence:
        """Tags in words."""
        return join_tags(tags) if self.style is Style.PAPER else describe(tags, (), frame)

    def groups(self, clips: Mapping[str, Sequence[Clip]], setting: Setting) -> Mapping[str, Groups]:
        """Groups of two clips, or of one or a few; what contradicts is learnt from all clips."""
        tags = [clip.tags for members in clips.values() for clip in members]
        vocabulary = TagVocabulary.of(tag for members in tags for tag in members)
        dictionary = Dictionary.of(vocabulary, tags, self.max_share)
        kind = TaggedClips if self.style is Style.PAPER else TaggedPairs
        counts = {split: len(members) for split, members in clips.items()}
        return kind.by_split(self, counts, clips, setting, dictionary)

    def caption(self, sentence: TagSentence) -> Caption:
        """A sentence as a caption."""
        rule = Provenance.of_rule("tags", self.style.value)
        return Caption(sentence.text, tag_claim(sentence.present), "", rule)

    def caption_views(self, clip: Clip, rng: np.random.Generator) -> list[Caption]:
        """Further true captions: partial views of a clip's tags in words."""
        views = draw_views(clip.tags, self.views, self.per_category, rng)
        sentences = [self.describe(view, int(rng.integers(FRAMES))) for view in views]
        return [self.caption(sentence) for sentence in sentences if sentence.text]


@dataclass(frozen=True)
class TaggedClips(SplitGroups[TagCaptions]):
    """Groups of one clip each, in the style of the paper."""

    dictionary: Dictionary

    def group(self, index: int) -> Sequence[Draft]:
        """The clip with its caption, its views and its swapped captions."""
        clip, rng = self.clips[index], self.rng(index)
        scene = whole_clip(clip, self.setting, rng)
        sentence = self.settings.describe(clip.tags, int(rng.integers(FRAMES)))
        main = self.settings.caption(sentence)
        others = [*self.settings.caption_views(clip, rng), *self._swap_tags(clip, rng)]
        return [Draft(scene, judge(main, others, hear_whole(clip, scene), Tolerance()))]

    def _swap_tags(self, clip: Clip, rng: np.random.Generator) -> list[Caption]:
        captions = []
        for _ in range(self.settings.swaps):
            instead = dict(draw_swaps(clip.tags, clip.tags, self.dictionary, rng))
            if instead:
                false = join_tags([instead.get(tag, tag) for tag in clip.tags])
                claim = tag_claim(false.present)
                rule = Provenance.of_rule("textswap")
                captions.append(Caption(false.text, claim, "", rule, EditKind.REPLACE))
        return captions


@dataclass(frozen=True)
class TaggedPairs(TagGroups[TagCaptions]):
    """Groups of two clips between which keywords are exchanged."""

    dictionary: Dictionary

    @cached_property
    def _contraries(self) -> Mapping[str, frozenset[Tag]]:
        """By clip, the tags that contradict its own."""
        return {clip.id: self.dictionary.find_contraries(clip.tags) for clip in self.clips}

    def _contradicts(self, tag: Tag, clip: Clip) -> bool:
        """Whether a tag contradicts those of a clip, and none of them implies it."""
        return tag in self._contraries[clip.id] and self.dictionary.is_apart(tag, heard_tags(clip))

    def exchanges(self, one: Clip, other: Clip) -> list[Exchange]:
        """Tags that contradict those of the other clip, with ones that contradict them."""

        def fit(tag: Tag, instead: Tag) -> bool:
            return (
                phrase_tag(tag).form is not TagForm.NONE
                and are_alike(tag, instead)
                and self.dictionary.are_contrary(tag, instead)
            )

        return find_exchanges(one, other, self._contradicts, fit)

    def draft(self, one: Clip, other: Clip, rng: np.random.Generator) -> list[Draft] | None:
        """Sentences over all tags of each clip, and over parts of them with keywords exchanged."""
        parts = self._draw_views(one, other, rng)
        parts += [(new, old) for old, new in self._draw_views(other, one, rng)]
        # As many captions for each pair as can be: who has few tags says them in several frames.
        turns = 1 if len(parts) >= self.settings.views else FRAMES
        views = [(one.tags, other.tags, frame) for frame in range(FRAMES)]
        for first, second in parts:
            views += [(first, second, int(frame)) for frame in rng.permutation(FRAMES)[:turns]]
        told = [(self._tell(first, at), self._tell(second, at)) for first, second, at in views]
        pair = TagPair(one, other, self._contradicts, self.setting, rng)
        return pair.draft(told, EditKind.REPLACE, self.settings.views + 1, rng)

    def _tell(self, view: Sequence[Tag], frame: int) -> Caption:
        return self.settings.caption(self.settings.describe(view, frame))

    def _draw_views(
        self, clip: Clip, other: Clip, rng: np.random.Generator
    ) -> list[tuple[tuple[Tag, ...], tuple[Tag, ...]]]:
        """Views of a clip in which a tag is exchanged, with what becomes of them."""
        shared = {tag: tag for tag in clip.tags if tag in other.tags}
        change = shared | dict(self.exchanges(clip, other))
        views = draw_views(clip.tags, self.settings.views, self.settings.per_category, rng)
        kept = [tuple(tag for tag in view if tag in change) for view in views]
        changed = [(view, tuple(change[tag] for tag in view)) for view in kept]
        return [(view, new) for view, new in changed if not set(new) <= set(clip.tags)]
