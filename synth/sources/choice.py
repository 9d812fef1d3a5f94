"""A source by name, with its settings; one may hold another, whose clips it takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pydantic import BaseModel

from synth.base.choice import Choice
from synth.sources import source_class, source_names

HELD: Final = "of"
"""The setting of a source that takes the clips of another."""

PLACES: Final = ("root", "audio")
"""Settings of a source that say where it lies."""


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


def innermost(source: Any) -> Any:
    """The source whose clips are used in the end: the source itself if it holds none."""
    held = getattr(source, HELD, None)
    return innermost(held.chosen) if isinstance(held, SourceChoice) else source


def drop_places(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a source, and of one that it holds, without those of `PLACES`."""
    kept = {key: value for key, value in settings.items() if key not in PLACES}
    held = kept.get(HELD)
    if isinstance(held, Mapping):
        kept[HELD] = {name: drop_places(each) for name, each in held.items()}
    return kept


def take_places(settings: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a source with another's `PLACES`, also in a source that both hold."""
    taken = dict(settings) | {key: other[key] for key in PLACES if key in other}
    ours, theirs = settings.get(HELD), other.get(HELD)
    if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
        taken[HELD] = {name: take_places(each, theirs.get(name, {})) for name, each in ours.items()}
    return taken
