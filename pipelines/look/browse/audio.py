"""The audio of samples, out of the shards and checked, and the parts of it that HTTP asks for."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any, Final

from synth.base.errors import CorpusError
from synth.corpus.corpus import Corpus
from synth.corpus.facts import GET_AGAIN
from synth.corpus.row_rules import MAX_MEMBER_BYTES
from synth.corpus.shards import AudioFormat, read_member
from synth.storage import display_path

MEDIA_TYPES: Final = {AudioFormat.FLAC: "audio/flac", AudioFormat.WAV: "audio/wav"}
_SUFFIXES: Final = tuple(f".{each.value}" for each in AudioFormat)
_KEPT: Final = 12
_RANGE: Final = re.compile(r"bytes=(\d*)-(\d*)", re.ASCII)
_MOST_DIGITS: Final = 18
"""No file is longer; Python refuses to read numbers of thousands of digits."""


class ImpossibleAudioError(CorpusError):
    """A sample whose row says what no shard can hold."""


class SampleAudio:
    """The audio of a corpus's samples; the last few are kept, for players ask for parts."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._kept = lru_cache(_KEPT)(self._read)

    def read(self, row: Mapping[str, Any]) -> bytes:
        """The audio file of a row of `schema.SAMPLES`, as the shard holds it."""
        self._check_place(row)
        keys = ("split", "shard", "member", "offset", "size", "sha256")
        return self._kept(*(row[key] for key in keys))

    def _check_place(self, row: Mapping[str, Any]) -> None:
        """Refuse what cannot be sent: the manifest may have changed since it was checked."""
        name, size = row["member"], row["size"]
        if PurePosixPath(name).suffix not in _SUFFIXES:
            raise ImpossibleAudioError(
                f"{name}: expected a name that ends in {' or '.join(_SUFFIXES)}", fix=GET_AGAIN
            )
        path = self._corpus.shard(row["split"], row["shard"])
        most = path.stat().st_size if path.is_file() else MAX_MEMBER_BYTES
        if row["offset"] < 0 or not 0 <= size <= most - (row["offset"] if path.is_file() else 0):
            raise ImpossibleAudioError(
                f"{name}: {size} bytes from byte {row['offset']}: expected a place within the "
                f"{most} bytes of {display_path(path)}",
                fix=GET_AGAIN,
            )

    def _read(
        self, split: str, shard: str, member: str, offset: int, size: int, sha256: str
    ) -> bytes:
        path = self._corpus.shard(split, shard)
        data = read_member(path, offset, size, self._corpus.receipt(shard))
        if hashlib.sha256(data).hexdigest() != sha256:
            raise CorpusError(
                f"{display_path(path)}: damaged: {member} at byte {offset} "
                "is not what was rendered",
                fix="delete the shard and build again",
            )
        return data


@dataclass(frozen=True, slots=True)
class ByteRange:
    """What is sent of a file, as RFC 9110 has it.

    Args:
        status: 200 for all, 206 for a part, 416 where the range lies outside.
        start: First byte sent.
        end: One past the last byte sent.
        size: Of the whole file in bytes.
    """

    status: int
    start: int
    end: int
    size: int

    @property
    def headers(self) -> dict[str, str]:
        """What tells the part."""
        told = {200: None, 206: f"bytes {self.start}-{self.end - 1}/{self.size}"}
        content_range = told.get(self.status, f"bytes */{self.size}")
        return {"Accept-Ranges": "bytes"} | (
            {"Content-Range": content_range} if content_range else {}
        )


def parse_range(size: int, asked: str | None) -> ByteRange:
    """The part that a `Range` header asks for; several ranges, or other units, give the whole."""
    found = _RANGE.fullmatch(asked.strip()) if asked else None
    if found is None or found.groups() == ("", ""):
        return ByteRange(200, 0, size, size)
    first, last = found.groups()
    if len(first) > _MOST_DIGITS:
        return ByteRange(416, 0, 0, size)
    last = last if len(last) <= _MOST_DIGITS else "9" * _MOST_DIGITS
    if not first:
        start, end = max(0, size - int(last)), size
    else:
        start, end = int(first), min(size, int(last) + 1 if last else size)
        if last and int(last) < start:
            return ByteRange(200, 0, size, size)
    return ByteRange(206, start, end, size) if start < end else ByteRange(416, 0, 0, size)


def guess_media_type(member: str) -> str:
    """Of a member of a shard, by its name's ending."""
    return MEDIA_TYPES[AudioFormat(member.rsplit(".", 1)[-1])]
