"""Shards for the loaders of LAION-CLAP and open_clip: 48 kHz mono FLAC, and JSON beside it.

LAION-CLAP resamples nothing: a file at another rate would be heard too fast or too slow. Of a JSON
it takes one of `text` at random, so that all of them must be true, and labels from `tag`; what
else there is goes to `original_data`, where its datasets keep it.
"""

from __future__ import annotations

import json
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, ClassVar, Final

import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq

from synth.audio.dsp import PCM_SCALE, from_pcm, peak, to_pcm
from synth.base.errors import CorpusError
from synth.base.units import Seconds, resampled_frames, to_decibels
from synth.corpus.corpus import SAMPLES_FILE
from synth.corpus.shards import AudioFormat, decode_audio, encode_audio
from synth.export.base import ExportFormat, Whole, add_member, json_line
from synth.export.folder import Writer
from synth.export.items import ExportItem, Shard
from synth.sources.catalogue import resample

RATE: Final = 48_000
CLIP_S: Final[Seconds] = 10.0
CLIP_FRAMES: Final = 480_000
SPLIT_NAMES: Final[Mapping[str, str]] = {"val": "valid"}
"""What the loaders call a split, where that is another name."""

_FULL_SCALE: Final = (PCM_SCALE - 1) / PCM_SCALE


@dataclass(frozen=True, slots=True)
class Laion(ExportFormat):
    """Shards at 48 kHz with `sizes.json`; what is FLAC at 48 kHz already is not encoded again.

    Args:
        allow_long: Write samples of more than 10 s too.
    """

    name: ClassVar[str] = "laion"
    version: ClassVar[int] = 3
    allow_long: bool = False

    def check(self, shards: Sequence[Shard]) -> None:
        """Samples must last 10 s at most.

        At a longer one LAION-CLAP's loader fails (its public source calls `np.random.integers`,
        which numpy does not have), and its release and open_clip's cut a stretch at random.
        """
        longer = 0 if self.allow_long else count_longer(shards, CLIP_S)
        if longer:
            total = sum(shard.samples for shard in shards)
            raise CorpusError(
                f"{longer:,} of {total:,} samples last longer than {CLIP_S:g} s: "
                "LAION-CLAP's loader fails on these, and open_clip's cuts them at random",
                fix=f"build with `length: exact {CLIP_S:g} s`, or use --allow-long",
            )

    def part(self, shard: Shard, out: Writer) -> None:
        """The shard, under its own name."""
        odd = 0
        with (
            out.open(f"{_folder(shard)}/{shard.name}") as file,
            tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT) as tar,
        ):
            for item in shard.items():
                audio, gain = _flac(item)
                rate, frames = item.row["sample_rate"], item.row["frames"]
                odd += resampled_frames(frames, rate, RATE) != CLIP_FRAMES
                add_member(tar, f"{item.id}.flac", audio)
                text = json.dumps(_document(item, gain), ensure_ascii=False, allow_nan=False)
                add_member(tar, f"{item.id}.json", text.encode())
        with out.piece("facts") as file:
            file.write(json_line({"samples": shard.samples, "not_10_s": odd}))

    def finish(self, whole: Whole, out: Writer) -> None:
        """The sizes of each split's shards."""
        odd = 0
        for split in whole.splits:
            sizes = {}
            shards = whole.of_split(split)
            for shard, facts in zip(shards, whole.values(split, "facts"), strict=True):
                sizes[shard.name] = facts["samples"]
                odd += facts["not_10_s"]
            text = json.dumps(sizes, indent=2) + "\n"
            out.write(f"{_folder(shards[0])}/sizes.json", text.encode())
        lengths = (
            f"{odd:,} samples do not last 10 s. The loaders fill up shorter ones. At longer ones "
            "LAION-CLAP's\nfails, and open_clip's cuts them at random, which can make a caption "
            "false. Build with\n`length: exact 10 s` and `sample_rate: 48000` to train with them."
            if odd
            else "Every sample has 480,000 frames, which the loaders neither fill up nor cut."
        )
        whole.readme(out, self.name, {"LENGTHS": lengths, "CORPUS": whole.corpus.name})


def count_longer(shards: Sequence[Shard], seconds: Seconds) -> int:
    """How many samples of these shards last longer."""
    if not shards:
        return 0
    longer = 0
    with pq.ParquetFile(shards[0].corpus.folder / SAMPLES_FILE) as file:
        for group, members in groupby(shards, lambda shard: shard.row_group):
            table = file.read_row_group(group, columns=["frames", "sample_rate"])
            exceeds = pc.greater(table["frames"], pc.multiply(table["sample_rate"], seconds))
            parts = (exceeds.slice(shard.row, shard.samples) for shard in members)
            longer += sum(pc.sum(part).as_py() for part in parts)
    return longer


def _folder(shard: Shard) -> str:
    return f"{shard.corpus.name}/{SPLIT_NAMES.get(shard.split, shard.split)}"


def _flac(item: ExportItem) -> tuple[bytes, float]:
    """The audio as FLAC at 48 kHz, and the gain in dB where it had to be turned down for that."""
    rate = item.row["sample_rate"]
    if rate == RATE and item.suffix == ".flac":
        return item.audio, 0.0
    pcm = decode_audio(item.audio)
    gain = 1.0
    if rate != RATE:
        audio = resample(from_pcm(pcm), rate, RATE)
        loudest = peak(audio)
        if loudest > _FULL_SCALE:  # between the frames of before it was louder than in them
            gain = _FULL_SCALE / loudest
            audio = audio * np.float32(gain)
        pcm = to_pcm(audio)
    return encode_audio(pcm, RATE, AudioFormat.FLAC), to_decibels(gain)


def _document(item: ExportItem, gain_db: float) -> dict[str, Any]:
    document = dict(item.document)
    frames = resampled_frames(item.row["frames"], item.row["sample_rate"], RATE)
    return {
        "text": document.pop("text"),
        "tag": document.pop("tag"),
        "original_data": document
        | {"frames": frames, "sample_rate": RATE, "resampling_gain_db": gain_db},
    }
