"""Corpus families, one file each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from synth.recipes.acba import Acba
from synth.recipes.base import Recipe, RecipeSettings
from synth.recipes.negation import NegationRecipe
from synth.recipes.scenes import Scenes
from synth.recipes.tag_captions import TagCaptions
from synth.recipes.triplets import Triplets

RECIPES: Final[Mapping[str, type[RecipeSettings]]] = {
    "acba": Acba,
    "negation": NegationRecipe,
    "scenes": Scenes,
    "tag_captions": TagCaptions,
    "triplets": Triplets,
}

__all__ = ["RECIPES", "Recipe"]
