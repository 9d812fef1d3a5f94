"""`tag_captions`: captions from a clip's tags, partial views of them, and contraries swapped in.

After Manco et al., Augment, Drop & Swap: tag-to-caption (section 4.1), Augmented View Dropout and
TextSwap (section 5.1). Main caption: all tags. Positives: views. Negatives: swapped keywords. In
natural style clips are taken two by two, and keywords exchanged between them, in both directions.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import zip_longest
from typing import ClassVar, Final, TypeAlias

import numpy as np
from pydantic import Field

from synth.captions.balance import Hand, cross
from synth.captions.caption import Caption, Style
from synth.captions.contrast import judge
from synth.labels.lexicon import Tag
from synth.recipes.base import (
    Clip,
    Count,
    Draft,
    Groups,
    RecipeSettings,
    Setting,
    excerpt,
    explain_too_short,
)
from synth.scene.claim import Claim, claim_labels, parts_of
from synth.scene.edit import EditKind
from synth.scene.scene import Event
from synth.scene.timeline import timeline
from synth.text.tags.tag_captions import FRAMES, TagSentence, describe, draw_views, join_tags
from synth.text.tags.tags import TagForm, TagVocabulary, phrase_tag
from synth.text.textswap import Dictionary, are_alike, build, draw_swaps
from synth.truth.change import annotate, tag_claim
from synth.truth.relations import Tolerance
from synth.truth.truth import Hearing

# Tag groups: tagged clips two by two, that share tags and differ in others.
#
# What is true of one for a tag that the other lacks is false of the other. Two such sentences of
# the same form, one of each clip, are dealt to both (`captions.balance`): each tag is false, or
# denied where it is present, as often as it is true, or denied where it is absent.


MUSIC: Final = "music"
"""The label of a clip that has none."""
NO_PARTNER: Final = "/no-partner"
"""Ends the rule of a caption that has no negatives, as its clip has no partner."""
_LOOKED_AT: Final = 1024
"""Clips among which the nearest partner is looked for."""
_TRIED: Final = 4096
"""Groups that a clip left over may join: one that fits none of so many hardly fits another."""
_MOST: Final = 4
"""Clips of a group: the first is dealt to once for each other, and its words come to an end."""

Exchange: TypeAlias = tuple[Tag, Tag]
"""A tag of one clip, and the tag of the other that stands in its place."""
Fits: TypeAlias = Callable[[Clip, Clip], bool]
IsAbsent: TypeAlias = Callable[[Tag, Clip], bool]
"""Whether a tag surely does not hold of a clip."""


def whole_clip(clip: Clip, setting: Setting, rng: np.random.Generator) -> Event:
    """The clip alone, in an excerpt where it is longer than the corpus's samples."""
    return Event(whole_label(clip), excerpt(clip, setting.max_frames, setting, rng))


def whole_label(clip: Clip) -> str:
    """What a clip that is heard alone is labelled."""
    return clip.labels[0] if clip.labels else MUSIC


def heard_tags(clip: Clip) -> tuple[Tag, ...]:
    """A clip's tags, and its label: what is music cannot lack a music box for certain."""
    return *clip.tags, Tag("", whole_label(clip))


def group_clips(
    clips: Sequence[Clip], fits: Fits, rng: np.random.Generator
) -> list[tuple[Clip, ...]]:
    """The clips two by two, near ones that differ.

    One that is left over joins a pair, to be told from its first; one that fits none is alone.

    Args:
        fits: Whether two of them can be a pair, whichever comes first.
        rng: Decides in which order partners are looked for.
    """
    tags = {clip.id: frozenset(clip.tags) for clip in clips}
    left = [clips[i] for i in rng.permutation(len(clips))]
    found: list[tuple[Clip, ...]] = []
    over: list[Clip] = []
    while left:
        one = left.pop()
        near = range(max(0, len(left) - _LOOKED_AT), len(left))
        order = sorted(near, key=lambda at: _nearness(tags, one, left[at]), reverse=True)
        place = next((at for at in order if fits(one, left[at])), None)
        if place is None:
            over.append(one)
        else:
            found.append((one, left.pop(place)))
    return [*_join(found, over, fits)]


def _nearness(tags: Mapping[str, frozenset[Tag]], one: Clip, other: Clip) -> tuple[int, int]:
    """How many tags they share that each can be told by another from, and how many they share."""
    ours, theirs = tags[one.id], tags[other.id]
    shared = len(ours & theirs)
    return min(shared, len(ours) - shared, len(theirs) - shared), shared


def _join(
    pairs: Sequence[tuple[Clip, ...]], over: Sequence[Clip], fits: Fits
) -> Iterator[tuple[Clip, ...]]:
    """The pairs, with each clip left over behind one that it fits, which comes first then."""
    by_size = {2: list(pairs), **{size: [] for size in range(3, _MOST + 1)}}
    for clip in over:
        for size in range(2, _MOST):
            joined = _join_one(by_size[size], clip, fits)
            if joined is not None:
                by_size[size + 1].append(joined)
                break
        else:
            yield (clip,)
    for groups in by_size.values():
        yield from groups


