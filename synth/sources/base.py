"""The protocol of a sound library, and what file-based libraries share."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Protocol, runtime_checkable

import numpy as np
from pydantic import BaseModel, ConfigDict

from synth.audio_file import read_audio
from synth.dsp import Audio
from synth.errors import ClipError, SourceError
from synth.tag import Tag


@dataclass(frozen=True, slots=True)
class ClipRef:
    """What a library's own index says of one clip, before its audio is opened.

    Args:
        id: Unique in the corpus: `SOURCE/NAME`.
        location: Where the source finds it; for files the path below the root.
        labels: Sound-event labels.
        captions: Sentences that describe the whole clip.
        recording: The original recording that it was cut from; splits never divide one.
        licence: SPDX-like name.
        attribution: Whom to credit.
        split: The library's own split or fold, "" where it has none.
        tags: Tags of the whole recording.
    """

    id: str
    location: str
    labels: tuple[str, ...]
    captions: tuple[str, ...] = ()
    recording: str = ""
    licence: str = "unknown"
    attribution: str = ""
    split: str = ""
    tags: tuple[Tag, ...] = ()


@dataclass(frozen=True, slots=True)
class Recording:
    """A decoded clip: mono samples at its own rate, and what the file said.

    Args:
        audio: Shape (frames,), the mean of the channels.
        rate: In Hz.
        channels: In the file.
        sha256: Of the file's bytes (of the samples where there is no file).
    """

    audio: Audio
    rate: int
    channels: int
    sha256: str


@runtime_checkable
class Source(Protocol):
    """A sound library. Instances are values that travel to workers."""

    name: ClassVar[str]

    def refs(self) -> Iterator[ClipRef]:
        """Every clip the library lists, in a fixed order.

        Raises:
            SourceError: If the library is not where, or not what, its settings say.
        """
        ...

    def stamp(self, ref: ClipRef) -> str:
        """A cheap text that changes when the clip's content may have changed."""
        ...

    def load(self, ref: ClipRef) -> Recording:
        """Decode one clip.

        Raises:
            ClipError: If it cannot be used; the reason goes into the quarantine table.
        """
        ...


@runtime_checkable
class Unheard(Protocol):
    """A library without recordings: it can be planned over, and not built."""

    name: ClassVar[str]

    def refs(self) -> Iterator[ClipRef]:
        """Every clip the library lists, in a fixed order."""
        ...

    def row(self, ref: ClipRef) -> dict[str, Any]:
        """The measured columns of `schema.CLIPS`, as they were drawn."""
        ...


class Settings(BaseModel):
    """Settings of a source, checked when the spec is read."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class FileSource(Settings):
    """A source whose clips are audio files below `root`."""

    root: Path

    def stamp(self, ref: ClipRef) -> str:
        """Size and times of the file, "missing" where there is none."""
        try:
            status = (self.root / ref.location).stat()
        except OSError:
            return "missing"
        return f"{status.st_size}:{status.st_mtime_ns}:{status.st_ctime_ns}"

    def load(self, ref: ClipRef) -> Recording:
        """Read the whole file, mixed down to mono.

        Raises:
            ClipError: If the file is missing, empty or no audio that can be decoded.
        """
        path = self.root / ref.location
        try:
            data = path.read_bytes()
        except OSError as error:
            raise ClipError(f"cannot be read: {error.strerror or error}") from error
        if not data:
            raise ClipError("the file is empty")
        channels, rate = read_audio(data, path.suffix)
        return Recording(mono(channels), rate, channels.shape[1], hashlib.sha256(data).hexdigest())


def mono(channels: np.ndarray) -> Audio:
    """The mean of the channels; shape (frames, channels) to (frames,)."""
    if channels.shape[1] == 1:
        return np.ascontiguousarray(channels[:, 0])
    return np.asarray(channels.mean(axis=1, dtype=np.float32))


def require_folder(path: Path, what: str, mend: str) -> Path:
    """`path`, if it is a folder.

    Raises:
        SourceError: If it is not.
    """
    if not path.is_dir():
        raise SourceError(f"{path}: {what} not found", mend=mend)
    return path


def require_file(path: Path, what: str, mend: str) -> Path:
    """`path`, if it is a file.

    Raises:
        SourceError: If it is not.
    """
    if not path.is_file():
        raise SourceError(f"{path}: {what} not found", mend=mend)
    return path
