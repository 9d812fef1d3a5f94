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

from synth.audio.decoding.formats import TAGS, FileFormat, FilePart, Limits, skip_tags
from synth.base.errors import ClipError
from synth.base.units import Frames

# Files made of chunks that say their size: is what they promise there, and where do they end?


ENDS_EARLY: Final = "is truncated or damaged: it ends before its sound begins"
_UNKNOWN: Final = 0xFFFFFFFF
_OUTER: Final = (b"RIFF", b"RIFX", b"RF64", b"BW64", b"FORM")
_SOUGHT: Final = re.compile(rb"fmt |data|COMM|SSND")
_PCM: Final = 1
_MPEG: Final = (0x50, 0x55)
_ASF_PROPERTIES: Final = bytes.fromhex("a1dcab8c47a9cf118ee400c00c205365")


def read_chunks(data: bytes, limits: Limits) -> tuple[FilePart, int]:
    """The sound of a WAV or AIFF file and what describes it, with sizes that are right.

    All other chunks are left out: some make a decoder stumble, and none changes the sound.

    Returns:
        The part, of MPEG audio where a WAV file holds that, and where the file ends.
    """
    order = ">" if data.startswith((b"RIFX", b"FORM")) else "<"
    kind, about, long_size = b"", b"", 0
    for name, at, size in _walk(data, order):
        if name == b"ds64" and len(data) - at >= 16:
            long_size = struct.unpack_from("<Q", data, at + 8)[0]
        elif name in (b"fmt ", b"COMM"):
            kind, about = name, data[at : at + size]
            if name == b"fmt ":
                about = _check_wave(about, order, limits)
        elif name in (b"data", b"SSND"):
            break
    else:
        raise ClipError(ENDS_EARLY)
    if len(about) < 16:
        raise ClipError("is damaged: nothing says of what form its sound is")
    stated = size
    size = _find_size(data, at, long_size if size == _UNKNOWN else size, order)
    end = _find_end(data, at, size, order)
    if kind == b"COMM" and data.startswith(b"AIFF", 8):
        channels, frames, bits = struct.unpack_from(">HIH", about)
        _require(frames * channels * -(-bits // 8), max(size - 8, 0))
    if kind == b"fmt " and struct.unpack_from(order + "H", about)[0] in _MPEG:
        return FilePart(data[at : at + size], FileFormat.MP3), end
    about += b"\0" * (len(about) % 2)
    total = len(about) + size + 20
    form = FileFormat.AIFF if kind == b"COMM" else FileFormat.WAV
    if total + 8 == len(data) and data[20 : 20 + len(about)] == about and size == stated:
        return FilePart(data, form), end
    if total > _UNKNOWN:
        raise ClipError(f"holds {size / 2**30:.1f} GiB of sound, more than can be decoded")
    whole = (
        (data[:4] if order == ">" else b"RIFF") + struct.pack(order + "I", total) + data[8:12],
        kind + struct.pack(order + "I", len(about)) + about,
        name + struct.pack(order + "I", size),
        memoryview(data)[at : at + size],
    )
    return FilePart(b"".join(whole), form), end


def _walk(data: bytes, order: str) -> Iterator[tuple[bytes, int, int]]:
    """Name, first byte and promised size of each chunk, also behind one whose size is wrong."""
    at = 12
    while at + 8 <= len(data):
        name, size = struct.unpack_from(order + "4sI", data, at)
        yield name, at + 8, size
        begin, at = at + 8, _skip(data, at + 8, size)
        if not _is_name(data, at):
            for match in _SOUGHT.finditer(data, begin - 7, max(0, len(data) - 4)):
                place = match.start()
                size = struct.unpack_from(order + "I", data, place + 4)[0]
                if place + 8 + size <= len(data) or _is_streamed(size):
                    at = place
                    break


def _check_wave(about: bytes, order: str, limits: Limits) -> bytes:
    """A `fmt ` chunk within the limits; 24 bits in four bytes are four bytes to any decoder."""
    if len(about) < 16:
        raise ClipError(ENDS_EARLY)
    tag, channels, rate, _, block, bits = struct.unpack_from(order + "HHIIHH", about)
    limits.check(channels, rate)
    width = block // channels
    if tag == _PCM and width * channels == block and (bits + 7) // 8 < width <= 4:
        about = about[:14] + struct.pack(order + "H", 8 * width) + about[16:]
    return about


def _find_size(data: bytes, at: int, size: int, order: str) -> int:
    """Bytes of sound from `at` on, where the header may say more or nothing.

    A program that wrote to a pipe could not go back. One that counts its header in says too many,
    but its outer size tells that the file is whole.
    """
    there = len(data) - at
    empty = 8 if order == ">" and data.startswith(b"SSND", at - 8) else 0
    if size <= empty < there and not _is_chunked(data, at + empty, order):
        return there
    if size <= there:
        return size
    outer = struct.unpack_from(order + "I", data, 4)[0] + 8
    if not (_is_streamed(size) or (outer == len(data) and size - there <= at)):
        _require(size, there)
    return there


def _is_streamed(size: int) -> bool:
    """Whether a size is one that programs write before they know better."""
    return 0x7FFFF000 <= size <= 0x80000000 or 0xFFFFF000 <= size <= _UNKNOWN or size >= 1 << 62


def _is_chunked(data: bytes, at: int, order: str) -> bool:
    """Whether the rest of the file is whole chunks, so that the chunk before it was empty."""
    while at + 8 <= len(data) and _is_name(data, at):
        at = _skip(data, at + 8, struct.unpack_from(order + "I", data, at + 4)[0])
    return len(data) - 8 < at <= len(data) + 1


def _find_end(data: bytes, at: int, size: int, order: str) -> int:
    """Where the file ends, of which another may follow."""
    sound, at = data[at - 8 : at - 4], _skip(data, at, size)
    while at + 8 <= len(data) and _is_name(data, at) and not data.startswith(_OUTER, at):
        if data.startswith(sound, at):
            raise ClipError(f"holds its sound in several {sound.decode()} chunks")
        at = _skip(data, at + 8, struct.unpack_from(order + "I", data, at + 4)[0])
    rest = max(0, len(data) - at)
    is_known = data.startswith((*TAGS, *_OUTER), at) or data.count(0, at) == rest
    if not is_known and 10 * rest > size:
        raise ClipError(f"is damaged: {rest:,} bytes behind its sound are no chunk")
    return at


def _skip(data: bytes, at: int, size: int) -> int:
    """Where the chunk behind one of `size` bytes begins; some programs do not pad an odd one."""
    at += size
    return at + (size % 2 and not _is_name(data, at))


def _is_name(data: bytes, at: int) -> bool:
    name = data[at : at + 4]
    return len(name) == 4 and name[:1] != b" " and name.replace(b"_", b"x").rstrip().isalnum()


def find_end(data: bytes, form: FileFormat | None) -> int:
    """Where a file says that it ends; another may follow."""
    try:
        end = _find_stated_end(data, form)
    except struct.error as error:
        raise ClipError(ENDS_EARLY) from error
    _require(end, len(data))
    return end


def state_caf_size(data: bytes) -> bytes:
    """A Core Audio file that says how much sound it has, which one written to a pipe does not."""
    at = data.find(b"data" + b"\xff" * 8) + 4
    if at < 4:
        return data
    return data[:at] + (len(data) - at - 8).to_bytes(8, "big") + data[at + 8 :]


def _find_stated_end(data: bytes, form: FileFormat | None) -> int:
    end = len(data)
    match form:
        case FileFormat.AU:
            offset, size = struct.unpack_from(">II", data, 4)
            return end if size == _UNKNOWN else offset + size
        case FileFormat.W64:
            size = struct.unpack_from("<Q", data, 16)[0]
            return end if _is_streamed(size) else size
        case FileFormat.CAF:
            return _find_caf_end(data)
        case FileFormat.MP4:
            return _find_mp4_end(data)
        case FileFormat.MATROSKA:
            at, size, _ = _element(data, 4)
            at, size, is_unknown = _element(data, at + size + 4)
            return end if is_unknown else at + size
        case FileFormat.ASF:
            at = data.find(_ASF_PROPERTIES)
            if at < 0:
                raise ClipError(ENDS_EARLY)
            size, flags = struct.unpack_from("<Q40xI", data, at + 40)
            return end if flags & 1 else int(size)
        case FileFormat.AAC:
            return _find_adts_end(data)
        case FileFormat.WAVPACK:
            return _find_wavpack_end(data)
        case FileFormat.AMR | FileFormat.APE:
            again = data.find(data[:6], 6)
            return end if again < 0 else again
    return end


def _find_caf_end(data: bytes) -> int:
    at, has_sound = 8, False
    while at + 12 <= len(data) and _is_name(data, at) and not data.startswith(b"caff", at):
        has_sound |= data.startswith(b"data", at)
        size = struct.unpack_from(">q", data, at + 4)[0]
        at = len(data) if size < 0 else at + 12 + size
    if not has_sound:
        raise ClipError(ENDS_EARLY)
    return at


def _find_mp4_end(data: bytes) -> int:
    at, names = 0, set[bytes]()
    while at + 8 <= len(data):
        size, name = struct.unpack_from(">I4s", data, at)
        if name == b"ftyp" and b"moov" in names:
            break
        if size == 1:
            size = struct.unpack_from(">Q", data, at + 8)[0]
        if size == 0:
            size = len(data) - at
        if size < 8:
            raise ClipError(f"is damaged: box {name!a} at byte {at:,} has no size")
        names.add(name)
        at += size
    if b"moov" not in names and at <= len(data):
        raise ClipError("is truncated or damaged: it lacks its index (the moov box)")
    return at


def _element(data: bytes, at: int) -> tuple[int, int, bool]:
    """Where an EBML element's content begins, its size, and whether that means "unknown"."""
    if at >= len(data) or not data[at]:
        raise ClipError(ENDS_EARLY)
    width = 9 - data[at].bit_length()
    mask = (1 << 7 * width) - 1
    size = int.from_bytes(data[at : at + width], "big") & mask
    return at + width, size, size == mask


def _find_adts_end(data: bytes) -> int:
    at = 0
    while at + 7 <= len(data) and data[at] == 0xFF and data[at + 1] & 0xF6 == 0xF0:
        at += max(7, (data[at + 3] & 3) << 11 | data[at + 4] << 3 | data[at + 5] >> 5)
    return at


def _find_wavpack_end(data: bytes) -> int:
    at, last = 0, 0
    while data.startswith(b"wvpk", at):
        size, index = struct.unpack_from("<I8xI", data, at + 4)
        if last and not index:
            break
        at, last = at + size + 8, index
    return at


def _require(promised: int, there: int) -> None:
    if promised > there:
        if there <= 0:
            raise ClipError(ENDS_EARLY)
        raise ClipError(
            f"is truncated: its header promises {promised:,} bytes, but {there:,} are there"
        )


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
