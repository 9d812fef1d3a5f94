"""Tag pairs: tagged clips two by two, that share tags and differ in others.

What is true of one for a tag that the other lacks is false of the other. Two such sentences of the
same form, one of each clip, are dealt to both (`captions.balance`): each tag is false, or denied
where it is present, as often as it is true, or denied where it is absent.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final, NamedTuple, TypeAlias, TypeVar

import numpy as np

from synth.base.rng import shuffle
from synth.captions.balance import Hand, cross
from synth.captions.caption import Caption
from synth.labels.lexicon import Tag
from synth.recipes.base import Clip, Draft, Recipe, Setting, SplitGroups, excerpt
from synth.scene.claim import Claim, claim_labels, parts_of
from synth.scene.edit import EditKind
from synth.scene.scene import Event
from synth.scene.timeline import Timeline, timeline
from synth.truth.change import annotate
from synth.truth.relations import Tolerance
from synth.truth.truth import Hearing

MUSIC: Final = "music"
"""The label of a clip that has none."""
NO_PARTNER: Final = "no-partner"
"""The last step of a caption that has no negatives, as its clip has no partner."""
_LOOKED_AT: Final = 1024
"""Clips among which the nearest partner is looked for."""
_TRIED: Final = 4096
"""Groups that a clip left over may join: one that fits none of so many hardly fits another."""
_MOST: Final = 4
"""Clips of a group: the first is dealt to once for each other, and its words come to an end."""

S = TypeVar("S", bound=Recipe)
Exchange: TypeAlias = tuple[Tag, Tag]
"""A tag of one clip, and the tag of the other that stands in its place."""
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
    """Groups of two clips or a few more, each with tags that another lacks."""

    def exchanges(self, one: Clip, other: Clip) -> list[Exchange]:
        """Tags of one clip that can give way to tags of the other."""
        raise NotImplementedError

    @cached_property
    def groups(self) -> Sequence[tuple[Clip, ...]]:
        """The clips of each group."""

        def fits(one: Clip, other: Clip) -> bool:
            return bool(self.exchanges(one, other))

        return group_clips(self.clips, fits, self.rng(0, "/pairs"))

    def __len__(self) -> int:
        return len(self.groups)


def group_clips(
    clips: Sequence[Clip], fits: Fits, rng: np.random.Generator
) -> list[tuple[Clip, ...]]:
    """The clips two by two, near ones that differ; `rng` decides who looks for a partner first.

    One that is left over joins a pair, to be told from its first; one that fits none is alone.
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
    return [*_join(pairs, over, fits)]


def _nearness(tags: Mapping[str, frozenset[Tag]], clip: Clip, other: Clip) -> tuple[int, int]:
    """How many tags they share that each can be told by another from, and how many they share."""
    own, others = tags[clip.id], tags[other.id]
    shared = len(own & others)
    return min(shared, len(own) - shared, len(others) - shared), shared


def _join(
    pairs: list[tuple[Clip, ...]], over: Sequence[Clip], fits: Fits
) -> Iterator[tuple[Clip, ...]]:
    """The pairs, with each clip left over behind one that it fits, which comes first then."""
    by_size = {2: pairs, **{size: [] for size in range(3, _MOST + 1)}}
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
                return first, *(member for member in group if member is not first), clip
    return None


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


# What can be dealt to two clips.


@dataclass(frozen=True)
class TaggedSample:
    """A clip heard whole, and what is dealt to it.

    Args:
        scene: The clip alone.
        stated: Tags that its main caption states, whether the clip bears them or not.
    """

    clip: Clip
    scene: Event
    hand: Hand
    stated: tuple[Tag, ...] = ()

    @classmethod
    def of(
        cls,
        clip: Clip,
        main: Caption,
        setting: Setting,
        rng: np.random.Generator,
        stated: tuple[Tag, ...] = (),
        is_alone: bool = False,
    ) -> TaggedSample:
        """The clip with its main caption alone, which says so if the clip has no partner."""
        if is_alone:
            main = replace(main, provenance=main.provenance.add(NO_PARTNER))
        return cls(clip, whole_clip(clip, setting, rng), Hand(main), stated)

    @cached_property
    def hearing(self) -> Hearing:
        """What the clip's tags prove and refute."""
        return Hearing(hear_whole(self.clip, self.scene), Tolerance())

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
        self._first = _Side(one, _find_doubted(one, other, is_absent))
        self._second = _Side(other, _find_doubted(other, one, is_absent))

    def deal(self, first: Caption, second: Caption, edit: EditKind) -> bool:
        """Deal two captions, each proven of its own sample, refuted of the other, and new to both.

        Returns:
            Whether they are; nothing is dealt otherwise.
        """
        one, other = self.one.hand, self.other.hand
        new = not any(
            hand.holds(caption) and caption is not hand.main
            for hand in (one, other)
            for caption in (first, second)
        )
        proven = self._first.proves(first.claim) and self._second.proves(second.claim)
        refuted = self._first.refutes(second.claim) and self._second.refutes(first.claim)
        if not (new and proven and refuted):
            return False
        cross(one, first, other, second, edit)
        return True


class _Side(NamedTuple):
    """A sample of a pair, and the names of which nobody knows whether they hold of it."""

    sample: TaggedSample
    doubted: frozenset[str]

    def proves(self, claim: Claim) -> bool:
        """Whether a claim is proven, and names nothing doubted."""
        return self._is_sure(claim) and self.sample.hearing.proves(claim)

    def refutes(self, claim: Claim) -> bool:
        """Whether a part of a claim that names nothing doubted is refuted."""
        return any(
            self._is_sure(part) and self.sample.hearing.refutes(part) for part in parts_of(claim)
        )

    def _is_sure(self, claim: Claim) -> bool:
        return self.doubted.isdisjoint(claim_labels(claim))


def _find_doubted(
    sample: TaggedSample, partner: TaggedSample, is_absent: IsAbsent
) -> frozenset[str]:
    """Names of a partner's tags of which nobody knows whether they hold of a sample."""
    own = {tag.name for tag in sample.clip.tags}
    return frozenset(
        tag.name
        for tag in (*partner.clip.tags, *partner.stated)
        if tag.name not in own and not is_absent(tag, sample.clip)
    )


def choose_frames(drawn: int, count: int) -> list[int]:
    """The sentence frames of the clips of a group: a pair has one.

    Each further clip has its own, so that its sentences are new to the first clip, too.
    """
    return [drawn + max(0, at - 1) for at in range(count)]
