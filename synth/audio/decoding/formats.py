"""Formats of audio files, told by their first bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Self

from synth.base.errors import ClipError
from synth.base.units import Frames, Seconds


class FileFormat(StrEnum):
    """A container, by the name that a person knows.

    Attributes:
        demuxer: What ffmpeg is asked to read: no playlist among them, which would make it open
            other files.
        suffixes: How names of such files end.
    """

    demuxer: str
    suffixes: tuple[str, ...]

    def __new__(cls, name: str, demuxer: str, suffixes: str) -> Self:
        """A format by its name, ffmpeg's name, and suffixes parted by spaces."""
        form = str.__new__(cls, name)
        form._value_ = name
        form.demuxer, form.suffixes = demuxer, tuple(suffixes.split())
        return form

    WAV = "WAV", "wav", ".wav .wave .bwf .rf64"
    AIFF = "AIFF", "aiff", ".aif .aiff .aifc"
    FLAC = "FLAC", "flac", ".flac"
    OGG = "Ogg", "ogg", ".ogg .oga .opus .spx"
    MP3 = "MPEG audio", "mp3", ".mp3 .mp2 .mpga"
    AAC = "AAC", "aac", ".aac"
    MP4 = "MPEG-4", "mp4", ".m4a .m4b .mp4 .mov .3gp .aac"
    ASF = "Windows Media", "asf", ".wma .asf"
    MATROSKA = "Matroska", "matroska", ".webm .mka .mkv"
    CAF = "Core Audio", "caf", ".caf"
    AU = "AU", "au", ".au .snd"
    W64 = "Wave64", "w64", ".w64"
    AMR = "AMR", "amr", ".amr"
    APE = "Monkey's Audio", "ape", ".ape"
    WAVPACK = "WavPack", "wv", ".wv"


@dataclass(frozen=True, slots=True)
class FilePart:
    """A stretch of a file that is decoded by itself: files may be joined end to end.

    Args:
        least: Frames that decoding it must give at least.
        clock: Frames a second in which `least` counts; 0 for the sound's own rate.
    """

    data: bytes
    form: FileFormat | None
    least: Frames = 0
    clock: int = 0


TAGS: Final = (b"TAG", b"APETAGEX", b"LYRICSBEGIN", b"ID3", b"3DI")
"""How that begins which taggers add behind the sound."""

_MAGIC: Final[tuple[tuple[int, bytes, FileFormat], ...]] = (
    (8, b"WAVE", FileFormat.WAV),
    (8, b"AIFF", FileFormat.AIFF),
    (8, b"AIFC", FileFormat.AIFF),
    (0, b"fLaC", FileFormat.FLAC),
    (0, b"OggS", FileFormat.OGG),
    (4, b"ftyp", FileFormat.MP4),
    (4, b"moov", FileFormat.MP4),
    (4, b"mdat", FileFormat.MP4),
    (4, b"wide", FileFormat.MP4),
    (0, bytes.fromhex("3026b2758e66cf11"), FileFormat.ASF),
    (0, bytes.fromhex("1a45dfa3"), FileFormat.MATROSKA),
    (0, b"caff", FileFormat.CAF),
    (0, b".snd", FileFormat.AU),
    (0, b"riff\x2e\x91\xcf\x11", FileFormat.W64),
    (0, b"#!AMR", FileFormat.AMR),
    (0, b"MAC ", FileFormat.APE),
    (0, b"wvpk", FileFormat.WAVPACK),
)
_OUTER: Final[Mapping[FileFormat, tuple[bytes, ...]]] = {
    FileFormat.WAV: (b"RIFF", b"RIFX", b"RF64", b"BW64"),
    FileFormat.AIFF: (b"FORM",),
}


