"""The sounds of a test: samples of a corpus, or audio files."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Final

import numpy as np

from synth.audio.decoding import read_audio
from synth.audio.dsp import PCM_SCALE, Audio
from synth.base.doors import read_regular
from synth.base.errors import ClipError, CorpusError, SpecError
from synth.corpus.corpus import Corpus
from synth.sources.catalogue import resample
from train.data.rows import Row
from train.data.split import SplitData
from train.engine.log import name_file

_MAX_BYTES: Final = 4 * 2**30
SUFFIXES: Final = (".wav", ".flac", ".mp3", ".ogg", ".opus", ".m4a")


@dataclass(frozen=True)
class SoundItem:
    """A sound, which is loaded when it is asked for.

    Args:
        name: What to call it in an error.
        size: Grows with its length.
        load: Its samples in -1 to 1 at a rate in Hz; not to be written to.
    """

    name: str
    size: int
    load: Callable[[int], Audio]

    def keep(self) -> SoundItem:
        """The same, which stays in memory once it is loaded, for several models in turn."""
        return replace(self, load=cache(self.load))


def corpus_sounds(data: SplitData, rows: Iterable[Row]) -> list[SoundItem]:
    """The sounds of rows of a split, which are at the corpus's rate."""
    return [
        SoundItem(f"sample {row['id']}", row["frames"], partial(_load_sample, data, row))
        for row in rows
    ]


def _load_sample(data: SplitData, row: Row, rate: int) -> Audio:
    check_rate(data.corpus, rate)
    return data.pcm(row).astype(np.float32) / np.float32(PCM_SCALE)


def check_rate(corpus: Corpus, rate: int) -> None:
    """Refuse a corpus at another rate in Hz than that of the model."""
    if rate != corpus.sample_rate:
        raise SpecError(
            f"the model takes audio at {rate} Hz, but corpus {corpus.name} is at "
            f"{corpus.sample_rate} Hz",
            fix=f"build the corpus with sample_rate: {rate}",
        )


def file_sound(path: Path) -> SoundItem:
    """An audio file, its channels averaged, resampled to the model's rate, never looped."""
    return SoundItem(str(path), path.stat().st_size, partial(_load_file, path))


def _load_file(path: Path, rate: int) -> Audio:
    try:
        with name_file(path):
            samples, own_rate = read_audio(read_regular(path, limit=_MAX_BYTES), path.suffix)
    except ClipError as error:
        raise CorpusError(f"{path}: {error}", fix="replace the file") from error
    mono = samples.mean(axis=1, dtype=np.float32)
    if not len(mono) or not np.isfinite(mono).all():
        fault = "holds samples that are not numbers" if len(mono) else "has no samples"
        raise CorpusError(f"{path}: {fault}", fix="replace the file")
    return resample(mono, own_rate, rate)


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
            endings = (path.with_name(path.name + suffix) for suffix in SUFFIXES)
            files = [file for file in endings if file.is_file()]
            if len(files) > 1:
                raise CorpusError(
                    f"{self._table}: row {row}: {name!r} may be "
                    f"{' or '.join(file.name for file in files)} in {self._folder}",
                    fix="leave one of them there",
                )
            if not files:
                self._missing.setdefault(name, row)
                return -1
            path = files[0]
        return self._numbers.setdefault(path, len(self._numbers))

    def sounds(self) -> list[SoundItem]:
        """The files."""
        if self._missing:
            (name, row), more = next(iter(self._missing.items())), len(self._missing) - 1
            raise CorpusError(
                f"{self._table}: row {row}: {name!r} is not in {self._folder}"
                + (f", nor are {more:,} more files" if more else ""),
                fix="give the folder that holds every audio file, or remove the rows",
            )
        if not self._numbers:
            raise CorpusError(f"{self._table}: has no rows", fix="give a table with rows")
        return list(map(file_sound, self._numbers))
