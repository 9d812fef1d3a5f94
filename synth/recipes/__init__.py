"""Corpus families, one file each."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Final

from synth.base.entry_points import find_entry_points, load_class
from synth.base.errors import PlanError
from synth.recipes.base import Recipe

ENTRY_POINTS: Final = "segue.recipes"

__all__ = ["ENTRY_POINTS", "Recipe", "recipe_class", "recipe_names"]

_OURS: Final[Mapping[str, str]] = {
    "acba": "Acba",
    "attributes": "Attributes",
    "clips": "Clips",
    "counts": "Counts",
    "edits": "Edits",
    "moments": "Moments",
    "negation": "NegationRecipe",
    "scenes": "Scenes",
    "tag_captions": "TagCaptions",
    "triplets": "Triplets",
}
"""The class of each, in the module of its name."""


def recipe_names() -> tuple[str, ...]:
    """The recipes that come with Segue, then those of other packages."""
    return (*_OURS, *find_entry_points(ENTRY_POINTS, _OURS))


def recipe_class(name: str) -> type[Recipe]:
    """The class of a recipe by one of these names; its fields are the settings.

    Other packages add theirs by an entry point of the group `segue.recipes`, which names a subclass
    of `Recipe`. It is imported when it is asked for.
    """
    if name in _OURS:
        shipped: type[Recipe] = getattr(import_module(f"{__name__}.{name}"), _OURS[name])
        return shipped
    recipe = load_class(find_entry_points(ENTRY_POINTS, _OURS)[name], Recipe, PlanError)
    if getattr(recipe, "name", None) != name:
        raise PlanError(
            f"{recipe.__module__}.{recipe.__qualname__} must be named {name!r}, like its entry "
            "point",
            fix="use the same name for the class's `name` and the entry point",
        )
    return recipe
