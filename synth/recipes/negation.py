"""`negation`: captions of tagged clips; true ones deny an absent tag, false ones their own.

After Vasilakis et al., Towards effective negation modeling in joint audio-text models for music:
negation insert (section 2.1), half and fully negated captions (section 2.2). Every caption is
judged on the clip's tags; what only its caption states is trusted, but proves nothing.

In the paper inserts are true, and half and full are false: the text tells. In natural style clips
are taken two by two, and all captions of a pair deny in one way, or not at all: what is denied of
one clip is a tag of the other. So each main caption is true of its own clip, and false of the
other.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import ClassVar, Final

import numpy as np
from pydantic import Field

from synth.base.rng import shuffle
from synth.captions.caption import Author, Caption, Provenance, Style
from synth.captions.contrast import CaptionSet, judge
from synth.labels.lexicon import Tag
from synth.recipes.base import (
    Clip,
    Draft,
    Groups,
    Recipe,
    Setting,
    SplitGroups,
    explain_too_short,
)
from synth.recipes.tag_pairs import (
    Exchange,
    Sentences,
    TagGroups,
    TagPair,
    find_exchanges,
    hear_whole,
    heard_tags,
    whole_clip,
    whole_label,
)
from synth.scene.edit import EditKind
from synth.scene.scene import Event
from synth.text.negation.negation import Negation, can_be_denied, find_stated_tags, negate
from synth.text.negation.negators import Negated, NegationExtent, add_denial
from synth.text.tags.tag_captions import FRAMES, TagSentence, describe
from synth.text.tags.tag_relations import (
    explain_never_denied,
    explain_said,
    explain_undeniable,
    is_implied,
    lacks_opposite,
)
from synth.text.tags.tags import TagForm, TagVocabulary, phrase_tag
from synth.truth.change import tag_claim
from synth.truth.relations import Tolerance


class NegationRecipe(Recipe):
    """True and false denials of tags.

    Args:
        style: `paper` puts a plain negator before a tag, in the paper's distribution: the text
            alone reveals what is false. `natural` makes each kind of caption as often true as
            false.
        inserts: Captions per clip that deny one absent tag; in `natural` style, whether to make
            any.
        half: Make captions with half of the tags denied.
        full: Make captions with all tags denied.
    """

    name: ClassVar[str] = "negation"
    mixes: ClassVar[bool] = False
    style: Style = Style.NATURAL
    inserts: int = Field(default=1, ge=0, le=20)
    half: bool = True
    full: bool = True

    def refusal(self, clip: Clip, setting: Setting) -> str | None:
        """A clip must have a caption, or tags that can be said."""
        if not clip.captions and not describe(clip.tags).text:
            return "has neither a caption nor a tag that fits into one"
        return explain_too_short(clip, 0, setting)

    def groups(self, clips: Mapping[str, Sequence[Clip]], setting: Setting) -> Mapping[str, Groups]:
        """Groups of two clips, or of one or a few; the tags of all clips are the vocabulary."""
        tags = (tag for members in clips.values() for clip in members for tag in clip.tags)
        how = Negation(TagVocabulary.of(tags))
        kind = Negations if self.style is Style.PAPER else NegationPairs
        counts = {split: len(members) for split, members in clips.items()}
        return kind.by_split(self, counts, clips, setting, how)


# The style of the paper.


_TAGS: Final = Provenance.of_rule("tags")


@dataclass(frozen=True, slots=True)
class MainCaption:
    """A clip's main caption before it has a frame.

    Args:
        text: One of the clip's captions, "" where it has none and its tags are told.
        stated: The tags that it states.
        sure: Those of them that the clip bears.
    """

    text: str
    stated: tuple[Tag, ...]
    sure: tuple[Tag, ...]

    @classmethod
    def of(cls, clip: Clip, vocabulary: TagVocabulary, rng: np.random.Generator) -> MainCaption:
        """A caption of the clip, one that states a tag of its if there is any."""
        if not clip.captions:
            return cls("", clip.tags, describe(clip.tags).present)
        mains = []
        for text in shuffle(clip.captions, rng):
            stated = find_stated_tags(text, vocabulary)
            sure = tuple(tag for tag in stated if tag in clip.tags)
            mains.append(cls(text, stated, sure))
        return next((main for main in mains if main.sure), mains[0])

    def caption(self, clip: Clip, frame: int) -> Caption:
        """In words; it claims what the clip's tags back."""
        text = self.text or describe(clip.tags, (), frame).text
        provenance = Provenance(Author.SOURCE, "caption") if self.text else _TAGS
        if not self.sure:
            return Caption(text, Event(whole_label(clip)), "", provenance.add("no-tags"))
        return Caption(text, tag_claim(self.sure), "", provenance)