def _join_one(groups: list[tuple[Clip, ...]], clip: Clip, fits: Fits) -> tuple[Clip, ...] | None:
    """A group that is taken out, with the clip in it; None where none fits."""
    for at, group in enumerate(groups[:_TRIED]):
        for first in group[: 2 if len(group) == 2 else 1]:
            if fits(first, clip):
                groups.pop(at)
                return first, *(each for each in group if each is not first), clip
    return None


@dataclass(frozen=True)
class TaggedSample:
    """A clip heard whole, and what is dealt to it.

    Args:
        scene: The clip alone.
        known: Its tags, and what else its caption states.
    """

    clip: Clip
    scene: Event
    hand: Hand
    known: tuple[Tag, ...]

    @classmethod
    def of(
        cls,
        clip: Clip,
        main: Caption,
        setting: Setting,
        rng: np.random.Generator,
        stated: Sequence[Tag] = (),
    ) -> TaggedSample:
        """The clip with its main caption, before anything else is dealt."""
        known = tuple(dict.fromkeys((*clip.tags, *stated)))
        return cls(clip, whole_clip(clip, setting, rng), Hand(main), known)

    @cached_property
    def hearing(self) -> Hearing:
        """What the clip's tags prove and refute."""
        names = [tag.name for tag in self.clip.tags]
        return Hearing(annotate(timeline(self.scene), {self.clip.id: names}), Tolerance())

    def draft(self) -> Draft:
        """The sample."""
        return Draft(self.scene, self.hand.captions())


class TagPair:
    """Two samples to which sentences are dealt, each true of its own and false of the other.

    What a caption alone states, or a clip's tags may well imply, proves nothing and refutes
    nothing.

    Args:
        is_absent: Whether a tag of the other surely does not hold of a sample's clip.
    """

    def __init__(self, one: TaggedSample, other: TaggedSample, is_absent: IsAbsent) -> None:
        self.one = one
        self.other = other
        self._doubted = {
            id(ours): _find_doubted(ours, theirs, is_absent)
            for ours, theirs in ((one, other), (other, one))
        }

    def deal(self, ours: Caption, theirs: Caption, kind: str) -> bool:
        """Deal two captions, each proven of its own sample, refuted of the other, and new to both.

        Returns:
            Whether they are; nothing is dealt otherwise.
        """
        one, other = self.one.hand, self.other.hand
        new = not any(
            hand.holds(caption) and caption is not hand.main
            for hand in (one, other)
            for caption in (ours, theirs)
        )
        proven = self._proves(self.one, ours.claim) and self._proves(self.other, theirs.claim)
        refuted = self._refutes(self.one, theirs.claim) and self._refutes(self.other, ours.claim)
        if not (new and proven and refuted):
            return False
        cross(one, ours, other, theirs, kind)
        return True

    def _proves(self, sample: TaggedSample, claim: Claim) -> bool:
        """Whether a claim is proven, and denies nothing that is doubted."""
        return self._is_sure(sample, claim) and sample.hearing.proves(claim)

    def _refutes(self, sample: TaggedSample, claim: Claim) -> bool:
        """Whether a part of a claim that names nothing doubted is refuted."""
        return any(
            self._is_sure(sample, part) and sample.hearing.refutes(part) for part in parts_of(claim)
        )

    def _is_sure(self, sample: TaggedSample, claim: Claim) -> bool:
        return self._doubted[id(sample)].isdisjoint(claim_labels(claim))


def _find_doubted(ours: TaggedSample, theirs: TaggedSample, is_absent: IsAbsent) -> frozenset[str]:
    """Names of a sample's tags of which nobody knows whether they hold of the other."""
    own = {tag.name for tag in ours.clip.tags}
    strange = (tag for tag in theirs.known if tag.name not in own)
    return frozenset(tag.name for tag in strange if not is_absent(tag, ours.clip))


def choose_frames(drawn: int, count: int) -> list[int]:
    """The sentence frames of the clips of a group: a pair has one.

    Each further clip has its own, so that its sentences are new to the first clip, too.
    """
    return [drawn + max(0, at - 1) for at in range(count)]


def find_exchanges(
    one: Clip, other: Clip, is_absent: IsAbsent, fit: Callable[[Tag, Tag], bool]
) -> list[Exchange]:
    """Tags of one clip that the other lacks, each with such a one of the other's."""
    ours = [tag for tag in one.tags if is_absent(tag, other)]
    theirs = [tag for tag in other.tags if ours and is_absent(tag, one)]
    return match_tags(ours, theirs, fit)


def match_tags(
    ours: Sequence[Tag], theirs: Sequence[Tag], fit: Callable[[Tag, Tag], bool]
) -> list[Exchange]:
    """Tags of one clip, each with one of the other's that fits and no other has taken."""
    free = list(theirs)
    found: list[Exchange] = []
    for tag in ours:
        other = next((each for each in free if fit(tag, each)), None)
        if other is not None:
            free.remove(other)
            found.append((tag, other))
    return found


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
