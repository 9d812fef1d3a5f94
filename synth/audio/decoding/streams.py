"""Files made of frames or pages: their parts, and how many frames each must give at least.

What a count in a header says is held against the frames that are there: a decoder believes it, or
guesses the length where there is none, and stops there.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Final

from synth.audio.decoding.chunks import ENDS_EARLY
from synth.audio.decoding.formats import TAGS, FileFormat, FilePart, skip_tags
from synth.base.errors import ClipError
from synth.base.units import Frames

_FLAC: Final = re.compile(rb"fLaC[\0\x80]\0\0\x22")
_FLAC_TOTAL: Final = (1 << 36) - 1
_BOS: Final = 2
_EOS: Final = 4
_OPUS_RATE: Final = 48_000
_AUDIO: Final = (b"\x01vorbis", b"OpusHead", b"\x7fFLAC", b"Speex   ")
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
_SYNC: Final = re.compile(rb"\xff[\xe2-\xff]")
_GAP: Final = 1024
"""Bytes between two frames that players skip."""


def split_flac(data: bytes) -> Iterator[FilePart]:
    """The FLAC files that a file is made of, without their count: the decoder would stop there."""
    starts = {0, len(data), *(match.start() for match in _FLAC.finditer(data))}
    for begin, end in pairwise(sorted(starts)):
        if end < begin + 42:
            raise ClipError(ENDS_EARLY)
        field_at = begin + 18
        fields = int.from_bytes(data[field_at : field_at + 8], "big")
        total = fields & _FLAC_TOTAL
        if not total and data.startswith(b"TAG", end - 128):
            end -= 128
        header = data[begin:field_at] + (fields - total).to_bytes(8, "big")
        whole = b"".join((header, memoryview(data)[field_at + 8 : end]))
        yield FilePart(whole, FileFormat.FLAC, total)


@dataclass(slots=True)
class _Link:
    """One of the links of which an Ogg file is a chain: streams that begin together."""

    begin: int
    numbers: dict[int, int] = field(default_factory=dict)
    pages: dict[int, int] = field(default_factory=dict)
    """Where the last page of each stream that has not ended is."""
    first: dict[int, Frames] = field(default_factory=dict)
    last: dict[int, Frames] = field(default_factory=dict)
    audio: int = -1
    clock: int = 0
    is_begun: bool = False
    is_told: bool = True
    """Whether the last page says where it ends."""

    def add(self, data: bytes, at: int) -> int:
        """Take in the page at `at`; where the next one begins."""
        kind, position, serial, number = struct.unpack_from("<BqII", data, at + 5)
        lacing = data[at + 27 : at + 27 + data[at + 26]]
        begin = at + 27 + len(lacing)
        if number != self.numbers.get(serial, number - 1) + 1:
            raise ClipError(f"is damaged: page {self.numbers[serial] + 1} is missing")
        self.numbers[serial] = number
        self.is_begun |= not kind & _BOS
        if kind & _BOS and self.audio < 0 and data.startswith(_AUDIO, begin):
            self.audio = serial
            self.clock = _OPUS_RATE * data.startswith(b"OpusHead", begin)
        if serial == self.audio:
            is_open = position < 0 and min(lacing, default=255) == 255
            self.is_told = is_open or position >= self.last.get(serial, 0)
        if position > 0:
            self.first.setdefault(serial, position)
            self.last[serial] = max(position, self.last.get(serial, 0))
        self.pages[serial] = at
        if kind & _EOS:
            del self.pages[serial]
        return begin + sum(lacing)

    def part(self, data: bytes, end: int) -> FilePart:
        """What is decoded; a stream that was cut off at a page gets its mark of the end."""
        if not self.is_told:
            raise ClipError("is damaged: its last page does not say where it ends")
        whole = data[self.begin : end]
        at = self.pages.get(self.audio)
        if at is not None:
            page = bytearray(data[at:end])
            size = 27 + page[26] + sum(page[27 : 27 + page[26]])
            page[5] |= _EOS
            page[22:26] = bytes(4)
            page[22:26] = _checksum(page[:size]).to_bytes(4, "little")
            whole = data[self.begin : at] + page
        frames = self.last.get(self.audio, 0) - self.first.get(self.audio, 0)
        return FilePart(whole, FileFormat.OGG, frames, self.clock)


def split_ogg(data: bytes) -> Iterator[FilePart]:
    """The links of an Ogg file."""
    link, at = _Link(0), 0
    while at < len(data):
        if not data.startswith(b"OggS", at):
            following = data.find(b"OggS\0", at)
            is_next = following >= 0 and data[following + 5 : following + 6] == bytes((_BOS,))
            if link.pages or (following >= 0 and not is_next):
                raise ClipError(f"is truncated or damaged: byte {at:,} is no page")
            if not is_next:
                break
            yield link.part(data, at)
            link, at = _Link(following), following
        if at + 27 > len(data):
            raise ClipError("is truncated: it ends within a page")
        if data[at + 5] & _BOS and link.is_begun:
            yield link.part(data, at)
            link = _Link(at)
        at = link.add(data, at)
    if at > len(data):
        raise ClipError("is truncated: it ends within a page")
    yield link.part(data, at)


def _checksum(page: bytearray) -> int:
    """An Ogg page's, as RFC 3533 has it."""
    rest = 0
    for byte in page:
        rest ^= byte << 24
        for _ in range(8):
            rest = rest << 1 ^ (0x104C11DB7 if rest >> 31 else 0)
    return rest


