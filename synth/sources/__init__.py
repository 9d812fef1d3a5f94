"""Sound libraries, each a small file behind the one protocol `Source`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import EntryPoint
from typing import Final

from synth.base.entry_points import find_entry_points, load_class
from synth.base.errors import SourceError
from synth.base.units import suggestion
from synth.sources.reading.base import ClipRef, Recording, Settings, Source, Unheard
from synth.sources.reading.collected import Collected, Listing

SOURCES: Final[Mapping[str, str]] = {
    "audiocaps": "synth.sources.captioned.audiocaps:AudioCaps",
    "audioset_strong": "synth.sources.sounds.audioset_strong:AudioSetStrong",
    "clotho": "synth.sources.captioned.clotho:Clotho",
    "esc10": "synth.sources.sounds.esc10:Esc10",
    "esc50": "synth.sources.sounds.esc50:Esc50",
    "fma": "synth.sources.music.fma:Fma",
    "folder": "synth.sources.own.folder:FolderSource",
    "foley": "synth.sources.procedural.foley.source:Foley",
    "fsd50k": "synth.sources.sounds.fsd50k:Fsd50k",
    "hf": "synth.sources.own.hf:HuggingFaceSource",
    "jam": "synth.sources.procedural.jam.source:Jam",
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

__all__ = [
    "ENTRY_POINTS",
    "SOURCES",
    "ClipRef",
    "Recording",
    "Settings",
    "Source",
    "Unheard",
    "open_source",
    "source_class",
    "source_names",
]


def source_names() -> tuple[str, ...]:
    """The sources that come with Segue, then those of other packages."""
    return (*SOURCES, *_plugins())


def source_class(name: str) -> type[Settings]:
    """The class of a source by its name; its fields are the settings.

    Other packages add theirs by an entry point of the group `segue.sources`, which names a subclass
    of `Settings` that keeps the protocol `Source`.
    """
    if name in SOURCES:
        module, attribute = SOURCES[name].split(":")
        found: type[Settings] = getattr(import_module(module), attribute)
        return found
    others = _plugins()
    if name not in others:
        raise SourceError(f"no source {name!r}", fix=suggestion(name, source_names()))
    return load_class(others[name], Settings, SourceError)


def open_source(source: Settings) -> Source | Unheard:
    """The source, or its listing where its audio has not been collected."""
    if isinstance(source, Collected) and source.files() is None:
        return Listing(source)  # type: ignore[return-value]
    return source  # type: ignore[return-value]


def _plugins() -> dict[str, EntryPoint]:
    return find_entry_points(ENTRY_POINTS, SOURCES)
