"""Casting: which labels and clips a scene is made of, drawn from all, or dealt in turn."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, Protocol

import numpy as np

from synth.captions.caption import Style
from synth.labels.lexicon import category
from synth.recipes.base import Setting, explain_misleading, explain_too_short
from synth.recipes.clips import Clip, pick
from synth.recipes.dealing import Hand
from synth.recipes.grammar import ANY, SceneVocabulary, fill_labels
from synth.scene.scene import Scene, labels

_SPARED_AKIN: Final = 0.7


def explain_uncast(clip: Clip, recipe: str, style: Style, setting: Setting) -> str | None:
    """Why a clip cannot be a sound of a scene, None where it can.

    Args:
        clip: It.
        recipe: Name of the recipe, in the plural.
        style: Of the captions.
        setting: As the recipe is given.
    """
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


@dataclass(frozen=True)
class DrawnCast:
    """Every clip of a split, again and again.

    Args:
        vocabulary: The labels.
        by_label: The clips.
    """

    vocabulary: SceneVocabulary
    by_label: Mapping[str, Sequence[Clip]]

    def fill(self, template: Scene, rng: np.random.Generator) -> Scene | None:
        """Labels drawn by the weights of their categories."""
        return self.vocabulary.fill(template, rng)

    def exchange(self, base: Scene, rng: np.random.Generator) -> dict[str, str] | None:
        """A label for another of its category, else for any."""
        named = labels(base)
        gone = named[int(rng.integers(len(named)))]
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
        return {akin[int(rng.integers(len(akin)))]: spare}

    def choose(self, label: str, used: Collection[str], rng: np.random.Generator) -> Clip:
        """The clip of the label."""
        return next(clip for clip in self.hand if clip.labels[0] == label)
