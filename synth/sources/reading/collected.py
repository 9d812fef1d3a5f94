"""Published tables whose audio is collected by whoever may: found where it lies, or only listed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, Final

from synth.base.errors import SourceError
from synth.base.rng import digest
from synth.base.units import Seconds, to_frames
from synth.sources.reading.base import ClipRef
from synth.sources.reading.files import FileSource, find_file, require_folder
from synth.sources.reading.walk import walk

SUFFIXES: Final = (".wav", ".flac", ".ogg", ".opus", ".mp3", ".m4a", ".aif", ".aiff")
LISTED_RATE: Final = 48_000
LISTED_LEVEL_DB: Final = -20.0


class Collected(FileSource):
    """A source whose index is published without its audio, or apart from it.

    Args:
        root: Holds the index files.
        audio: Folder of the audio files, below `root` or absolute; sub-folders are searched.
            By default the library's own download folder, if it exists.
    """

    audio: Path | None = None
    usual_audio: ClassVar[str] = "audio"

    def files(self) -> AudioFiles | None:
        """The audio files; None where `audio` is not set and the usual folder is not there."""
        if self.audio is not None:
            fix = "set audio: FOLDER, or leave it out to plan over the index alone"
            require_folder(self.root / self.audio, "the audio folder", fix)
            return AudioFiles(self.root, self.audio)
        usual = Path(self.usual_audio)
        return AudioFiles(self.root, usual) if (self.root / usual).is_dir() else None


@dataclass(frozen=True)
class AudioFiles:
    """Audio files below `root / folder`."""

    root: Path
    folder: Path

    @cached_property
    def _by_stem(self) -> dict[str, list[Path]]:
        found: dict[str, list[Path]] = {}
        base = self.root / self.folder
        for path in walk(base):
            if path.suffix.lower() in SUFFIXES:
                found.setdefault(path.stem, []).append(path.relative_to(base))
        return found

    def find_stem(self, *stems: str) -> str:
        """Location of the first file that has one of these names, without extension.

        Where there is none, the location where the first was expected, so that the clip is
        quarantined when it is opened.
        """
        for stem in stems:
            paths = self._by_stem.get(stem, [])
            if len(paths) > 1:
                raise SourceError(
                    f"{self.root / self.folder}: {paths[0]} and {paths[1]} have the same name",
                    fix="keep one of them",
                )
            if paths:
                return (self.folder / paths[0]).as_posix()
        return (self.folder / stems[0]).as_posix()

    def find_path(self, *paths: str) -> str:
        """Location of the first of these paths, below the folder, that is there; else the first."""
        for path in paths:
            if find_file(self.root / self.folder, path).is_file():
                return (self.folder / path).as_posix()
        return (self.folder / paths[0]).as_posix()


@dataclass(frozen=True, slots=True)
class Listing:
    """A collected source without its audio: it can be planned over, and not built."""

    source: Collected

    @property
    def name(self) -> str:
        """The source's name."""
        return str(self.source.name)  # type: ignore[attr-defined]

    def refs(self) -> Iterator[ClipRef]:
        """Every clip that the index lists."""
        return self.source.refs()  # type: ignore[attr-defined, no-any-return]

    def row(self, ref: ClipRef) -> dict[str, Any]:
        """What the catalogue would say of a clip that sounds for as long as the index says."""
        if ref.duration_s is None:
            raise SourceError(
                f"{ref.id}: its length is not known without its audio", fix="set audio: FOLDER"
            )
        return unheard_row(ref.duration_s, self.name, ref.id)


def unheard_row(seconds: Seconds, *identity: str) -> dict[str, Any]:
    """The measured columns of `schema.CLIPS` for a clip that was never heard."""
    frames = to_frames(seconds, LISTED_RATE)
    return {
        "sample_rate": LISTED_RATE,
        "channels": 1,
        "frames": frames,
        "onset": 0,
        "offset": frames,
        "loudness_lufs": LISTED_LEVEL_DB,
        "peak_db": 0.0,
        "levels_db": [],
        "levels_dba": [],
        "attacks": [],
        "sha256": digest(*identity),
        "fingerprint": b"",
    }


def refuse_absent(root: Path, present: Sequence[Path], expected: str, fix: str) -> None:
    """Check that a folder holds at least one of a library's index files."""
    require_folder(root, "the dataset folder", fix)
    if not present:
        raise SourceError(f"{root}: holds no {expected}", fix=fix)