@dataclass(frozen=True)
class Negations(SplitGroups[NegationRecipe]):
    """Groups of one clip each, in the style of the paper."""

    how: Negation

    def group(self, index: int) -> Sequence[Draft]:
        """The clip with its caption, and that caption's negations."""
        clip, rng = self.clips[index], self.rng(index)
        scene = whole_clip(clip, self.setting, rng)
        frame = int(rng.integers(FRAMES))
        main = MainCaption.of(clip, self.how.vocabulary, rng)
        caption = main.caption(clip, frame)
        if not main.sure:
            return [Draft(scene, CaptionSet(caption, (), ()))]
        known = tuple(dict.fromkeys((*clip.tags, *main.stated)))
        others = self._others(caption.text, known, clip.tags, rng)
        restated = describe(clip.tags, (), frame)
        if restated.present:
            others.append(Caption(restated.text, tag_claim(restated.present), "", _TAGS))
        return [Draft(scene, judge(caption, others, hear_whole(clip, scene), Tolerance()))]

    def _others(
        self, text: str, known: Sequence[Tag], sure: Collection[Tag], rng: np.random.Generator
    ) -> list[Caption]:
        """The caption's negations, as claims over tags of the clip, or tags that nobody states.

        What only the caption states is never denied in a true caption, and alone makes no false.
        """
        extents = [NegationExtent.INSERT] * self.settings.inserts
        if self.settings.half:
            extents.append(NegationExtent.HALF)
        if self.settings.full:
            extents.append(NegationExtent.FULL)
        negated = [negate(text, extent, self.how, rng, known) for extent in extents]
        captions = (_caption(negation, known, sure) for negation in negated)
        return [caption for caption in captions if caption is not None]


def _caption(negated: Negated, known: Collection[Tag], sure: Collection[Tag]) -> Caption | None:
    """The caption of a negation, None for none; what the caption alone states is not claimed."""
    denied = [tag for tag in negated.denied if tag in sure or tag not in known]
    if not denied:
        return None
    claim = tag_claim([tag for tag in negated.kept if tag in sure], denied)
    rule = Provenance.of_rule("negate", Style.PAPER.value, negated.outcome.value)
    return Caption(negated.text, claim, "", rule, negated.mode.edit)


# Negations of clips two by two: what is denied - one more tag, half of them, all - is a tag of the
# other clip. A pair that denies nothing exchanges captions as they are.


_SENTENCES: Final = 3
"""Sentences of each clip, its main caption among them: in so many frames in turn all differ."""


