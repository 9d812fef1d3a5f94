"""`tag_captions`: captions from a clip's tags, partial views of them, and contraries swapped in.

After Manco et al., Augment, Drop & Swap: tag-to-caption (section 4.1), Augmented View Dropout and
TextSwap (section 5.1). Main caption: all tags. Positives: views. Negatives: swapped keywords. In
natural style clips are taken two by two, and keywords exchanged between them, in both directions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from typing import ClassVar

import numpy as np
from pydantic import Field

from synth.captions.caption import Caption, Style
from synth.captions.contrast import judge
from synth.labels.tag import Tag
from synth.recipes.base import Count, Draft, Groups, RecipeSettings, Setting, explain_too_short
from synth.recipes.clips import Clip
from synth.recipes.tag_groups import (
    NO_PARTNER,
    Exchange,
    TaggedSample,
    TagPair,
    choose_frames,
    find_exchanges,
    group_clips,
    heard_tags,
    whole_clip,
)
from synth.scene.edit import EditKind
from synth.scene.timeline import timeline
from synth.text.tags.tag_captions import FRAMES, TagSentence, describe, draw_views, join_tags
from synth.text.tags.tag_words import TagForm, phrase_tag
from synth.text.tags.tags import TagVocabulary
from synth.text.textswap.dictionary import Dictionary, are_alike, build
from synth.text.textswap.textswap import draw_swaps
from synth.truth.annotation import annotate, tag_claim
from synth.truth.relations import Tolerance


class TagCaptions(RecipeSettings):
    """Settings of the recipe.

    Args:
        style: `paper` joins the tags with commas, and swaps in any contrary: the text alone reveals
            what is false. `natural` writes sentences; each
            false one is true of another clip.
        views: Partial views of each clip's tags; the paper makes 10.
        per_category: Most tags of one category in a view.
        swaps: In `paper`: false captions per clip, with one keyword per category exchanged.
        max_share: Two tags contradict only if at most this share of the rarer tag's clips have
            both.
    """

    name: ClassVar[str] = "tag_captions"
    style: Style = Style.NATURAL
    views: int = Field(default=10, ge=0, le=100)
    per_category: Count = 3
    swaps: int = Field(default=3, ge=0, le=20)
    max_share: float = Field(default=0.05, ge=0, le=1)

    def check(self, setting: Setting, splits: Collection[str]) -> None:
        """Any clip length and any split will do."""

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
        tags = [clip.tags for each in clips.values() for clip in each]
        found = TagVocabulary.of(tag for each in tags for tag in each)
        dictionary = Dictionary(tuple(build(found, tags, self.max_share)))
        make = TaggedClips if self.style is Style.PAPER else TaggedPairs
        return {
            split: make(self, split, each, dictionary, setting) for split, each in clips.items()
        }

    def caption(self, sentence: TagSentence, kind: str = "") -> Caption:
        """A sentence as a caption."""
        rule = f"rule:tags/{self.style.value}"
        return Caption(sentence.text, tag_claim(sentence.present), kind, "", rule)


@dataclass(frozen=True)
class TaggedClips:
    """The groups of one split in the style of the paper, each of one clip and computed alone."""

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
        told = self.settings.describe(clip.tags, int(rng.integers(FRAMES)))
        main = self.settings.caption(told, "caption")
        others = [*_views(self.settings, clip, rng), *self._swap_tags(clip, rng)]
        return [Draft(scene, judge(main, others, heard, Tolerance()))]

    def _swap_tags(self, clip: Clip, rng: np.random.Generator) -> list[Caption]:
        found = []
        for _ in range(self.settings.swaps):
            instead = dict(draw_swaps(clip.tags, clip.tags, self.dictionary, rng))
            if instead:
                false = join_tags([instead.get(tag, tag) for tag in clip.tags])
                claim = tag_claim(false.present)
                found.append(Caption(false.text, claim, "replace", "", "rule:textswap"))
        return found


@dataclass(frozen=True)
class TaggedPairs:
    """The groups of one split, each of two clips or a few more, and computed alone."""

    settings: TagCaptions
    split: str
    clips: Sequence[Clip]
    dictionary: Dictionary
    setting: Setting

    def __len__(self) -> int:
        return len(self._groups)

    @cached_property
    def _groups(self) -> list[tuple[Clip, ...]]:
        rng = self.setting.randomness.at(f"tag_captions/{self.split}/pairs", 0)
        return group_clips(self.clips, lambda one, other: bool(self._exchanges(one, other)), rng)

    @cached_property
    def _contraries(self) -> Mapping[str, frozenset[Tag]]:
        """By clip, the tags that contradict its own."""
        return {clip.id: self.dictionary.find_contraries(clip.tags) for clip in self.clips}

    def _contradicts(self, tag: Tag, clip: Clip) -> bool:
        """Whether a tag contradicts those of a clip, and none of them implies it."""
        return tag in self._contraries[clip.id] and self.dictionary.is_apart(tag, heard_tags(clip))

    def _exchanges(self, one: Clip, other: Clip) -> list[Exchange]:
        """Tags that contradict those of the other clip, with ones that contradict them."""

        def fit(tag: Tag, instead: Tag) -> bool:
            return (
                phrase_tag(tag).form is not TagForm.NONE
                and are_alike(tag, instead)
                and self.dictionary.are_contrary(tag, instead)
            )

        return find_exchanges(one, other, self._contradicts, fit)

    def group(self, index: int) -> Sequence[Draft]:
        """Clips with their captions and views, each against one with keywords of another."""
        rng = self.setting.randomness.at(f"tag_captions/{self.split}", index)
        clips = self._groups[index]
        frames = choose_frames(int(rng.integers(FRAMES)), len(clips))
        samples = [
            self._sample(clip, at, len(clips) > 1, rng)
            for clip, at in zip(clips, frames, strict=True)
        ]
        first, *others = samples
        pairs = [TagPair(first, other, self._contradicts) for other in others]
        exchanges = [_Change.of(pair, self._exchanges) for pair in pairs]
        # The main captions go first: what a view says cannot be said again.
        for pair, exchange, at in zip(pairs, exchanges, frames[1:], strict=True):
            self._deal_mains(pair, exchange, at)
        for pair, exchange in zip(pairs, exchanges, strict=True):
            self._deal_views(pair, exchange, rng)
        if len(samples) == 1:
            for caption in _views(self.settings, clips[0], rng):
                samples[0].hand.add(caption)
        return [sample.draft() for sample in samples]

    def _sample(
        self, clip: Clip, frame: int, has_partner: bool, rng: np.random.Generator
    ) -> TaggedSample:
        main = self.settings.caption(self.settings.describe(clip.tags, frame), "caption")
        if not has_partner:
            main = replace(main, generator=f"{main.generator}{NO_PARTNER}")
        return TaggedSample.of(clip, main, self.setting, rng)

    def _deal_mains(self, pair: TagPair, exchange: _Change, frame: int) -> None:
        main, other = pair.one.hand.main, pair.other.hand.main
        if pair.one.hand.is_compared:  # with a third clip, or a fourth
            main = self._tell(exchange.back(pair.other.clip.tags), frame)
        pair.deal(main, other, EditKind.REPLACE.value)

    def _deal_views(self, pair: TagPair, exchange: _Change, rng: np.random.Generator) -> None:
        """Deal views of either clip, each with what becomes of it by the exchange."""
        ours = self._draw_views(pair.one.clip, exchange.there, rng)
        theirs = self._draw_views(pair.other.clip, exchange.back, rng)
        # In turn, as what cannot be exchanged is left out of the other's view.
        for both in zip_longest(ours, ((new, old) for old, new in theirs)):
            for views in both:
                if views is None or len(pair.other.hand.false) > self.settings.views:
                    continue
                frame = int(rng.integers(FRAMES))
                first, second = (self._tell(view, frame) for view in views)
                pair.deal(first, second, EditKind.REPLACE.value)

    def _tell(self, view: Sequence[Tag], frame: int) -> Caption:
        return self.settings.caption(self.settings.describe(view, frame))

    def _draw_views(
        self,
        clip: Clip,
        change: Callable[[Sequence[Tag]], Sequence[Tag]],
        rng: np.random.Generator,
    ) -> list[tuple[Sequence[Tag], Sequence[Tag]]]:
        """Views of a clip in which a tag is exchanged, with what becomes of them."""
        views = draw_views(clip.tags, self.settings.views, self.settings.per_category, rng)
        found = [(view, change(view)) for view in views]
        return [(view, new) for view, new in found if not set(new) <= set(clip.tags)]


@dataclass(frozen=True)
class _Change:
    """Turns tags of one clip of a pair into tags of the other.

    Args:
        one: Tags of the first clip that give way, with those that come in their place.
        other: The same for the other clip.
        shared: What both bear: it stays.
    """

    one: Mapping[Tag, Tag]
    other: Mapping[Tag, Tag]
    shared: frozenset[Tag]

    @classmethod
    def of(cls, pair: TagPair, exchanges: Callable[[Clip, Clip], Sequence[Exchange]]) -> _Change:
        """From what can be exchanged between the clips of a pair."""
        one, other = pair.one.clip, pair.other.clip
        shared = frozenset(one.tags) & frozenset(other.tags)
        return cls(dict(exchanges(one, other)), dict(exchanges(other, one)), shared)

    def there(self, view: Sequence[Tag]) -> list[Tag]:
        """A view of the first clip, as it is true of the other; what does not fit is left out."""
        return self._turn(view, self.one)

    def back(self, view: Sequence[Tag]) -> list[Tag]:
        """A view of the other clip, as it is true of the first."""
        return self._turn(view, self.other)

    def _turn(self, view: Sequence[Tag], instead: Mapping[Tag, Tag]) -> list[Tag]:
        return [instead.get(tag, tag) for tag in view if tag in instead or tag in self.shared]


def _views(settings: TagCaptions, clip: Clip, rng: np.random.Generator) -> list[Caption]:
    found = draw_views(clip.tags, settings.views, settings.per_category, rng)
    told = [settings.describe(view, int(rng.integers(FRAMES))) for view in found]
    return [settings.caption(sentence, "restatement") for sentence in told if sentence.text]
