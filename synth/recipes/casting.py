"""Casting: which labels and clips a scene is made of, drawn from all, or dealt in turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from itertools import combinations
from typing import Final, TypeAlias

import numpy as np

from synth.base.doors import tidy_text
from synth.base.errors import PlanError
from synth.base.own_label import name_of
from synth.base.rng import Randomness, pick, shuffle
from synth.base.units import Frames
from synth.captions.caption import Style
from synth.labels.lexicon import are_confusable, are_kin, category, spell_listed
from synth.recipes.base import (
    Clip,
    Setting,
    T,
    by_label,
    explain_unnamed,
    take,
)
from synth.scene.edit import rename_labels
from synth.scene.scene import Concat, Event, Overlay, Scene, events, format_scene, labels
from synth.scene.timeline import make_sequence

# Templates: scenes of labels, categories or `any`.


ANY: Final = "any"
UNNAMED: Final = ("ambience",)
"""Categories of rooms, effects and noises that nobody could point out among other sounds."""


def draw_operator(rng: np.random.Generator) -> type[Concat | Overlay]:
    """One sound after the other, or both together: each as likely."""
    return Concat if rng.random() < 0.5 else Overlay


def random_template(
    count: int, rng: np.random.Generator, outermost: type[Concat | Overlay] | None = None
) -> Scene:
    """A scene of `count` events of any label, every operator and every division equally likely.

    Args:
        count: Events, at least 1.
        outermost: How its two parts are composed, drawn as well by default.
    """
    if count == 1:
        return Event(ANY)
    left = int(rng.integers(1, count))
    parts = random_template(left, rng), random_template(count - left, rng)
    return (outermost or draw_operator(rng))(*parts)


def random_sequence(count: int, polyphony: int, rng: np.random.Generator) -> Scene:
    """A scene of `count` events of any label, one after the other or in small overlays.

    Half of the parts are single events. Of the overlays, those of one event more are half as many.

    Args:
        count: Events, at least 2.
        polyphony: Most events of an overlay, at least 1.
    """
    parts: list[Scene] = []
    while count:
        size = min(int(rng.geometric(0.5)), polyphony, count)
        sounds: list[Scene] = [Event(ANY)] * size
        parts.append(reduce(Overlay, sounds))
        count -= size
    return make_sequence(parts)


def draw_weighted(weights: Mapping[T, float], rng: np.random.Generator) -> T:
    """One of the options, drawn by their weights."""
    options, cumulative = tuple(weights), np.cumsum(tuple(weights.values()))
    drawn = int(np.searchsorted(cumulative, rng.random() * cumulative[-1], "right"))
    return options[min(drawn, len(options) - 1)]


def fill_labels(template: Scene, names: Iterable[str]) -> Scene:
    """The template with these labels, left to right."""
    names = iter(names)
    match template:
        case Event():
            return Event(next(names))
        case Concat(first, second) | Overlay(first, second):
            left = fill_labels(first, names)
            return type(template)(left, fill_labels(second, names))


# Casts: they give labels and clips.


Hand: TypeAlias = tuple[Clip, ...]

_TRIES: Final = 20
_SPARED_AKIN: Final = 0.7


def explain_uncast(clip: Clip, recipe: str, style: Style, setting: Setting) -> str | None:
    """Why a clip cannot be a sound of a scene, None where it can."""
    if len(clip.labels) == 1 and category(clip.labels[0]) == "none":
        return f"has the label {clip.labels[0]!r}, which names no sound"
    return explain_unnamed(clip, f"{recipe} need", style, 0, setting)


def refuse_few(split: str, recipe: str, known: Collection[str], count: int) -> None:
    """Check that there are labels for a scene and for what is exchanged in it."""
    sets = combinations(sorted(known), count)
    if not any(all(not are_confusable(*pair) for pair in combinations(some, 2)) for some in sets):
        named = ", ".join(map(name_of, sorted(known)[:5]))
        raise PlanError(
            f"split {split}: {recipe} need {count} labels that nobody could confuse, found {named}",
            fix=f"add sounds of other labels to {split}, or leave it out of `splits`",
        )


@dataclass(frozen=True)
class DrawnCast:
    """Every clip of a split, again and again.

    Args:
        clips: By label.
        categories: Labels by category.
        weights: How likely each category is, relative to the others.
    """

    clips: Mapping[str, Sequence[Clip]]
    categories: Mapping[str, Sequence[str]]
    weights: Mapping[str, float]

    @classmethod
    def of(cls, clips: Iterable[Clip], weights: Mapping[str, float]) -> DrawnCast:
        """Clips sorted into the lexicon's categories, each label as likely as the others.

        Args:
            weights: How likely a label of a category is, where it is another share than 1; the
                categories of `UNNAMED` are left out unless they have a weight.
        """
        labelled = by_label(clips)
        categories: dict[str, list[str]] = {}
        for label in sorted(labelled):
            categories.setdefault(category(label), []).append(label)
        unknown = sorted(set(weights) - set(categories))
        if unknown:
            raise PlanError(
                f"recipe.scenes.categories: no label is in category {', '.join(unknown)}",
                fix=f"the labels are in {', '.join(sorted(categories))}",
            )
        shares = dict.fromkeys(categories, 1.0) | dict.fromkeys(UNNAMED, 0.0) | dict(weights)
        used = [name for name in sorted(categories) if shares[name] > 0]
        if not used:
            raise PlanError(
                "recipe.scenes.categories: every label is in a category of weight 0",
                fix=f"give one of {', '.join(categories)} a higher weight",
            )
        return cls(
            labelled,
            {name: categories[name] for name in used},
            {name: shares[name] * len(categories[name]) for name in used},
        )

    @property
    def labels(self) -> frozenset[str]:
        """All that may be drawn."""
        return frozenset().union(*self.categories.values())

    @cached_property
    def _known(self) -> frozenset[str]:
        return self.labels | {ANY, *self.categories}

    @cached_property
    def _names(self) -> Mapping[str, str]:
        return {name_of(label): label for label in self.labels}

    def spell(self, template: Scene) -> Scene:
        """The template with its leaves as the clips' labels are spelt."""
        leaves = {*labels(template)} - self._known
        spelt = {
            leaf: self._names.get(tidy_text(leaf)) or spell_listed(leaf) or leaf for leaf in leaves
        }
        return rename_labels(template, spelt)

    def check(self, template: Scene, where: str) -> None:
        """Every leaf of a template must be a label, a category or `any`, no two labels kin."""
        for leaf in labels(template):
            if leaf not in self._known:
                raise PlanError(
                    f"{where}: {format_scene(template)} names {leaf!r}, which is not the "
                    "label of any clip",
                    fix=f"name a label, 'any' or one of {', '.join(self.categories)}",
                )
        for first, second in combinations(self._named_labels(template), 2):
            if are_kin(first, second):
                raise PlanError(
                    f"{where}: {format_scene(template)} names {first!r} and {second!r}, "
                    "which could describe the same sound",
                    fix="combine sounds that cannot be confused",
                )

    def _named_labels(self, template: Scene) -> list[str]:
        """The leaves that are labels themselves."""
        return [leaf for leaf in labels(template) if leaf != ANY and leaf not in self.categories]

    def _draw(self, leaf: str, taken: Collection[str], rng: np.random.Generator) -> str | None:
        """A label for `any` or a category that is confused with none of those taken, or None."""
        for _ in range(_TRIES):
            name = draw_weighted(self.weights, rng) if leaf == ANY else leaf
            label = pick(self.categories[name], rng)
            if not any(are_confusable(label, other) for other in taken):
                return label
        return None

    def fill(self, template: Scene, rng: np.random.Generator) -> Scene | None:
        """Labels drawn by the weights of their categories.

        What is drawn is confused with no other label, whereas a template may name two that are,
        such as rain and thunder.
        """
        named = self._named_labels(template)
        drawn: list[str] = []
        for event in events(template):
            fixed = event.label in named
            label = event.label if fixed else self._draw(event.label, [*named, *drawn], rng)
            if label is None:
                return None
            drawn.append(label)
        return fill_labels(template, drawn)

    def exchange(self, base: Scene, rng: np.random.Generator) -> dict[str, str] | None:
        """A label for another of its category, else for any."""
        named = labels(base)
        gone = pick(named, rng)
        for leaf in (category(gone), ANY):
            known = leaf == ANY or leaf in self.categories
            label = self._draw(leaf, named, rng) if known else None
            if label is not None:
                return {gone: label}
        return None

    def choose(self, label: str, used: Collection[str], rng: np.random.Generator) -> Clip:
        """One of the label's clips."""
        clips = self.clips[label]
        return pick([clip for clip in clips if clip.recording not in used] or clips, rng)


