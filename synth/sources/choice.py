"""A source by name, with its settings."""

from __future__ import annotations

from typing import Final

from pydantic import BaseModel

from synth.base.choice import Choice
from synth.sources import source_class, source_names

HELD: Final = "of"
"""The setting of a source that takes the clips of another."""


class SourceChoice(Choice):
    """A source by name; those of other packages are found by their entry point."""

    @classmethod
    def list_names(cls) -> tuple[str, ...]:
        """Every source that is installed."""
        return source_names()

    @classmethod
    def find_settings(cls, name: str) -> type[BaseModel]:
        """The class of a source."""
        return source_class(name)