def detect_format(data: bytes) -> FileFormat | None:
    """The format that the first bytes tell, None where they tell none."""
    start = skip_id3(data)
    if (known := detect_signature(data, start)) is not None:
        return known
    sync = data[start : start + 2]
    if len(sync) == 2 and sync[0] == 0xFF and sync[1] & 0xE0 == 0xE0:
        if sync[1] & 0xF6 == 0xF0:
            return FileFormat.AAC
        return FileFormat.MP3 if sync[1] & 0x06 and sync[1] & 0x18 != 0x08 else None
    return None


def detect_signature(data: bytes, start: int) -> FileFormat | None:
    """The format of a file that begins at `start`, by its signature."""
    for offset, magic, form in _MAGIC:
        if data.startswith(magic, start + offset):
            outer = _OUTER.get(form)
            if outer is None or data.startswith(outer, start):
                return form
    return None


def skip_id3(data: bytes, start: int = 0) -> int:
    """Where the sound's own bytes begin: behind the ID3v2 tags, which may precede any format."""
    while data.startswith(b"ID3", start) and len(data) >= start + 10:
        size = 0
        for byte in data[start + 6 : start + 10]:
            size = size << 7 | byte & 0x7F
        footer = 10 if data[start + 5] & 0x10 else 0
        start += 10 + size + footer
    return start


def skip_tags(data: bytes, start: int) -> int:
    """Where the next file begins behind tags of any kind."""
    last = -1
    while start > last:
        last, start = start, skip_id3(data, start)
        if data.startswith(b"APETAGEX", start):
            start += 32 + int.from_bytes(data[start + 12 : start + 16], "little")
        elif data.startswith(b"TAG", start):
            start += 128
    return start


def explain_mismatch(content: FileFormat | None, suffix: str) -> str:
    """What the name says against what is found; "" where they agree or either says nothing."""
    expected = [form for form in FileFormat if suffix.lower() in form.suffixes]
    if content is None or not expected or content in expected:
        return ""
    return f"holds {content}, but its name ends in {suffix}"


# Which files are decoded at all.


MAX_SAMPLES: Final = 1 << 30
"""Frames times channels that are decoded at most (4 GiB), whatever the limits say."""


class Mislabelled(StrEnum):
    """What becomes of a file whose content is of another format than its name says."""

    REFUSE = "refuse"
    ACCEPT = "accept"


@dataclass(frozen=True, slots=True)
class Limits:
    """Which files are decoded, rates in Hz; the defaults stop nothing but nonsense."""

    max_s: Seconds = 3600.0
    max_channels: int = 64
    min_rate: int = 1_000
    max_rate: int = 768_000
    mislabelled: Mislabelled = Mislabelled.ACCEPT

    def check(self, channels: int, rate: int) -> None:
        """Check what a file's header says of its form."""
        if rate < self.min_rate:
            raise ClipError(f"is sampled at {rate:,} Hz; clips.min_rate is {self.min_rate:,} Hz")
        if rate > self.max_rate:
            raise ClipError(f"is sampled at {rate:,} Hz; clips.max_rate is {self.max_rate:,} Hz")
        if channels < 1:
            raise ClipError(f"has {channels} channels according to its header")
        if channels > self.max_channels:
            raise ClipError(f"has {channels} channels; clips.max_channels is {self.max_channels}")

    def check_length(self, frames: Frames, channels: int, rate: int) -> None:
        """Check how long a file is, or says that it is."""
        if frames > self.max_s * rate:
            raise ClipError(f"lasts {frames / rate:,.1f} s; clips.max_s is {self.max_s:g} s")
        if frames * channels > MAX_SAMPLES:
            raise ClipError(f"needs {frames * channels * 4 / 2**30:.1f} GiB of memory")


_LIMITS: ContextVar[Limits | None] = ContextVar("limits of audio files", default=None)


@contextmanager
def use_limits(limits: Limits) -> Iterator[None]:
    """Within the block `read_audio` keeps to `limits`, whichever source calls it."""
    token = _LIMITS.set(limits)
    try:
        yield
    finally:
        _LIMITS.reset(token)


def current_limits() -> Limits:
    """Those of the innermost `use_limits`, else the defaults."""
    return _LIMITS.get() or Limits()
