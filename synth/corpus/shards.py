"""WebDataset shards: tar files that hold `KEY.flac` (or `.wav`) and `KEY.json` for each sample.

Where stems are kept, `KEY.stems.flac` comes before them: one stem after the other.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import soundfile

from synth.audio.decoding import Limits
from synth.audio.decoding.formats import FilePart
from synth.audio.decoding.read import describe_error, read_part
from synth.audio.dsp import Pcm
from synth.audio.render import Rendering, quantise_stems
from synth.base.atomic import replacing
from synth.base.errors import ClipError, CorpusError, PlanError
from synth.base.own_label import name_of
from synth.base.units import Frames, to_seconds
from synth.corpus.licence import effective_licence, parse_licence
from synth.corpus.schema import read_dense, read_timeline
from synth.labels.lexicon import Phrase
from synth.scene.timeline import Timeline
from synth.storage import display_path, read_at
from synth.truth.frames import Audibility, find_runs, frame_length, label_frames

_REBUILD: Final = "build the corpus, or get it, again"
_BLOCK: Final = tarfile.BLOCKSIZE
_TAR_LIMIT: Final = 8**11
_WAV_LIMIT: Final = 2**32 - 1024
"""Bytes of PCM, which leaves room for headers."""
_COPIED: Final = 1 << 20
_SIZE_FIELD: Final = slice(124, 136)
_SUM_FIELD: Final = slice(148, 156)


class NoSoundError(CorpusError):
    """A sample whose audio cannot be decoded."""


class AudioFormat(StrEnum):
    """How audio is stored; both are lossless 16-bit."""

    FLAC = "flac"
    WAV = "wav"


@dataclass(frozen=True, slots=True)
class Measurement:
    """What rendering added to a planned sample; the fields of `schema.MEASUREMENTS`."""

    member: str
    offset: int
    size: int
    sha256: str
    gain_db: float
    peak_db: float


def encode_audio(pcm: Pcm, rate: int, audio_format: AudioFormat) -> bytes:
    """A whole audio file as bytes; the same samples always give the same bytes."""
    buffer = io.BytesIO()
    soundfile.write(buffer, pcm, rate, format=audio_format.value.upper(), subtype="PCM_16")
    return buffer.getvalue()


def refuse_large(audio_format: AudioFormat, frames: Frames, sounds: int) -> None:
    """Check that so many stems fit into one file; the sizes in a WAV file have 32 bits."""
    size = sounds * frames * np.dtype(np.int16).itemsize
    if audio_format is AudioFormat.WAV and size > _WAV_LIMIT:
        raise PlanError(
            f"the {sounds} stems of a sample take {size / 2**30:.1f} GiB, a WAV file has 4 at most",
            fix="set audio.format: flac, or plan shorter samples or fewer sounds",
        )


def name_stems(member: str) -> str:
    """The member with the stems of the sample whose audio is another."""
    key, _, suffix = member.rpartition(".")
    return f"{key}.stems.{suffix}"


def decode_audio(data: bytes) -> Pcm:
    """The samples of an encoded sample, shape (frames,)."""
    try:
        pcm, _ = read_part(FilePart(data, None), Limits(max_s=math.inf, max_channels=1), "int16")
    except ClipError as error:
        raise NoSoundError(f"a sample's audio {error}", fix=_REBUILD) from error
    except soundfile.LibsndfileError as error:
        fault = f"a sample has no audio that can be decoded: {describe_error(error)}"
        raise NoSoundError(fault, fix=_REBUILD) from error
    return pcm[:, 0]


def document(row: Mapping[str, Any], clips: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """The JSON that travels with a sample; every sample has the same fields.

    `text` lists true captions only, the main one first; `tag` lists labels. That is what
    LAION-CLAP's and open_clip's loaders read; false captions are in `negatives` alone. Each of
    these is compared with the true one that `negative_against` tells, or with any where that is "".
    """
    rate = row["sample_rate"]
    timeline = read_timeline(row)
    placements = timeline.placements
    return {
        "id": row["id"],
        "text": [row["caption"], *(caption["text"] for caption in row["positives"])],
        "tag": list(dict.fromkeys(map(name_of, row["labels"]))),
        "negatives": [caption["text"] for caption in row["negatives"]],
        "negative_kinds": [caption["kind"] for caption in row["negatives"]],
        "negative_against": [caption.get("against", "") for caption in row["negatives"]],
        "relation": row["relation"],
        "generator": row["generator"],
        "group": row["group"],
        "split": row["split"],
        "recipe": row["recipe"],
        "notation": row["notation"],
        "licence": effective_licence(
            parse_licence(clips[place.excerpt.clip]["licence"]) for place in placements
        ).id,
        "events": [
            {
                "label": name_of(place.label),
                "clip": place.excerpt.clip,
                "onset_s": to_seconds(place.onset, rate),
                "offset_s": to_seconds(place.offset, rate),
                "heard_s": [
                    [to_seconds(moment, rate) for moment in stretch]
                    for stretch in place.heard.labelled
                ],
                "gain_db": place.excerpt.gain_db,
                "licence": clips[place.excerpt.clip]["licence"],
                "attribution": clips[place.excerpt.clip]["attribution"],
            }
            for place in placements
        ],
        "dense": [
            {
                "resolution": caption.resolution.value,
                "onset_s": to_seconds(caption.onset, rate),
                "offset_s": to_seconds(caption.offset, rate),
                "text": caption.text,
            }
            for caption in read_dense(row)
        ],
        "heard_40ms": _tell_frames(row, timeline),
        "frames": row["frames"],
        "sample_rate": rate,
    }


def _tell_frames(row: Mapping[str, Any], timeline: Timeline) -> list[dict[str, Any]]:
    """In which frames each sound is heard; none where labels do not tell all that is heard."""
    if not row.get("dense"):
        return []
    sentences = []
    for label in dict.fromkeys(place.label for place in timeline.placements):
        states = label_frames(label, timeline, row["frames"], frame_length(row["sample_rate"]))
        sentences.append(
            {
                "label": name_of(label),
                "text": Phrase.of_label(label).clause,
                "clear": find_runs(states, Audibility.CLEAR),
                "faint": find_runs(states, Audibility.FAINT),
            }
        )
    return sentences


def serialise_document(row: Mapping[str, Any], clips: Mapping[str, Mapping[str, str]]) -> bytes:
    """`document` as it stands in a shard."""
    return json.dumps(document(row, clips), ensure_ascii=False).encode()


class ShardWriter:
    """Writes the samples of one shard, members adjacent, headers without time or owner.

    Args:
        scratch: Folder for the stems of a sample until they are in the shard.

    Attributes:
        sha256: Of the whole file, hex; "" until `finish`.
        stem_bytes: Of all stems so far.
    """

    def __init__(self, file: BinaryIO, audio_format: AudioFormat, scratch: Path) -> None:
        self._file = file
        self._scratch = scratch
        self._format = audio_format
        self._state = hashlib.sha256()
        self._end = 0
        self.sha256 = ""
        self.stem_bytes = 0

    def append(self, row: Mapping[str, Any], rendering: Rendering, text: bytes) -> Measurement:
        """Append one sample with its `serialise_document`, and say where its audio lies."""
        audio = encode_audio(rendering.pcm, row["sample_rate"], self._format)
        member = f"{row['id']}.{self._format.value}"
        if rendering.layers:
            self._append_stems(name_stems(member), rendering, row["sample_rate"])
        self._write(_header(member, len(audio)))
        offset = self._end
        self._write(audio)  # by itself, so that it is not copied
        about = _header(f"{row['id']}.json", len(text)), text, _padding(len(text), _BLOCK)
        self._write(b"".join((_padding(len(audio), _BLOCK), *about)))
        return Measurement(
            member=member,
            offset=offset,
            size=len(audio),
            sha256=hashlib.sha256(audio).hexdigest(),
            gain_db=rendering.gain_db,
            peak_db=rendering.peak_db,
        )

    def _append_stems(self, name: str, rendering: Rendering, rate: int) -> None:
        """One stem after the other, through a file without a name: their size comes first."""
        refuse_large(self._format, len(rendering.pcm), len(rendering.layers))
        with tempfile.TemporaryFile(dir=self._scratch) as stems:
            form = {"format": self._format.value.upper(), "subtype": "PCM_16"}
            with soundfile.SoundFile(stems, "w", rate, channels=1, **form) as file:
                for stem in quantise_stems(rendering.layers, rendering.gain_db, rendering.pcm):
                    file.write(stem)
            size = stems.seek(0, os.SEEK_END)
            self._write(_header(name, size))
            stems.seek(0)
            while block := stems.read(_COPIED):
                self._write(block)
        self._write(_padding(size, _BLOCK))
        self.stem_bytes += size

    def finish(self) -> None:
        """Mark the end of the shard, as `tarfile` does."""
        end = bytes(2 * _BLOCK)
        self._write(end + _padding(self._end + len(end), tarfile.RECORDSIZE))
        self.sha256 = self._state.hexdigest()

    def _write(self, data: bytes) -> None:
        self._state.update(data)
        self._file.write(data)
        self._end += len(data)


def find_span(offset: int, size: int, text: int) -> tuple[int, int]:
    """Where a sample begins and ends in its shard, headers included."""
    about = offset + size + -size % _BLOCK
    return offset - _BLOCK, about + _BLOCK + text + -text % _BLOCK


def _padding(size: int, whole: int) -> bytes:
    """What fills up so many bytes to a multiple of `whole`."""
    return bytes(-size % whole)


def _header(name: str, size: int) -> bytes:
    """The header that `tarfile` writes of a file, at a twentieth of its cost."""
    key = name.encode()
    if len(key) > tarfile.LENGTH_NAME or size >= _TAR_LIMIT:
        info = tarfile.TarInfo(name)
        info.size = size
        return info.tobuf(tarfile.USTAR_FORMAT)
    header = bytearray(_blank_header())
    header[: len(key)] = key
    header[_SIZE_FIELD] = b"%011o\0" % size
    header[_SUM_FIELD] = b" " * 8  # as which it counts
    header[_SUM_FIELD] = b"%06o\0 " % sum(header)
    return bytes(header)


@lru_cache(maxsize=1)
def _blank_header() -> bytes:
    return tarfile.TarInfo().tobuf(tarfile.USTAR_FORMAT)


@contextmanager
def writing(path: Path, audio_format: AudioFormat) -> Iterator[ShardWriter]:
    """Write a shard atomically: it appears under `path` when the block ends without error."""
    with replacing(path) as partial, partial.open("wb") as file:
        writer = ShardWriter(file, audio_format, path.parent)
        yield writer
        writer.finish()


def read_member(shard: Path, offset: int, size: int, receipt: Path | None = None) -> bytes:
    """The bytes of one member of a shard."""
    try:
        data = read_at(shard, offset, size, receipt)
    except FileNotFoundError as error:
        raise CorpusError(
            f"{display_path(shard)}: no such shard", fix="run `segue build` again"
        ) from error
    if len(data) < size:
        raise CorpusError(
            f"{display_path(shard)}: ends before byte {offset + size}", fix="build it again"
        )
    return data
