"""Corpus families, one file each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from synth.recipes.acba import Acba
from synth.recipes.base import Recipe
from synth.recipes.scenes import Scenes
from synth.recipes.triplets import Triplets

RECIPES: Final[Mapping[str, type[Acba] | type[Scenes] | type[Triplets]]] = {
    recipe.name: recipe for recipe in (Acba, Scenes, Triplets)
}

__all__ = ["RECIPES", "Recipe"]