@dataclass(frozen=True)
class NegationPairs(TagGroups[NegationRecipe]):
    """Groups of two clips of which each is denied what the other bears."""

    how: Negation

    @cached_property
    def _mains(self) -> Mapping[str, MainCaption]:
        """By clip, its main caption."""
        return {
            clip.id: MainCaption.of(clip, self.how.vocabulary, self.rng(at, "/captions"))
            for at, clip in enumerate(self.clips)
        }

    @cached_property
    def _absent(self) -> Mapping[str, frozenset[Tag]]:
        """By clip, the tags that can be denied beside all that are known of it."""
        known = {
            clip.id: frozenset((*heard_tags(clip), *self._mains[clip.id].stated))
            for clip in self.clips
        }
        deniable = frozenset(
            tag
            for tag in self.how.vocabulary.tags
            if can_be_denied(tag) and not explain_never_denied(tag)
        )
        far = {
            tag: frozenset(other for other in deniable if _is_far(other, tag))
            for tag in frozenset().union(*known.values())
        }
        return {
            name: frozenset(
                tag
                for tag in deniable.intersection(*map(far.__getitem__, tags))
                if not lacks_opposite(tag, tags)
            )
            for name, tags in known.items()
        }

    def _is_absent(self, tag: Tag, clip: Clip) -> bool:
        """Whether a tag can be denied of a clip, whose tags and caption say nothing like it."""
        text = self._mains[clip.id].text
        return tag in self._absent[clip.id] and not (
            text and _explain_undeniable(tag, text, heard_tags(clip))
        )

    def exchanges(self, one: Clip, other: Clip) -> list[Exchange]:
        """Tags of one clip that the other lacks, even in part, with such of the other.

        A clip that has a caption exchanges it with another such.
        """
        main, second = self._mains[one.id], self._mains[other.id]
        if not (main.sure and second.sure) or bool(main.text) is not bool(second.text):
            return []
        return find_exchanges(one, other, self._is_absent, _are_denied_alike)

    def group(self, index: int) -> Sequence[Draft]:
        """Two clips; or one whose captions name no tag, as there is nothing to deny."""
        clip, *others = self.groups[index]
        if others or self._mains[clip.id].sure:
            return super().group(index)
        rng = self.rng(index)
        caption = self._mains[clip.id].caption(clip, 0)
        return [Draft(whole_clip(clip, self.setting, rng), CaptionSet(caption, (), ()))]

    def draft(self, one: Clip, other: Clip, rng: np.random.Generator) -> list[Draft] | None:
        """Captions of one form, the first that can be told of both."""
        extents: list[NegationExtent | None] = [None]
        extents += [NegationExtent.INSERT] * (self.settings.inserts > 0)
        extents += [NegationExtent.HALF] * self.settings.half
        extents += [NegationExtent.FULL] * self.settings.full
        stated = self._mains[one.id].stated, self._mains[other.id].stated
        pair = TagPair(one, other, self._is_absent, self.setting, rng, stated)
        # A clip has one caption of its own, and so it has one of each other form.
        count = 1 if self._mains[one.id].text else _SENTENCES
        frame = int(rng.integers(FRAMES))
        for extent in shuffle(extents, rng):
            tell = self._plain if extent is None else partial(self._deny, extent, rng)
            told = [tell(one, other, frame + at) for at in range(count)]
            edit = EditKind.REPLACE if extent is None else extent.edit
            if drafts := pair.draft([captions for captions in told if captions], edit, count, rng):
                return drafts
        return None

    def _plain(self, one: Clip, other: Clip, frame: int) -> Sentences:
        """The captions of the clips, or their tags."""
        first, second = self._mains[one.id], self._mains[other.id]
        return first.caption(one, frame), second.caption(other, frame)

    def _deny(
        self,
        extent: NegationExtent,
        rng: np.random.Generator,
        one: Clip,
        other: Clip,
        frame: int,
    ) -> Sentences | None:
        """Denials of what only the other clip bears; stated is what both bear.

        One more tag is denied in the clips' own captions where they have them.
        """
        exchanges = shuffle(self.exchanges(one, other), rng)
        if extent is NegationExtent.FULL:
            return _both(exchanges, lambda tags: describe((), tags, frame))
        seed = int(rng.integers(2**32))
        if extent is NegationExtent.INSERT and self._mains[one.id].text:
            first, second = exchanges[0]
            return self._insert_into(one, second, seed), self._insert_into(other, first, seed)
        sayable = (tag for tag in one.tags if phrase_tag(tag).form is not TagForm.NONE)
        shared = [tag for tag in sayable if tag in other.tags]
        kept = [shared[at] for at in sorted(rng.permutation(len(shared))[: len(exchanges)])]
        if not kept:
            return None
        if extent is NegationExtent.INSERT:
            return _both(exchanges[:1], partial(self._insert, describe(kept, (), frame), seed))
        half = exchanges[: len(kept) + int(rng.integers(2))]
        return _both(half, lambda tags: describe(kept, tags, frame))

    def _insert_into(self, clip: Clip, tag: Tag, seed: int) -> Caption:
        """The clip's caption with a denial of one tag put in."""
        main = self._mains[clip.id]
        sentence = TagSentence(main.text, main.sure)
        return _caption_denial(self._insert(sentence, seed, [tag]))

    def _insert(self, sentence: TagSentence, seed: int, absent: Sequence[Tag]) -> TagSentence:
        """A sentence with a denial of one tag put in; equal seeds put it alike."""
        (tag,) = absent
        text = add_denial(sentence.text, tag, self.how.negators, np.random.default_rng(seed))
        return TagSentence(text, sentence.present, (tag,))


def _both(exchanges: Sequence[Exchange], tell: Callable[[Sequence[Tag]], TagSentence]) -> Sentences:
    """The denial of the second clip's tags, true of the first; and of the first clip's."""
    first, second = (tell([exchange[place] for exchange in exchanges]) for place in (1, 0))
    return _caption_denial(first), _caption_denial(second)


def _caption_denial(sentence: TagSentence) -> Caption:
    rule = Provenance.of_rule("negate", Style.NATURAL.value)
    return Caption(sentence.text, tag_claim(sentence.present, sentence.absent), "", rule)


_explain_undeniable = lru_cache(maxsize=65_536)(explain_undeniable)


def _is_far(tag: Tag, known: Tag) -> bool:
    """Whether a tag can be denied beside one that is known."""
    return not is_implied(tag, [known]) and not explain_said(tag, known)


def _are_denied_alike(tag: Tag, other: Tag) -> bool:
    """Whether the denials of two tags have the same form."""
    first, second = phrase_tag(tag), phrase_tag(other)
    return (first.kind, first.form) == (second.kind, second.form)
