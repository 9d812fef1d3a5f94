"""WebDataset shards: tar files that hold `KEY.flac` (or `.wav`) and `KEY.json` for each sample."""

from __future__ import annotations

import hashlib
import io
import json
import tarfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import soundfile

from synth.audio.dsp import Pcm
from synth.audio.render import Rendering
from synth.base.atomic import replacing
from synth.base.errors import CorpusError
from synth.base.units import to_seconds
from synth.corpus.licence import parse_licence
from synth.corpus.licence_mix import effective_licence
from synth.scene.scene import from_text
from synth.scene.timeline import timeline
from synth.storage import display_path, read_at

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer as Buffer

_BLOCK: Final = 512
_IN_ONE_PIECE: Final = 1 << 30


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


def decode_audio(data: bytes) -> Pcm:
    """The samples of an encoded sample, shape (frames,)."""
    pcm, _ = soundfile.read(io.BytesIO(data), dtype="int16")
    return pcm  # type: ignore[no-any-return]


def document(row: Mapping[str, Any], clips: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """The JSON that travels with a sample; every sample has the same fields.

    `text` lists true captions only, the main one first; `tag` lists labels. That is what
    LAION-CLAP's and open_clip's loaders read; false captions are in `negatives` alone. Each of
    these is compared with the true one that `negative_against` tells, or with any where that is "".

    Args:
        row: A row of `schema.PLAN`.
        clips: Licence and attribution of each clip, by clip id.
    """
    rate = row["sample_rate"]
    placements = timeline(from_text(row["scene"])).placements
    return {
        "id": row["id"],
        "text": [row["caption"], *(caption["text"] for caption in row["positives"])],
        "tag": list(dict.fromkeys(row["labels"])),
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
                "label": place.label,
                "clip": place.excerpt.clip,
                "onset_s": to_seconds(place.onset, rate),
                "offset_s": to_seconds(place.offset, rate),
                "gain_db": place.excerpt.gain_db,
                "licence": clips[place.excerpt.clip]["licence"],
                "attribution": clips[place.excerpt.clip]["attribution"],
            }
            for place in placements
        ],
        "frames": row["frames"],
        "sample_rate": rate,
    }


def serialise_document(row: Mapping[str, Any], clips: Mapping[str, Mapping[str, str]]) -> bytes:
    """`document` as it stands in a shard."""
    return json.dumps(document(row, clips), ensure_ascii=False).encode()


class ShardWriter:
    """Writes the samples of one shard, members adjacent, headers without time or owner.

    Args:
        tar: Where they go.
        audio_format: How audio is stored.

    Attributes:
        sha256: Of the whole file, hex; "" until `writing` has ended it.
    """

    def __init__(self, tar: tarfile.TarFile, audio_format: AudioFormat) -> None:
        self._tar = tar
        self._format = audio_format
        self.sha256 = ""

    def add(
        self, row: Mapping[str, Any], rendering: Rendering, clips: Mapping[str, Mapping[str, str]]
    ) -> Measurement:
        """Append one sample and say where its audio lies."""
        return self.append(row, rendering, serialise_document(row, clips))

    def append(self, row: Mapping[str, Any], rendering: Rendering, text: bytes) -> Measurement:
        """Append one sample whose JSON is written already, and say where its audio lies."""
        audio = encode_audio(rendering.pcm, row["sample_rate"], self._format)
        member = f"{row['id']}.{self._format.value}"
        offset = self._append(member, audio)
        self._append(f"{row['id']}.json", text)
        return Measurement(
            member=member,
            offset=offset,
            size=len(audio),
            sha256=hashlib.sha256(audio).hexdigest(),
            gain_db=rendering.gain_db,
            peak_db=rendering.peak_db,
        )

    def _append(self, name: str, data: bytes) -> int:
        info = tarfile.TarInfo(name)
        info.size = len(data)
        offset = self._tar.offset + _BLOCK
        self._tar.addfile(info, io.BytesIO(data))
        return offset


class HashedFile(io.BufferedWriter):
    """A file to be written from its beginning to its end, which knows the SHA-256 of all of it."""

    def __init__(self, path: Path) -> None:
        super().__init__(io.FileIO(path, "wb"))
        self._state = hashlib.sha256()

    def write(self, data: Buffer, /) -> int:
        """Append `data`."""
        self._state.update(data)
        return super().write(data)

    def sha256(self) -> str:
        """Hex SHA-256 of all bytes so far."""
        return self._state.hexdigest()


@contextmanager
def writing(path: Path, audio_format: AudioFormat) -> Iterator[ShardWriter]:
    """Write a shard atomically: it appears under `path` when the block ends without error."""
    with replacing(path) as partial, HashedFile(partial) as file:
        # Members are written in one piece each: in 16 KiB, as by default, it takes thrice as long.
        with tarfile.TarFile(
            fileobj=file, mode="w", format=tarfile.USTAR_FORMAT, copybufsize=_IN_ONE_PIECE
        ) as tar:
            writer = ShardWriter(tar, audio_format)
            yield writer
        writer.sha256 = file.sha256()


def read_member(shard: Path, offset: int, size: int, receipt: Path | None = None) -> bytes:
    """The bytes of one member of a shard.

    Args:
        shard: The shard.
        offset: Where the member begins, in bytes.
        size: Of the member in bytes.
        receipt: The shard's; what comes of a store must be what it certifies.

    Raises:
        CorpusError: If the shard is missing or shorter than its manifest says.
        StorageError: If it cannot be read from its store, or differs from its receipt.
    """
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
