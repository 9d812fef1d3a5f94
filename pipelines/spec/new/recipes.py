"""What `segue new` can write: the recipes, and well-known settings of them under a name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic import BaseModel

from pipelines.spec.new.docstrings import read_summary
from synth.base.errors import SegueError, SpecError, suggestion
from synth.recipes import RECIPES

TAGGED: Final = "jam"
LABELLED: Final = "foley"


@dataclass(frozen=True, slots=True)
class Start:
    """What a new spec starts from.

    Args:
        source: A source that comes with Segue and suits it.
        settings: What differs from the recipe's defaults.
        audio: What differs from the defaults of `audio`.
        told: What it makes; by default what the recipe says of itself.
    """

    recipe: str
    source: str = LABELLED
    settings: Mapping[str, Any] = field(default_factory=dict)
    audio: Mapping[str, Any] = field(default_factory=dict)
    told: str = ""

    @property
    def model(self) -> type[BaseModel]:
        """The recipe's settings."""
        return RECIPES[self.recipe]

    @property
    def summary(self) -> str:
        """What it makes, in one line."""
        return self.told or read_summary(self.model).removeprefix(f"`{self.recipe}`: ")


_KNOWN: Final[Mapping[str, Start]] = {
    "edits": Start("edits", audio={"length": "exact 10 s"}),
    "negation": Start("negation", TAGGED),
    "tag_captions": Start("tag_captions", TAGGED),
    "stage_a": Start(
        "triplets",
        settings={"stage_a": True},
        told="single and combined sounds, for the first stage of training (TeminAL A).",
    ),
}


def list_starts() -> tuple[str, ...]:
    """All that a spec can start from."""
    return tuple(dict.fromkeys((*RECIPES, *_KNOWN)))


def complete_starts(incomplete: str) -> list[str]:
    """For a shell: the names that begin so."""
    return [name for name in list_starts() if name.startswith(incomplete)]


def find_start(name: str) -> Start:
    """What is known under a name."""
    if name not in list_starts():
        raise SpecError(f"no recipe {name!r}", fix=suggestion(name, list_starts()))
    return _KNOWN.get(name, Start(name))


def summarise_starts() -> dict[str, str]:
    """One line for each name; one of a package that is broken spoils no list."""
    found = {}
    for name in list_starts():
        try:
            found[name] = find_start(name).summary
        except SegueError as error:
            found[name] = f"cannot be used: {error.message}"
    return found
