"""The scene grammar: templates of scenes, filled with labels of a weighted choice of categories."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import combinations
from typing import Final, TypeVar

import numpy as np

from synth.base.errors import PlanError
from synth.labels.lexicon import are_confusable, are_kin, category
from synth.scene.notation import format_scene
from synth.scene.scene import Concat, Event, Overlay, Scene, events, labels
from synth.scene.sequence import make_sequence

T = TypeVar("T")
ANY: Final = "any"
UNNAMED: Final = ("ambience",)
"""Categories of rooms, effects and noises that nobody could point out among other sounds."""

_TRIES: Final = 20


def draw_operator(rng: np.random.Generator) -> type[Concat | Overlay]:
    """One sound after the other, or both together: each as likely."""
    return Concat if rng.random() < 0.5 else Overlay


def random_template(
    count: int, rng: np.random.Generator, outermost: type[Concat | Overlay] | None = None
) -> Scene:
    """A scene of `count` events of any label, every operator and every division equally likely.

    Args:
        count: Events, at least 1.
        rng: Draws it.
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
        rng: Draws it.
    """
    parts: list[Scene] = []
    while count:
        size = min(int(rng.geometric(0.5)), polyphony, count)
        sounds: list[Scene] = [Event(ANY)] * size
        parts.append(reduce(Overlay, sounds))
        count -= size
    return make_sequence(parts)


def draw_weighted(options: Sequence[T], weights: Sequence[float], rng: np.random.Generator) -> T:
    """One of the options, drawn by their weights."""
    cumulative = np.cumsum(weights)
    drawn = int(np.searchsorted(cumulative, rng.random() * cumulative[-1], "right"))
    return options[min(drawn, len(options) - 1)]


@dataclass(frozen=True)
class SceneVocabulary:
    """The labels that scenes are made of.

    Args:
        categories: Labels by category.
        weights: How likely each category is, relative to the others.
    """

    categories: Mapping[str, tuple[str, ...]]
    weights: Mapping[str, float]

    @classmethod
    def of_labels(cls, found: Iterable[str], weights: Mapping[str, float]) -> SceneVocabulary:
        """Labels sorted into the lexicon's categories, each as likely as the others.

        Args:
            found: The labels.
            weights: How likely a label of a category is, where it is another share than 1; the
                categories of `UNNAMED` are left out unless they have a weight.
        """
        categories: dict[str, list[str]] = {}
        for label in sorted(set(found)):
            categories.setdefault(category(label), []).append(label)
        unknown = sorted(set(weights) - set(categories))
        weights = dict.fromkeys(UNNAMED, 0.0) | dict(weights)
        if unknown:
            raise PlanError(
                f"recipe.scenes.categories: no label is in category {', '.join(unknown)}",
                fix=f"the labels are in {', '.join(sorted(categories))}",
            )
        chosen = {name: weights.get(name, 1.0) for name in sorted(categories)}
        used = [name for name, weight in chosen.items() if weight > 0]
        if not used:
            raise PlanError(
                "recipe.scenes.categories: every label is in a category of weight 0",
                fix=f"give one of {', '.join(categories)} a higher weight",
            )
        return cls(
            {name: tuple(categories[name]) for name in used},
            {name: chosen[name] * len(categories[name]) for name in used},
        )

    def check(self, template: Scene, where: str) -> None:
        """Every leaf of a template must be a label, a category or `any`, no two labels kin."""
        known = {ANY, *self.categories, *(each for row in self.categories.values() for each in row)}
        for leaf in labels(template):
            if leaf not in known:
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

    def draw(self, leaf: str, taken: Collection[str], rng: np.random.Generator) -> str | None:
        """A label for `any` or a category that is confused with none of those taken, or None."""
        for _ in range(_TRIES):
            among = self.categories[self._draw_category(rng) if leaf == ANY else leaf]
            label = among[int(rng.integers(len(among)))]
            if not any(are_confusable(label, other) for other in taken):
                return label
        return None

    def _named_labels(self, template: Scene) -> list[str]:
        """The leaves that are labels themselves."""
        return [leaf for leaf in labels(template) if leaf != ANY and leaf not in self.categories]

    def _draw_category(self, rng: np.random.Generator) -> str:
        return draw_weighted(tuple(self.weights), tuple(self.weights.values()), rng)

    def fill(self, template: Scene, rng: np.random.Generator) -> Scene | None:
        """The template with a label for every leaf; None where one leaf finds none.

        What is drawn is confused with no other label, whereas a template may name two that are,
        such as rain and thunder.
        """
        named = self._named_labels(template)
        drawn: list[str] = []
        for event in events(template):
            fixed = event.label in named
            label = event.label if fixed else self.draw(event.label, [*named, *drawn], rng)
            if label is None:
                return None
            drawn.append(label)
        return fill_labels(template, iter(drawn))


def fill_labels(template: Scene, names: Iterable[str]) -> Scene:
    """The template with these labels, left to right."""
    names = iter(names)
    match template:
        case Event():
            return Event(next(names))
        case Concat(first, second) | Overlay(first, second):
            left = fill_labels(first, names)
            return type(template)(left, fill_labels(second, names))
