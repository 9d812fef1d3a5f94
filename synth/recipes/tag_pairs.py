"""Tag pairs: tagged clips two by two, that share tags and differ in others.

What is true of one for a tag that the other lacks is false of the other. A pair draws sentences of
one form, each once for either clip, and one of them at random is their main caption: that of one
clip is the negative of the other. So neither form, length nor words tell which is true.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, TypeAlias, TypeVar

import numpy as np

from synth.base.errors import LeftOutError
from synth.base.rng import shuffle
from synth.captions.caption import Caption
from synth.captions.contrast import exchange
from synth.labels.lexicon import MUSIC, Tag
from synth.recipes.base import Clip, Draft, Recipe, Setting, SplitGroups, excerpt
from synth.scene.claim import Claim, claim_labels, parts_of
from synth.scene.edit import EditKind
from synth.scene.scene import Event
from synth.scene.timeline import Timeline, timeline
from synth.truth.change import annotate
from synth.truth.relations import Tolerance
from synth.truth.truth import Hearing

_LOOKED_AT: Final = 1024
"""Clips among which the nearest partner is looked for."""
_TRIED: Final = 4096
"""Clips that one left over may go with: one that fits none of so many hardly fits another."""
_LENT: Final = 3
"""How often a clip may go with one that is left over, too."""

S = TypeVar("S", bound=Recipe)
Exchange: TypeAlias = tuple[Tag, Tag]
"""A tag of one clip, and the tag of the other that stands in its place."""
Sentences: TypeAlias = tuple[Caption, Caption]
"""A sentence of each clip, of the same form."""
Fits: TypeAlias = Callable[[Clip, Clip], bool]
"""Whether two clips can be a pair, whichever comes first."""
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


def hear_whole(clip: Clip, scene: Event) -> Timeline:
    """The timeline of a clip that is heard alone, with its tags."""
    return annotate(timeline(scene), {clip.id: [tag.name for tag in clip.tags]})


# Who is paired with whom.


@dataclass(frozen=True)
class TagGroups(SplitGroups[S]):
    """Groups of two clips, each with tags that the other lacks."""

    def exchanges(self, one: Clip, other: Clip) -> list[Exchange]:
        """Tags of one clip that can give way to tags of the other."""
        raise NotImplementedError

    def draft(self, one: Clip, other: Clip, rng: np.random.Generator) -> list[Draft] | None:
        """The samples of a pair; None where no sentence tells one from the other."""
        raise NotImplementedError

    @cached_property
    def groups(self) -> Sequence[tuple[Clip, ...]]:
        """The clips of each group."""

        def fits(one: Clip, other: Clip) -> bool:
            return bool(self.exchanges(one, other))

        return group_clips(self.clips, fits, self.rng(0, "/pairs"))

    def __len__(self) -> int:
        return len(self.groups)

    def group(self, index: int) -> Sequence[Draft]:
        """Clips that exchange their main captions; one without a partner is left out."""
        clips = self.groups[index]
        drafts = self.draft(*clips, self.rng(index)) if len(clips) == 2 else None
        if drafts is None:
            raise LeftOutError(
                "its tags do not distinguish it from any other clip",
                example=clips[0].id,
                fix="add clips with other tags, or set `style: paper`",
            )
        return drafts


def group_clips(
    clips: Sequence[Clip], fits: Fits, rng: np.random.Generator
) -> list[tuple[Clip, ...]]:
    """The clips two by two, near ones that differ; `rng` decides who looks for a partner first.

    One that is left over goes with one that has a partner, which is heard again; one that fits none
    is alone.
    """
    tags = {clip.id: frozenset(clip.tags) for clip in clips}
    left = shuffle(clips, rng)
    pairs: list[tuple[Clip, ...]] = []
    over: list[Clip] = []
    while left:
        clip = left.pop()
        near = range(max(0, len(left) - _LOOKED_AT), len(left))
        order = sorted(near, key=lambda at: _nearness(tags, clip, left[at]), reverse=True)
        place = next((at for at in order if fits(clip, left[at])), None)
        if place is None:
            over.append(clip)
        else:
            pairs.append((clip, left.pop(place)))
    lent = [clip for pair in pairs for clip in pair] * _LENT
    for clip in over:
        place = next((at for at, one in enumerate(lent[:_TRIED]) if fits(one, clip)), None)
        pairs.append((clip,) if place is None else (lent.pop(place), clip))
    return pairs


def _nearness(tags: Mapping[str, frozenset[Tag]], clip: Clip, other: Clip) -> tuple[int, int]:
    """How many tags they share that each can be told by another from, and how many they share."""
    own, others = tags[clip.id], tags[other.id]
    shared = len(own & others)
    return min(shared, len(own) - shared, len(others) - shared), shared


def find_exchanges(
    one: Clip, other: Clip, is_absent: IsAbsent, fit: Callable[[Tag, Tag], bool]
) -> list[Exchange]:
    """Tags of one clip that the other lacks, each with such a one of the other's."""
    own = [tag for tag in one.tags if is_absent(tag, other)]
    others = [tag for tag in other.tags if own and is_absent(tag, one)]
    return match_tags(own, others, fit)


