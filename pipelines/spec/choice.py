"""A recipe by name, with its settings."""

from __future__ import annotations

from pydantic import BaseModel

from synth.base.choice import Choice
from synth.recipes import RECIPES


class RecipeChoice(Choice):
    """A recipe by name."""

    @classmethod
    def list_names(cls) -> tuple[str, ...]:
        """Every recipe."""
        return tuple(RECIPES)

    @classmethod
    def find_settings(cls, name: str) -> type[BaseModel]:
        """The class of a recipe."""
        return RECIPES[name]
