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
from typing import Any, Final

import soundfile

from synth.atomic import replacing
from synth.dsp import Pcm
from synth.errors import CorpusError
from synth.licence import parse_licence
from synth.licence_mix import effective
from synth.render import Rendering
from synth.scene import from_json
from synth.storage import fetched
from synth.timeline import timeline
from synth.units import to_seconds

_BLOCK: Final = 512


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
    LAION-CLAP's and open_clip's loaders read; false captions are in `negatives` alone.

    Args:
        row: A row of `schema.PLAN`.
        clips: Licence and attribution of each clip, by clip id.
    """
    rate = row["sample_rate"]
    placements = timeline(from_json(json.loads(row["scene"]))).placements
    return {
        "id": row["id"],
        "text": [row["caption"], *(caption["text"] for caption in row["positives"])],
        "tag": list(dict.fromkeys(row["labels"])),
        "negatives": [caption["text"] for caption in row["negatives"]],
        "negative_kinds": [caption["kind"] for caption in row["negatives"]],
        "relation": row["relation"],
        "generator": row["generator"],
        "group": row["group"],
        "split": row["split"],
        "recipe": row["recipe"],
        "notation": row["notation"],
        "licence": effective(
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


class ShardWriter:
    """Writes the samples of one shard, members adjacent, headers without time or owner."""

    def __init__(self, tar: tarfile.TarFile, audio_format: AudioFormat) -> None:
        self._tar = tar
        self._format = audio_format

    def add(
        self, row: Mapping[str, Any], rendering: Rendering, clips: Mapping[str, Mapping[str, str]]
    ) -> Measurement:
        """Append one sample and say where its audio lies."""
        audio = encode_audio(rendering.pcm, row["sample_rate"], self._format)
        member = f"{row['id']}.{self._format.value}"
        offset = self._append(member, audio)
        text = json.dumps(document(row, clips), ensure_ascii=False)
        self._append(f"{row['id']}.json", text.encode())
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


@contextmanager
def writing(path: Path, audio_format: AudioFormat) -> Iterator[ShardWriter]:
    """Write a shard atomically: it appears under `path` when the block ends without error."""
    with (
        replacing(path) as partial,
        tarfile.open(partial, "w", format=tarfile.USTAR_FORMAT) as tar,
    ):
        yield ShardWriter(tar, audio_format)


def read_member(shard: Path, offset: int, size: int) -> bytes:
    """The bytes of one member of a shard.

    Raises:
        CorpusError: If the shard is missing or shorter than its manifest says.
    """
    try:
        with fetched(shard).open("rb") as file:
            file.seek(offset)
            data = file.read(size)
    except FileNotFoundError as error:
        raise CorpusError(f"{shard}: no such shard", mend="run `segue build` again") from error
    if len(data) < size:
        raise CorpusError(f"{shard}: ends before byte {offset + size}", mend="build it again")
    return data