def match_tags(
    own: Sequence[Tag], others: Sequence[Tag], fit: Callable[[Tag, Tag], bool]
) -> list[Exchange]:
    """Tags of one clip, each with one of the other's that fits and no other has taken."""
    free = list(others)
    matched: list[Exchange] = []
    for tag in own:
        other = next((candidate for candidate in free if fit(tag, candidate)), None)
        if other is not None:
            free.remove(other)
            matched.append((tag, other))
    return matched


# What tells two clips apart.


class TagPair:
    """Two clips that are heard whole, and what is known of each.

    What a caption alone states, or a clip's tags may well imply, proves nothing and refutes
    nothing.

    Args:
        is_absent: Whether a tag surely does not hold of a clip.
        stated: Tags that a caption of each states, whether the clip bears them or not.
    """

    def __init__(
        self,
        one: Clip,
        other: Clip,
        is_absent: IsAbsent,
        setting: Setting,
        rng: np.random.Generator,
        stated: tuple[Sequence[Tag], Sequence[Tag]] = ((), ()),
    ) -> None:
        self.scenes = whole_clip(one, setting, rng), whole_clip(other, setting, rng)
        self._sides = (
            _Side.of(one, self.scenes[0], (*other.tags, *stated[1]), is_absent),
            _Side.of(other, self.scenes[1], (*one.tags, *stated[0]), is_absent),
        )

    def tells_apart(self, sentences: Sentences) -> bool:
        """Whether each is proven of its own clip, and refuted of the other."""
        first, second = (caption.claim for caption in sentences)
        one, other = self._sides
        proven = one.proves(first) and other.proves(second)
        return proven and one.refutes(second) and other.refutes(first)

    def draft(
        self, sentences: Sequence[Sentences], edit: EditKind, count: int, rng: np.random.Generator
    ) -> list[Draft] | None:
        """The samples: one of the sentences at random is main, others are positives.

        Args:
            count: Most sentences of a clip.
        """
        by_texts = {frozenset(each.text for each in captions): captions for captions in sentences}
        told = [captions for captions in by_texts.values() if self.tells_apart(captions)]
        if not told:
            return None
        mains, *others = shuffle(told, rng)[:count]
        return [
            Draft(scene, replace(dealt, positives=tuple(captions[at] for captions in others)))
            for at, (scene, dealt) in enumerate(
                zip(self.scenes, exchange(mains, edit), strict=True)
            )
        ]


@dataclass(frozen=True)
class _Side:
    """A clip of a pair, and the names of which nobody knows whether they hold of it."""

    hearing: Hearing
    doubted: frozenset[str]

    @classmethod
    def of(cls, clip: Clip, scene: Event, named: Sequence[Tag], is_absent: IsAbsent) -> _Side:
        """From the tags that are named of its partner."""
        own = {tag.name for tag in clip.tags}
        doubted = (tag.name for tag in named if tag.name not in own and not is_absent(tag, clip))
        return cls(Hearing(hear_whole(clip, scene), Tolerance()), frozenset(doubted))

    def proves(self, claim: Claim) -> bool:
        """Whether a claim is proven, and names nothing doubted."""
        return self._is_sure(claim) and self.hearing.proves(claim)

    def refutes(self, claim: Claim) -> bool:
        """Whether a part of a claim that names nothing doubted is refuted."""
        return any(self._is_sure(part) and self.hearing.refutes(part) for part in parts_of(claim))

    def _is_sure(self, claim: Claim) -> bool:
        return self.doubted.isdisjoint(claim_labels(claim))