@dataclass(frozen=True, slots=True)
class _Header:
    """Of a frame of MPEG audio: size in bytes, length in samples, where a count may stand."""

    size: int
    samples: int
    side: int
    form: tuple[int, int, int, bool]
    """Version, layer, rate, and whether it is mono: what does not change within a stream."""


@dataclass(slots=True)
class _Stream:
    """Frames of one form, of which the first may tell how many there are."""

    header: _Header
    spans: list[tuple[int, int]]
    promised: int = 0
    promised_bytes: int = 0
    trimmed: Frames = 0
    whole: int = 0
    is_cut: bool = False

    def part(self, data: bytes) -> FilePart:
        """What is decoded: without a first frame whose count is wrong."""
        begin, end = self.spans[0][0], self.spans[-1][1]
        trimmed = self.trimmed
        is_complete = not self.is_cut and self.promised_bytes == end - begin
        # Some encoders count the frame that holds the count.
        if self.promised > self.whole + 1 - self.is_cut and not is_complete:
            raise ClipError(
                f"is truncated: its header promises {self.promised:,} frames, "
                f"but {self.whole:,} are there"
            )
        if self.is_cut and not self.promised:
            raise ClipError("is truncated: it ends within a frame")
        spans = self.spans
        if self.promised not in (0, self.whole, self.whole + 1):
            trimmed, spans = 0, [(begin + self.header.size, spans[0][1]), *spans[1:]]
        least = max(0, (self.whole - 3) * self.header.samples - trimmed)
        if len(spans) == 1:
            return FilePart(data[spans[0][0] : spans[0][1]], FileFormat.MP3, least)
        return FilePart(b"".join(data[a:b] for a, b in spans), FileFormat.MP3, least)


def split_mpeg(data: bytes) -> Iterator[FilePart]:
    """The streams of frames of MPEG audio that a file is made of, without the tags between them."""
    at = 0 if _header(data, 0) else _next_frame(data, 0)
    stream: _Stream | None = None
    while header := _header(data, at):
        begin, at = at, at + header.size
        counted = _read_count(data, begin, header)
        if stream is None or counted or header.form != stream.header.form:
            if stream is not None:
                yield stream.part(data)
            stream = _Stream(header, [(begin, at)], *(counted or ()))
            stream.whole = not stream.promised
        else:
            stream.whole += 1
            if stream.spans[-1][1] == begin:
                stream.spans[-1] = stream.spans[-1][0], at
            else:
                stream.spans.append((begin, at))
        if at > len(data):
            stream.is_cut = True
            stream.whole -= 1
        elif _header(data, at) is None:
            at = _next_frame(data, at)
    if stream is None:
        yield FilePart(data, FileFormat.MP3)
    else:
        yield stream.part(data)


