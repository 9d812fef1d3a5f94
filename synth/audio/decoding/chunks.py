"""Files made of chunks that say their size: is what the header promises there?"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Final

from synth.audio.decoding.limits import Limits
from synth.base.errors import ClipError

_UNKNOWN: Final = 0xFFFFFFFF
_STREAMED: Final = range(0x7FFFF000, 0x80000001)
"""Sizes that programs write to a pipe, where they cannot go back and fix them."""

_ASF_PROPERTIES: Final = bytes.fromhex("a1dcab8c47a9cf118ee400c00c205365")


def repair_wav(data: bytes, limits: Limits) -> bytes:
    """The file, its size put in where a program that wrote to a pipe left 0.

    Raises:
        ClipError: If sound is missing, or the header is outside the limits.
    """
    order = ">" if data.startswith(b"RIFX") else "<"
    long_size = 0
    for name, at, size in _chunks(data, 12, order):
        there = len(data) - at
        if name == b"ds64" and there >= 16:
            long_size = struct.unpack_from("<Q", data, at + 8)[0]
        elif name == b"fmt " and there >= 8:
            channels, rate = struct.unpack_from(order + "HI", data, at + 2)
            limits.check(channels, rate)
        elif name == b"data":
            if size == 0 and there and not _is_chunked(data, at, order):
                return data[: at - 4] + struct.pack(order + "I", there) + data[at:]
            if size == _UNKNOWN:
                size = long_size if long_size != (1 << 64) - 1 else 0
            if size not in _STREAMED:
                _require(size, there)
            return data
    raise ClipError("is truncated or damaged: it ends before its sound begins")


def check_aiff(data: bytes, limits: Limits) -> None:
    """Check sizes and form of an AIFF or AIFC file.

    Raises:
        ClipError: If sound is missing, or the header is outside the limits.
    """
    promised = 0
    for name, at, size in _chunks(data, 12, ">"):
        there = len(data) - at
        if name == b"COMM" and there >= 18:
            channels, frames, bits = struct.unpack_from(">HIH", data, at)
            limits.check(channels, _read_extended(data[at + 8 : at + 18]))
            if data[8:12] == b"AIFF":
                promised = frames * channels * (-(-bits // 8))
        elif name == b"SSND":
            _require(size, there)
            _require(promised, max(size - 8, 0))
            return
    raise ClipError("is truncated or damaged: it ends before its sound begins")


def check_au(data: bytes) -> None:
    """Check the size of an AU file.

    Raises:
        ClipError: If sound is missing.
    """
    if len(data) < 24:
        raise ClipError("is truncated or damaged: it ends before its sound begins")
    offset, size = struct.unpack_from(">II", data, 4)
    if size != _UNKNOWN:
        _require(size, len(data) - offset)


def check_caf(data: bytes) -> None:
    """Check the size of a Core Audio file.

    Raises:
        ClipError: If sound is missing.
    """
    at = 8
    while at + 12 <= len(data):
        name, size = data[at : at + 4], struct.unpack_from(">q", data, at + 4)[0]
        at += 12
        if name == b"data":
            _require(size, len(data) - at)
            return
        if size < 0:
            break
        at += size
    raise ClipError("is truncated or damaged: it ends before its sound begins")


def check_mp4(data: bytes) -> None:
    """Check that every box of an MPEG-4 file is whole, and that it has its index.

    Raises:
        ClipError: If it does not.
    """
    at = 0
    names = set()
    while at + 8 <= len(data):
        size, name = struct.unpack_from(">I4s", data, at)
        if size == 1 and at + 16 <= len(data):
            size = struct.unpack_from(">Q", data, at + 8)[0]
        if size == 0:
            size = len(data) - at
        if size < 8:
            raise ClipError(f"is damaged: box {name!a} at byte {at:,} has no size")
        _require(size, len(data) - at)
        names.add(name)
        at += size
    if b"moov" not in names:
        raise ClipError("is truncated or damaged: it lacks its index (the moov box)")


def check_matroska(data: bytes) -> None:
    """Check the size of a Matroska or WebM file.

    Raises:
        ClipError: If some of it is missing.
    """
    at, size, _ = _element(data, 4)
    at, size, unknown = _element(data, at + size + 4)
    if not unknown:
        _require(size, len(data) - at)


def check_asf(data: bytes) -> None:
    """Check the size of a Windows Media file.

    Raises:
        ClipError: If some of it is missing.
    """
    at = data.find(_ASF_PROPERTIES)
    if at < 0 or at + 92 > len(data):
        raise ClipError("is truncated or damaged: it ends before its sound begins")
    is_broadcast = data[at + 88] & 1
    if not is_broadcast:
        _require(struct.unpack_from("<Q", data, at + 40)[0], len(data))


def _element(data: bytes, at: int) -> tuple[int, int, bool]:
    """Where an EBML element's content begins, its size, and whether that means "unknown"."""
    if at >= len(data) or not data[at]:
        raise ClipError("is truncated or damaged: it ends before its sound begins")
    width = 9 - data[at].bit_length()
    mask = (1 << 7 * width) - 1
    size = int.from_bytes(data[at : at + width], "big") & mask
    return at + width, size, size == mask


def _chunks(data: bytes, at: int, order: str) -> Iterator[tuple[bytes, int, int]]:
    """Name, first byte and promised size of each chunk."""
    while at + 8 <= len(data):
        name, size = struct.unpack_from(order + "4sI", data, at)
        yield name, at + 8, size
        at += 8 + size + size % 2


def _is_chunked(data: bytes, at: int, order: str) -> bool:
    """Whether the rest of the file is whole chunks, so that the chunk before it was empty."""
    end = at
    for name, begin, size in _chunks(data, at, order):
        if not name.isalnum() and not name.strip().isalnum():
            return False
        end = begin + size
    return at < end <= len(data) <= end + 8


def _read_extended(number: bytes) -> int:
    """An 80-bit IEEE 754 number of at least 0, rounded."""
    exponent, mantissa = struct.unpack(">HQ", number)
    shift = (exponent & 0x7FFF) - 16383 - 63
    if exponent & 0x8000 or shift > 0:
        return 0
    return int(mantissa >> -shift) if shift > -64 else 0


def _require(promised: int, there: int) -> None:
    if promised > there:
        raise ClipError(
            f"is truncated: its header promises {promised:,} bytes, but {max(there, 0):,} are there"
        )
