"""Sound libraries, each a small file behind the one protocol `Source`."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from importlib.metadata import EntryPoint
from typing import Final

from synth.entry_points import load_class, offered
from synth.errors import SourceError
from synth.names import suggestion
from synth.sources.base import ClipRef, Recording, Settings, Source, Unheard
from synth.sources.collected import Collected, Listing

SOURCES: Final[Mapping[str, str]] = {
    "audiocaps": "synth.sources.audiocaps:AudioCaps",
    "audioset_strong": "synth.sources.audioset_strong:AudioSetStrong",
    "clotho": "synth.sources.clotho:Clotho",
    "esc10": "synth.sources.esc10:Esc10",
    "esc50": "synth.sources.esc50:Esc50",
    "fma": "synth.sources.fma:Fma",
    "folder": "synth.sources.folder:Folder",
    "foley": "synth.sources.foley:Foley",
    "fsd50k": "synth.sources.fsd50k:Fsd50k",
    "hf": "synth.sources.hf:HuggingFace",
    "jam": "synth.sources.jam:Jam",
    "lp_musiccaps": "synth.sources.lp_musiccaps:LpMusicCaps",
    "macs": "synth.sources.macs:Macs",
    "magnatagatune": "synth.sources.magnatagatune:MagnaTagATune",
    "mtg_jamendo": "synth.sources.mtg_jamendo:MtgJamendo",
    "musiccaps": "synth.sources.musiccaps:MusicCaps",
    "parquet": "synth.sources.parquet:Parquet",
    "song_describer": "synth.sources.song_describer:SongDescriber",
    "urbansound8k": "synth.sources.urbansound8k:UrbanSound8K",
    "vocabulary": "synth.sources.vocabulary:Vocabulary",
    "wavtext5k": "synth.sources.wavtext5k:WavText5K",
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
    "opened",
    "source_class",
    "source_names",
]


def source_names() -> tuple[str, ...]:
    """The sources that come with Segue, then those of other packages."""
    return (*SOURCES, *_others())


def source_class(name: str) -> type[Settings]:
    """The class of a source by its name; its fields are the settings.

    Other packages add theirs by an entry point of the group `segue.sources`, which names a subclass
    of `Settings` that keeps the protocol `Source`.

    Raises:
        SourceError: If there is no such source, or another package's cannot be used.
    """
    if name in SOURCES:
        module, attribute = SOURCES[name].split(":")
        found: type[Settings] = getattr(import_module(module), attribute)
        return found
    others = _others()
    if name not in others:
        raise SourceError(f"no source {name!r}", mend=suggestion(name, source_names()))
    return load_class(others[name], Settings, SourceError)


def opened(source: Settings) -> Source | Unheard:
    """The source, or its listing where its audio has not been collected.

    Raises:
        SourceError: If its audio is said to lie where there is no folder.
    """
    if isinstance(source, Collected) and source.files() is None:
        return Listing(source)  # type: ignore[return-value]
    return source  # type: ignore[return-value]


def _others() -> dict[str, EntryPoint]:
    return offered(ENTRY_POINTS, SOURCES)
