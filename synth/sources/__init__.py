"""Sound libraries, each a small file behind the one protocol `Source`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Final

from pydantic import BaseModel

from synth.base.choice import Choice
from synth.base.entry_points import find_entry_points, load_class
from synth.base.errors import SourceError, suggestion
from synth.sources.reading.base import ClipRef, Recording, Settings, Source, Unheard

SOURCES: Final[Mapping[str, str]] = {
    "audiocaps": "synth.sources.captioned.audiocaps:AudioCaps",
    "audioset_strong": "synth.sources.sounds.audioset_strong:AudioSetStrong",
    "clotho": "synth.sources.captioned.clotho:Clotho",
    "esc10": "synth.sources.sounds.esc50:Esc10",
    "esc50": "synth.sources.sounds.esc50:Esc50",
    "fma": "synth.sources.music.fma:Fma",
    "folder": "synth.sources.own.folder:FolderSource",
    "foley": "synth.sources.procedural.sources:Foley",
    "fsd50k": "synth.sources.sounds.fsd50k:Fsd50k",
    "hf": "synth.sources.own.hf:HuggingFaceSource",
    "jam": "synth.sources.procedural.sources:Jam",
    "lp_musiccaps": "synth.sources.music.lp_musiccaps:LpMusicCaps",
    "macs": "synth.sources.captioned.macs:Macs",
    "magnatagatune": "synth.sources.music.magnatagatune:MagnaTagATune",
    "mtg_jamendo": "synth.sources.music.mtg_jamendo:MtgJamendo",
    "musiccaps": "synth.sources.music.musiccaps:MusicCaps",
    "parquet": "synth.sources.own.hf:ParquetSource",
    "song_describer": "synth.sources.music.song_describer:SongDescriber",
    "treated": "synth.sources.own.treated:Treated",
    "urbansound8k": "synth.sources.sounds.urbansound8k:UrbanSound8K",
    "vocabulary": "synth.sources.own.folder:VocabularySource",
    "wavtext5k": "synth.sources.captioned.wavtext5k:WavText5K",
}
ENTRY_POINTS: Final = "segue.sources"

HELD: Final = "of"
"""The setting of a source that takes the clips of another."""

PLACES: Final = ("root", "audio")
"""Settings of a source that say where it lies."""

__all__ = [
    "ENTRY_POINTS",
    "HELD",
    "PLACES",
    "SOURCES",
    "ClipRef",
    "Recording",
    "Settings",
    "Source",
    "SourceChoice",
    "Unheard",
    "drop_places",
    "innermost",
    "open_source",
    "source_class",
    "source_names",
    "take_places",
]


def source_names() -> tuple[str, ...]:
    """The sources that come with Segue, then those of other packages."""
    return (*SOURCES, *find_entry_points(ENTRY_POINTS, SOURCES))


def source_class(name: str) -> type[Settings]:
    """The class of a source by its name; its fields are the settings.

    Other packages add theirs by an entry point of the group `segue.sources`, which names a subclass
    of `Settings` that keeps the protocol `Source`.
    """
    if name in SOURCES:
        module, attribute = SOURCES[name].split(":")
        kind: type[Settings] = getattr(import_module(module), attribute)
        return kind
    others = find_entry_points(ENTRY_POINTS, SOURCES)
    if name not in others:
        raise SourceError(f"no source {name!r}", fix=suggestion(name, source_names()))
    return load_class(others[name], Settings, SourceError)


def open_source(source: Settings) -> Source | Unheard:
    """The source, or its listing where its audio has not been collected."""
    from synth.sources.reading.collected import Collected, Listing

    if isinstance(source, Collected) and source.files() is None:
        return Listing(source)  # type: ignore[return-value]
    return source  # type: ignore[return-value]


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
        kept[HELD] = {name: drop_places(value) for name, value in held.items()}
    return kept


def take_places(settings: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of a source with another's `PLACES`, also in a source that both hold."""
    taken = dict(settings) | {key: other[key] for key in PLACES if key in other}
    own, others = settings.get(HELD), other.get(HELD)
    if isinstance(own, Mapping) and isinstance(others, Mapping):
        taken[HELD] = {name: take_places(item, others.get(name, {})) for name, item in own.items()}
    return taken