def _next_frame(data: bytes, at: int) -> int:
    """Where the next three frames of one form begin; the end of the data, where none do."""
    behind = skip_tags(data, at)
    for match in _SYNC.finditer(data, behind):
        place = here = match.start()
        forms: list[tuple[int, int, int, bool]] = []
        while len(forms) < 3 and (header := _header(data, here)):
            forms.append(header.form)
            here += header.size
        if (len(forms) == 3 or (forms and here == len(data))) and len(set(forms)) == 1:
            if place - behind > _GAP and at and not data.startswith(TAGS, behind):
                raise ClipError(f"is damaged: {place - at:,} bytes from byte {at:,} are no frames")
            return place
    return len(data)


def add_count(part: FilePart) -> FilePart:
    """The same MPEG audio behind a frame that tells how many frames there are.

    A decoder guesses the length by the first frames; louder ones that follow are larger.
    """
    first = part.data[:4]
    head = bytes((0xFF, first[1] | 1, 0xE0 | first[2] & 0x0C, first[3]))
    header = _header(head, 0)
    assert header is not None
    count = part.least // header.samples + 3
    tag = head + bytes(header.side) + b"Info" + struct.pack(">II", 1, count)
    data = tag.ljust(header.size, b"\0") + part.data
    return FilePart(data, part.form, part.least)


def _read_count(data: bytes, at: int, header: _Header) -> tuple[int, int, Frames] | None:
    """Frames and bytes by the tag in a frame, and samples that decoders drop; None without one."""
    if data.startswith(b"VBRI", at + 36) and len(data) >= at + 54:
        size, frames = struct.unpack_from(">II", data, at + 46)
        return frames, size, 0
    tag = at + 4 + header.side + 2 * (not data[at + 1] & 1)
    if not data.startswith((b"Xing", b"Info"), tag) or len(data) < tag + 16:
        return None
    flags, frames, size = struct.unpack_from(">III", data, tag + 4)
    if not flags & 1:
        return 0, 0, 0
    lame = tag + 12 + 4 * (flags >> 1 & 1) + 100 * (flags >> 2 & 1) + 4 * (flags >> 3 & 1) + 21
    gap = int.from_bytes(data[lame : lame + 3], "big")
    return frames, size * (flags >> 1 & 1), (gap >> 12) + (gap & 0xFFF)


def _header(data: bytes, at: int) -> _Header | None:
    """The frame header at `at`; None where there is none, or one of free format."""
    return _parse_header(data[at : at + 4])


@lru_cache(maxsize=4096)
def _parse_header(head: bytes) -> _Header | None:
    if len(head) < 4 or head[0] != 0xFF or head[1] & 0xE0 != 0xE0:
        return None
    version, layer = head[1] >> 3 & 3, 4 - (head[1] >> 1 & 3)
    kind, rate_index, padding = head[2] >> 4, head[2] >> 2 & 3, head[2] >> 1 & 1
    if version == 1 or layer == 4 or kind in (0, 15) or rate_index == 3:
        return None
    bits = _BIT_RATES[1 if version == 3 else 2, layer][kind] * 1000
    rate = _RATES[version][rate_index]
    mono = head[3] >> 6 == 3
    form = version, layer, rate, mono
    if layer == 1:
        return _Header((12 * bits // rate + padding) * 4, 384, 0, form)
    if layer == 2:
        return _Header(144 * bits // rate + padding, 1152, 0, form)
    if version == 3:
        return _Header(144 * bits // rate + padding, 1152, 17 if mono else 32, form)
    return _Header(72 * bits // rate + padding, 576, 9 if mono else 17, form)