@dataclass(frozen=True)
class DealtCast:
    """The clips of one hand: all but one for a scene, and one for what is exchanged.

    Args:
        hand: At least three clips of different labels.
    """

    hand: Hand

    @cached_property
    def _akin(self) -> Hand:
        """Those whose category another one has."""
        shared = Counter(category(clip.labels[0]) for clip in self.hand)
        return tuple(clip for clip in self.hand if shared[category(clip.labels[0])] > 1)

    def fill(self, template: Scene, rng: np.random.Generator) -> Scene:
        """The labels of all but one clip, shuffled; one that is akin to another is often spared."""
        spare = pick(self._akin if self._akin and rng.random() < _SPARED_AKIN else self.hand, rng)
        named = [clip.labels[0] for clip in self.hand if clip is not spare]
        return fill_labels(template, shuffle(named, rng))

    def exchange(self, base: Scene, rng: np.random.Generator) -> dict[str, str]:
        """A label of the spare clip's category, else any, for the spare one."""
        named = labels(base)
        (spare,) = {clip.labels[0] for clip in self.hand}.difference(named)
        akin = [label for label in named if category(label) == category(spare)] or named
        return {pick(akin, rng): spare}

    def choose(self, label: str, used: Collection[str], rng: np.random.Generator) -> Clip:
        """The clip of the label."""
        return next(clip for clip in self.hand if clip.labels[0] == label)


Cast: TypeAlias = DrawnCast | DealtCast


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
        sounds[label] = take(clip, longest, setting, rng)
    return sounds


# Dealing: the clips of a split as a deck, dealt to groups until it is used up, then dealt anew.
#
# Group k of a round is computed from the round's number and nothing else: every round has as many
# groups of each size.


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
        sizes: list[int] = []
        left = len(self.clips)
        while left >= (size := 3 + len(sizes) % (self.most - 2)):
            sizes.append(size)
            left -= size
        if not sizes:
            raise PlanError(
                f"recipe.scenes.without_replacement: {len(self.clips)} clips do not fill a group",
                fix="add clips, or set without_replacement: false",
            )
        return tuple(sizes)

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
        stacks = by_label(self.clips)
        return [stacks[label] for label in sorted(stacks)]

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
            for place, clip in zip(chosen.tolist(), shuffle(clips, rng), strict=False):
                hands[place].append(clip)
            room[chosen] -= 1
            met[stack, chosen] = True
        return [tuple(shuffle(hand, rng)) for hand in hands]
