"""The sounds of a test: samples of a corpus, or audio files."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol, runtime_checkable

import numpy as np

from synth.audio.decoding import read_audio
from synth.audio.dsp import PCM_SCALE, Audio
from synth.base.doors import read_regular
from synth.base.errors import ClipError, CorpusError, SpecError
from synth.sources.catalogue import resample
from train.data.rows import Row
from train.data.split import SplitData
from train.engine.log import name_file

_MAX_BYTES: Final = 4 * 2**30
SUFFIXES: Final = (".wav", ".flac", ".mp3", ".ogg", ".opus", ".m4a")


@runtime_checkable
class Sounds(Protocol):
    """Sounds by number, loaded one at a time."""

    def __len__(self) -> int: ...

    def name(self, number: int) -> str:
        """What to call a sound in an error."""
        ...

    def size(self, number: int) -> int:
        """Grows with the sound's length; costs next to nothing."""
        ...

    def load(self, number: int, rate: int) -> Audio:
        """Samples in -1 to 1 at `rate` Hz."""
        ...


@dataclass(frozen=True)
class CorpusSounds:
    """The sounds of rows of a split, which are at the corpus's rate."""

    data: SplitData
    rows: Sequence[Row]

    def __len__(self) -> int:
        return len(self.rows)

    def name(self, number: int) -> str:
        """The sample's id."""
        return f"sample {self.rows[number]['id']}"

    def size(self, number: int) -> int:
        """Its length in frames."""
        return int(self.rows[number]["frames"])

    def load(self, number: int, rate: int) -> Audio:
        """The sample as it is."""
        corpus = self.data.corpus
        if rate != corpus.sample_rate:
            raise SpecError(
                f"the model takes audio at {rate} Hz, but corpus {corpus.name} is at "
                f"{corpus.sample_rate} Hz",
                fix=f"build the corpus with sample_rate: {rate}",
            )
        pcm = self.data.pcm(self.rows[number])
        return pcm.astype(np.float32) / np.float32(PCM_SCALE)


@dataclass(frozen=True)
class OtherSounds:
    """What differs from other sounds in its samples alone."""

    sounds: Sounds

    def __len__(self) -> int:
        return len(self.sounds)

    def name(self, number: int) -> str:
        """Of the sound."""
        return self.sounds.name(number)

    def size(self, number: int) -> int:
        """Of the sound as it was."""
        return self.sounds.size(number)


@dataclass(frozen=True)
class KeptSounds(OtherSounds):
    """Sounds that stay in memory once they are loaded, for several models in turn."""

    _loaded: dict[tuple[int, int], Audio] = field(default_factory=dict, repr=False, compare=False)

    def load(self, number: int, rate: int) -> Audio:
        """The sound, which is not to be written to."""
        if (number, rate) not in self._loaded:
            self._loaded[number, rate] = self.sounds.load(number, rate)
        return self._loaded[number, rate]


@dataclass(frozen=True)
class FileSounds:
    """Audio files, their channels averaged, resampled to the model's rate, never looped."""

    paths: tuple[Path, ...]

    def __len__(self) -> int:
        return len(self.paths)

    def name(self, number: int) -> str:
        """The file's path."""
        return str(self.paths[number])

    def size(self, number: int) -> int:
        """Its size in bytes."""
        return self.paths[number].stat().st_size

    def load(self, number: int, rate: int) -> Audio:
        """The file's audio."""
        path = self.paths[number]
        try:
            with name_file(path):
                samples, own = read_audio(read_regular(path, limit=_MAX_BYTES), path.suffix)
        except ClipError as error:
            raise CorpusError(f"{path}: {error}", fix="replace the file") from error
        mono = samples.mean(axis=1, dtype=np.float32)
        if not len(mono) or not np.isfinite(mono).all():
            fault = "holds samples that are not numbers" if len(mono) else "holds no samples"
            raise CorpusError(f"{path}: {fault}", fix="replace the file")
        return resample(mono, own, rate)


class Files:
    """Collects the audio files that rows of a table name; each file is one sound."""

    def __init__(self, folder: Path, table: Path) -> None:
        if not folder.is_dir():
            raise CorpusError(
                f"{folder}: no such folder",
                fix=f"give the folder that holds the audio files of {table}",
            )
        self._folder = folder
        self._table = table
        self._numbers: dict[Path, int] = {}
        self._missing: dict[str, int] = {}

    def number(self, name: str, row: int) -> int:
        """The number of the sound of a file; of no use after a file that is missing."""
        path = self._folder / name
        if not path.is_file():
            found = [each for each in _endings(path) if each.is_file()]
            if len(found) > 1:
                raise CorpusError(
                    f"{self._table}: row {row}: {name!r} may be "
                    f"{' or '.join(each.name for each in found)} in {self._folder}",
                    fix="leave one of them there",
                )
            if not found:
                self._missing.setdefault(name, row)
                return -1
            path = found[0]
        return self._numbers.setdefault(path, len(self._numbers))

    def sounds(self) -> FileSounds:
        """The files."""
        if self._missing:
            (name, row), more = next(iter(self._missing.items())), len(self._missing) - 1
            raise CorpusError(
                f"{self._table}: row {row}: {name!r} is not in {self._folder}"
                + (f", nor are {more:,} more files" if more else ""),
                fix="give the folder that holds every audio file, or remove the rows",
            )
        if not self._numbers:
            raise CorpusError(f"{self._table}: holds no rows", fix="give a table with rows")
        return FileSounds(tuple(self._numbers))


def _endings(path: Path) -> Iterable[Path]:
    return (path.with_name(path.name + suffix) for suffix in SUFFIXES)
