"""Formats of audio files, told by their first bytes."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class AudioFormat(StrEnum):
    """A container, by the name that a person knows."""

    WAV = "WAV"
    AIFF = "AIFF"
    FLAC = "FLAC"
    OGG = "Ogg"
    MP3 = "MPEG audio"
    AAC = "AAC"
    MP4 = "MPEG-4"
    ASF = "Windows Media"
    MATROSKA = "Matroska"
    CAF = "Core Audio"
    AU = "AU"
    W64 = "Wave64"
    AMR = "AMR"
    APE = "Monkey's Audio"
    WAVPACK = "WavPack"


_MAGIC: Final[tuple[tuple[int, bytes, AudioFormat], ...]] = (
    (8, b"WAVE", AudioFormat.WAV),
    (8, b"AIFF", AudioFormat.AIFF),
    (8, b"AIFC", AudioFormat.AIFF),
    (0, b"fLaC", AudioFormat.FLAC),
    (0, b"OggS", AudioFormat.OGG),
    (4, b"ftyp", AudioFormat.MP4),
    (4, b"moov", AudioFormat.MP4),
    (4, b"mdat", AudioFormat.MP4),
    (4, b"wide", AudioFormat.MP4),
    (0, bytes.fromhex("3026b2758e66cf11"), AudioFormat.ASF),
    (0, bytes.fromhex("1a45dfa3"), AudioFormat.MATROSKA),
    (0, b"caff", AudioFormat.CAF),
    (0, b".snd", AudioFormat.AU),
    (0, b"riff\x2e\x91\xcf\x11", AudioFormat.W64),
    (0, b"#!AMR", AudioFormat.AMR),
    (0, b"MAC ", AudioFormat.APE),
    (0, b"wvpk", AudioFormat.WAVPACK),
)
_OUTER: Final[Mapping[AudioFormat, tuple[bytes, ...]]] = {
    AudioFormat.WAV: (b"RIFF", b"RIFX", b"RF64", b"BW64"),
    AudioFormat.AIFF: (b"FORM",),
}

_SUFFIXES: Final[Mapping[str, frozenset[AudioFormat]]] = {
    suffix: frozenset(formats)
    for suffixes, formats in (
        (".wav .wave .bwf .rf64", (AudioFormat.WAV,)),
        (".aif .aiff .aifc", (AudioFormat.AIFF,)),
        (".flac", (AudioFormat.FLAC,)),
        (".ogg .oga .opus .spx", (AudioFormat.OGG,)),
        (".mp3 .mp2 .mpga", (AudioFormat.MP3,)),
        (".m4a .m4b .mp4 .mov .3gp", (AudioFormat.MP4,)),
        (".aac", (AudioFormat.AAC, AudioFormat.MP4)),
        (".wma .asf", (AudioFormat.ASF,)),
        (".webm .mka .mkv", (AudioFormat.MATROSKA,)),
        (".caf", (AudioFormat.CAF,)),
        (".au .snd", (AudioFormat.AU,)),
        (".w64", (AudioFormat.W64,)),
        (".amr", (AudioFormat.AMR,)),
        (".ape", (AudioFormat.APE,)),
        (".wv", (AudioFormat.WAVPACK,)),
    )
    for suffix in suffixes.split()
}


def detect_format(data: bytes) -> AudioFormat | None:
    """The format that the first bytes tell, None where they tell none."""
    start = skip_id3(data)
    for offset, magic, found in _MAGIC:
        if data.startswith(magic, start + offset):
            outer = _OUTER.get(found)
            if outer is None or data.startswith(outer, start):
                return found
    sync = data[start : start + 2]
    if len(sync) == 2 and sync[0] == 0xFF and sync[1] & 0xE0 == 0xE0:
        if sync[1] & 0xF6 == 0xF0:
            return AudioFormat.AAC
        return AudioFormat.MP3 if sync[1] & 0x06 and sync[1] & 0x18 != 0x08 else None
    return None


def skip_id3(data: bytes) -> int:
    """Where the sound's own bytes begin: behind the ID3v2 tags, which may precede any format."""
    start = 0
    while data.startswith(b"ID3", start) and len(data) >= start + 10:
        size = 0
        for byte in data[start + 6 : start + 10]:
            size = size << 7 | byte & 0x7F
        footer = 10 if data[start + 5] & 0x10 else 0
        start += 10 + size + footer
    return start


def explain_mismatch(found: AudioFormat | None, suffix: str) -> str:
    """What the name says against what is found; "" where they agree or either says nothing."""
    expected = _SUFFIXES.get(suffix.lower())
    if found is None or expected is None or found in expected:
        return ""
    return f"holds {found}, although its name ends in {suffix}"
