"""Sound libraries, each a small file behind the one protocol `Source`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any, Final

from synth.errors import SourceError
from synth.sources.base import ClipRef, Recording, Source, Unheard

SOURCES: Final[Mapping[str, str]] = {
    "audiocaps": "synth.sources.audiocaps:AudioCaps",
    "esc10": "synth.sources.esc10:Esc10",
    "esc50": "synth.sources.esc50:Esc50",
    "foley": "synth.sources.foley:Foley",
    "folder": "synth.sources.folder:Folder",
    "jam": "synth.sources.jam:Jam",
    "vocabulary": "synth.sources.vocabulary:Vocabulary",
}

__all__ = ["SOURCES", "ClipRef", "Recording", "Source", "Unheard", "source_class"]


def source_class(name: str) -> Callable[..., Source | Unheard]:
    """The class of a source by its name; its keyword arguments are the settings.

    Raises:
        SourceError: If there is no such source.
    """
    if name not in SOURCES:
        raise SourceError(f"no source {name!r}", mend=f"there are {', '.join(SOURCES)}")
    module, attribute = SOURCES[name].split(":")
    found: Any = getattr(import_module(module), attribute)
    return found  # type: ignore[no-any-return]
