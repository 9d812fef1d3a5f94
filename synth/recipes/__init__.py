"""Corpus families, one file each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from synth.recipes.acba import Acba
from synth.recipes.base import Recipe
from synth.recipes.triplets import Triplets

RECIPES: Final[Mapping[str, type[Acba] | type[Triplets]]] = {
    recipe.name: recipe for recipe in (Acba, Triplets)
}

__all__ = ["RECIPES", "Recipe"]
