"""Dealing: the clips of a split as a deck, dealt to groups until it is used up, then dealt anew.

Group k of a round is computed from the round's number and nothing else: every round has as many
groups of each size.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Protocol, TypeAlias

import numpy as np

from synth.base.errors import PlanError
from synth.base.rng import Randomness
from synth.base.units import Decibels, Frames
from synth.captions.caption import Style
from synth.labels.lexicon import are_confusable, category
from synth.recipes.base import (
    Clip,
    Setting,
    by_label,
    excerpt,
    explain_misleading,
    explain_too_short,
    pick,
)
from synth.recipes.composing import ANY, SceneVocabulary, fill_labels
from synth.scene.scene import Event, Excerpt, Scene, labels
from synth.truth.ear import Envelope

Hand: TypeAlias = tuple[Clip, ...]


@dataclass(frozen=True)
class ClipDealer:
    """Deals clips without replacement.

    In a round no clip is dealt twice. Few are dealt not at all: less than one hand, and what a
    label has more of than there are groups. Other ones are left in the next round.

    Args:
        most: Clips of the largest hand; a hand has 3 to so many, each number equally often.
    """

    clips: tuple[Clip, ...]
    most: int
    randomness: Randomness
    operation: str

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """Clips of each hand of a round."""
        found: list[int] = []
        left = len(self.clips)
        while left >= (size := 3 + len(found) % (self.most - 2)):
            found.append(size)
            left -= size
        if not found:
            raise PlanError(
                f"recipe.scenes.without_replacement: {len(self.clips)} clips do not make one group",
                fix="add clips, or set without_replacement: false",
            )
        return tuple(found)

    def hand(self, index: int) -> Hand:
        """The clips of a group, of labels that cannot be confused; fewer where too few fit."""
        round_, place = divmod(index, len(self.sizes))
        if round_ not in self._rounds:
            self._rounds.clear()
            self._rounds[round_] = self._deal(self.randomness.at(self.operation, round_))
        return self._rounds[round_][place]

    @cached_property
    def _rounds(self) -> dict[int, list[Hand]]:
        """The round that was asked for last."""
        return {}

    @cached_property
    def _stacks(self) -> Sequence[list[Clip]]:
        found = by_label(self.clips)
        return [found[label] for label in sorted(found)]

    @cached_property
    def _foes(self) -> Sequence[list[int]]:
        """The stacks that each may not meet, itself among them."""
        labels = [stack[0].labels[0] for stack in self._stacks]
        return [
            [at for at, other in enumerate(labels) if are_confusable(label, other)]
            for label in labels
        ]

    def _deal(self, rng: np.random.Generator) -> list[Hand]:
        """Deal the largest stacks first, each clip to a hand that lacks most."""
        hands: list[list[Clip]] = [[] for _ in self.sizes]
        room = np.array(self.sizes)[rng.permutation(len(self.sizes))]
        met = np.zeros((len(self._stacks), len(hands)), dtype=np.bool_)
        order = rng.permutation(len(self._stacks)).tolist()
        for stack in sorted(order, key=lambda at: -len(self._stacks[at])):
            clips = self._stacks[stack]
            free = (room > 0) & ~met[self._foes[stack]].any(axis=0)
            wanting = np.lexsort((rng.random(len(hands)), -room))
            chosen = wanting[free[wanting]][: len(clips)]
            for place, take in zip(chosen.tolist(), rng.permutation(len(clips)), strict=False):
                hands[place].append(clips[take])
            room[chosen] -= 1
            met[stack, chosen] = True
        return [tuple(hand[at] for at in rng.permutation(len(hand))) for hand in hands]


# Casting: which labels and clips a scene is made of, drawn from all, or dealt in turn.


_SPARED_AKIN: Final = 0.7


def explain_uncast(clip: Clip, recipe: str, style: Style, setting: Setting) -> str | None:
    """Why a clip cannot be a sound of a scene, None where it can."""
    if len(clip.labels) != 1:
        return f"has {len(clip.labels)} labels; {recipe} need exactly one"
    label = clip.labels[0]
    if category(label) == "none":
        return f"has the label {label!r}, which names no sound"
    if reason := explain_misleading(label, style):
        return reason
    return explain_too_short(clip, 0, setting)


class Cast(Protocol):
    """Gives labels and clips."""

    def fill(self, template: Scene, rng: np.random.Generator) -> Scene | None:
        """The template with a label for every leaf; None where one leaf finds none."""
        ...

    def exchange(self, base: Scene, rng: np.random.Generator) -> dict[str, str] | None:
        """A label of the base and one that takes its place, of its category if there is one."""
        ...

    def choose(self, label: str, used: Collection[str], rng: np.random.Generator) -> Clip:
        """A clip of a label, of none of the recordings in use if there is one."""
        ...


def cast_sounds(
    cast: Cast,
    names: Iterable[str],
    longest: Frames | None,
    recordings: set[str],
    setting: Setting,
    rng: np.random.Generator,
) -> dict[str, Event]:
    """An excerpt for each label, of recordings that are not in use if there are any.

    Args:
        longest: Frames that a sound may last, None for any.
        recordings: Those in use; what is chosen is added.
    """
    sounds: dict[str, Event] = {}
    for label in dict.fromkeys(names):
        clip = cast.choose(label, recordings, rng)
        recordings.add(clip.recording)
        sounds[label] = Event(label, excerpt(clip, longest, setting, rng))
    return sounds


@dataclass(frozen=True)
class DrawnCast:
    """Every clip of a split, again and again."""

    vocabulary: SceneVocabulary
    by_label: Mapping[str, Sequence[Clip]]

    def fill(self, template: Scene, rng: np.random.Generator) -> Scene | None:
        """Labels drawn by the weights of their categories."""
        return self.vocabulary.fill(template, rng)

    def exchange(self, base: Scene, rng: np.random.Generator) -> dict[str, str] | None:
        """A label for another of its category, else for any."""
        named = labels(base)
        gone = pick(named, rng)
        for leaf in (category(gone), ANY):
            known = leaf == ANY or leaf in self.vocabulary.categories
            label = self.vocabulary.draw(leaf, named, rng) if known else None
            if label is not None:
                return {gone: label}
        return None

    def choose(self, label: str, used: Collection[str], rng: np.random.Generator) -> Clip:
        """One of the label's clips."""
        found = self.by_label[label]
        return pick([each for each in found if each.recording not in used] or found, rng)


