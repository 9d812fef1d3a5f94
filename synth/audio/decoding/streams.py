"""Files made of frames or pages: how much they promise, and whether their end is there."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Final

from synth.audio.decoding.formats import skip_id3
from synth.base.errors import ClipError
from synth.base.units import Frames

_BOS: Final = 2
_EOS: Final = 4
_BIT_RATES: Final = {
    (1, 1): (0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448),
    (1, 2): (0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384),
    (1, 3): (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    (2, 1): (0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256),
    (2, 2): (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
    (2, 3): (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
_RATES: Final = {
    3: (44_100, 48_000, 32_000),
    2: (22_050, 24_000, 16_000),
    0: (11_025, 12_000, 8000),
}
_TAGS: Final = (b"TAG", b"APETAGEX", b"LYRICSBEGIN", b"ID3", b"3DI")


def flac_frames(data: bytes) -> Frames | None:
    """Frames that a FLAC file's STREAMINFO promises, None where it does not say (streamed).

    Raises:
        ClipError: If the file ends before that.
    """
    at = skip_id3(data) + 4
    if len(data) < at + 22:
        raise ClipError("is truncated: it ends before its sound begins")
    return int.from_bytes(data[at + 17 : at + 22], "big") & (1 << 36) - 1 or None


def check_ogg(data: bytes) -> None:
    """Check that no page of an Ogg file is missing, and that its streams end as they should.

    Raises:
        ClipError: If not.
    """
    at = 0
    numbers: dict[int, int] = {}
    ended: set[int] = set()
    while data.startswith(b"OggS", at) and at + 27 <= len(data):
        kind, _, serial, number = struct.unpack_from("<BqII", data, at + 5)
        segments = data[at + 27 : at + 27 + data[at + 26]]
        if kind & _BOS:  # files may be joined end to end
            numbers.pop(serial, None)
            ended.discard(serial)
        if number != numbers.get(serial, number - 1) + 1:
            raise ClipError(f"is damaged: page {numbers[serial] + 1} is missing")
        numbers[serial] = number
        at += 27 + data[at + 26] + sum(segments)
        if at > len(data):
            raise ClipError("is truncated: it ends within a page")
        if kind & _EOS:
            ended.add(serial)
    if set(numbers) - ended:
        lost = "it ends before its last page" if at + 27 > len(data) else f"byte {at:,} is no page"
        raise ClipError(f"is truncated or damaged: {lost}")


def check_aac(data: bytes) -> None:
    """Check that the last frame of an AAC stream (ADTS) is whole.

    Raises:
        ClipError: If it is not.
    """
    at = skip_id3(data)
    while at + 7 <= len(data) and data[at] == 0xFF and data[at + 1] & 0xF6 == 0xF0:
        at += max(7, (data[at + 3] & 3) << 11 | data[at + 4] << 3 | data[at + 5] >> 5)
    if at > len(data):
        raise ClipError("is truncated: it ends within a frame")


@dataclass(frozen=True, slots=True)
class _Header:
    """Of a frame of MPEG audio: its size in bytes, its length in samples."""

    size: int
    samples: int
    side: int


def mp3_least_frames(data: bytes) -> Frames | None:
    """Frames that decoding an MPEG audio file must give at least, None where nothing is promised.

    Encoders count the frames in a Xing, Info or VBRI header. Decoders drop what the encoder added
    at both ends, and some do not play the first frame.

    Raises:
        ClipError: If frames are missing at the end.
    """
    at = skip_id3(data)
    first = _header(data, at)
    if first is None:
        return None
    promised, trimmed = _read_promised_frames(data, at, first)
    if promised is not None:
        at += first.size
    whole = 0
    header: _Header | None = first
    while at < len(data) and (header := _header(data, at)) is not None:
        at += header.size
        whole += at <= len(data)
    cut = at > len(data)
    if promised is None:
        if cut:
            raise ClipError("is truncated: it ends within a frame")
        return None
    # Some encoders count the frame that holds the count.
    to_its_end = cut or at == len(data) or data.startswith(_TAGS, at)
    if to_its_end and whole < promised - (not cut):
        raise ClipError(
            f"is truncated: its header promises {promised:,} frames, but {whole:,} are there"
        )
    return max(0, (promised - 3) * first.samples - trimmed)


def _read_promised_frames(data: bytes, at: int, first: _Header) -> tuple[int | None, Frames]:
    """Frames by the first frame's tag, and samples that decoders drop."""
    vbri = at + 36
    if data.startswith(b"VBRI", vbri) and len(data) >= vbri + 18:
        return struct.unpack_from(">I", data, vbri + 14)[0], 0
    tag = at + 4 + first.side
    if not data.startswith((b"Xing", b"Info"), tag) or len(data) < tag + 12:
        return None, 0
    flags, frames = struct.unpack_from(">II", data, tag + 4)
    if not flags & 1 or not frames:
        return None, 0
    lame = tag + 8 + 4 * (flags & 1) + 4 * (flags >> 1 & 1) + 100 * (flags >> 2 & 1)
    lame += 4 * (flags >> 3 & 1) + 21
    gap = int.from_bytes(data[lame : lame + 3], "big")
    return frames, (gap >> 12) + (gap & 0xFFF)


def _header(data: bytes, at: int) -> _Header | None:
    """The frame header at `at`; None where there is none, or one of free format."""
    if at + 4 > len(data) or data[at] != 0xFF or data[at + 1] & 0xE0 != 0xE0:
        return None
    version, layer = data[at + 1] >> 3 & 3, 4 - (data[at + 1] >> 1 & 3)
    kind, rate_index, padding = data[at + 2] >> 4, data[at + 2] >> 2 & 3, data[at + 2] >> 1 & 1
    if version == 1 or layer == 4 or kind in (0, 15) or rate_index == 3:
        return None
    bits = _BIT_RATES[1 if version == 3 else 2, layer][kind] * 1000
    rate = _RATES[version][rate_index]
    mono = data[at + 3] >> 6 == 3
    if layer == 1:
        return _Header((12 * bits // rate + padding) * 4, 384, 0)
    if layer == 2:
        return _Header(144 * bits // rate + padding, 1152, 0)
    if version == 3:
        return _Header(144 * bits // rate + padding, 1152, 17 if mono else 32)
    return _Header(72 * bits // rate + padding, 576, 9 if mono else 17)
