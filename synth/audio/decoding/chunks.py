"""Files made of chunks that say their size: is what they promise there, and where do they end?"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterator
from typing import Final

from synth.audio.decoding.formats import TAGS, FileFormat, FilePart
from synth.audio.decoding.limits import Limits
from synth.base.errors import ClipError

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
        raise ClipError(
            f"is truncated: its header promises {promised:,} bytes, but {max(there, 0):,} are there"
        )