@dataclass(frozen=True)
class DealtCast:
    """The clips of one hand: all but one for a scene, and one for what is exchanged.

    Args:
        hand: At least three clips of different labels.
    """

    hand: Hand

    @property
    def sounds(self) -> int:
        """Sounds of a scene."""
        return len(self.hand) - 1

    @cached_property
    def _akin(self) -> Hand:
        """Those whose category another one has."""
        shared = Counter(category(clip.labels[0]) for clip in self.hand)
        return tuple(clip for clip in self.hand if shared[category(clip.labels[0])] > 1)

    def fill(self, template: Scene, rng: np.random.Generator) -> Scene:
        """The labels of all but one clip, shuffled; one that is akin to another is often spared."""
        spare = pick(self._akin if self._akin and rng.random() < _SPARED_AKIN else self.hand, rng)
        named = [clip.labels[0] for clip in self.hand if clip is not spare]
        return fill_labels(template, (named[at] for at in rng.permutation(len(named))))

    def exchange(self, base: Scene, rng: np.random.Generator) -> dict[str, str]:
        """A label of the spare clip's category, else any, for the spare one."""
        named = labels(base)
        (spare,) = {clip.labels[0] for clip in self.hand}.difference(named)
        akin = [label for label in named if category(label) == category(spare)] or named
        return {pick(akin, rng): spare}

    def choose(self, label: str, used: Collection[str], rng: np.random.Generator) -> Clip:
        """The clip of the label."""
        return next(clip for clip in self.hand if clip.labels[0] == label)


# Units: parts of a clip that hold one short sound, with silence around it.


_FOREGROUND_DB: Decibels = 15.0
"""A unit further below the loudest block of its clip may be another sound than the label's."""


def find_units(clip: Clip, longest: Frames, setting: Setting) -> list[Excerpt]:
    """The parts of a clip that begin once, and are over, in order of time.

    Each holds one attack. At either end of it the clip ends or is not clearly heard, as the ear has
    it, so that nothing of another sound is cut off.

    Args:
        longest: Frames that a part may last.
    """
    envelope = clip.read_envelope()
    gain = setting.levels.gain(clip.loudness_lufs)
    found = []
    for first, last in _runs(envelope, setting.ear.clear_db):
        start = round(first * envelope.block)
        frames = min(round(last * envelope.block), clip.frames) - start
        if setting.audible <= frames <= longest:
            found.append(Excerpt(clip.id, start, frames, gain))
    return found


def _runs(envelope: Envelope, clear_db: Decibels) -> Iterator[tuple[int, int]]:
    """Runs of blocks, as [start, end), around single attacks."""
    levels = np.asarray(envelope.levels_db)
    attacks = np.zeros(len(levels), int)
    if envelope.attacks is not None:
        attacks = np.asarray(envelope.attacks)
    loudest = levels.max(initial=-np.inf)
    for at in np.flatnonzero(attacks):
        heard = levels > levels[at] - clear_db
        first, last = int(at), int(at) + 1
        while first and heard[first - 1]:
            first -= 1
        while last < len(levels) and heard[last]:
            last += 1
        nearby = attacks[max(first - 1, 0) : last + 1].sum()
        if nearby == 1 and levels[first:last].max() >= loudest - _FOREGROUND_DB:
            yield first, last
