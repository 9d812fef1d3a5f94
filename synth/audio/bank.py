"""The bank: every clip decoded once, kept as 16-bit PCM to be mapped into memory.

A bank is a folder of `part-NNNNN.pcm` files (little-endian int16, mono, one rate) and an index that
says where each clip lies. Clips are stored trimmed to their active span and scaled to full scale,
so that quiet recordings keep their resolution; the index holds the gain that undoes it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from synth.audio.dsp import Audio, Pcm, peak, to_pcm
from synth.base.errors import CorpusError
from synth.base.units import Frames
from synth.storage import fetch, open_mapped

INDEX_SCHEMA = pa.schema(
    [
        pa.field("clip", pa.string(), nullable=False),
        pa.field("part", pa.string(), nullable=False),
        pa.field("start", pa.int64(), nullable=False),
        pa.field("frames", pa.int64(), nullable=False),
        pa.field("scale", pa.float32(), nullable=False),
    ]
)


@dataclass(frozen=True, slots=True)
class BankEntry:
    """Where a clip lies: `frames` samples from `start` of `part`; `scale` restores its level."""

    part: str
    start: Frames
    frames: Frames
    scale: float


def encode(audio: Audio) -> tuple[Pcm, float]:
    """Full-scale 16-bit samples, and the gain that restores the level."""
    scale = max(peak(audio), 1e-6)
    return to_pcm(audio * np.float32(32767 / 32768 / scale)), scale * 32768 / 32767


@dataclass(frozen=True)
class Bank:
    """An open bank.

    Args:
        folder: Where the parts are.
        rate: Sampling rate of every clip in Hz.
        entries: Where each clip lies, by clip id.
    """

    folder: Path
    rate: int
    entries: Mapping[str, BankEntry]

    @classmethod
    def open(cls, index: Path) -> Bank:
        """Open a bank by its index file; parts are mapped when first read.

        Raises:
            CorpusError: If the index is missing.
        """
        if not fetch(index).is_file():
            raise CorpusError(
                f"{index}: no such clip bank",
                fix="run `segue ingest SPEC` (or `segue build SPEC`) again to decode the clips",
            )
        table = pq.read_table(index)
        rate = int(table.schema.metadata[b"sample_rate"])
        columns = (table.column(name).to_pylist() for name in INDEX_SCHEMA.names)
        entries = {
            clip: BankEntry(part, start, frames, scale)
            for clip, part, start, frames, scale in zip(*columns, strict=True)
        }
        return cls(index.parent, rate, entries)

    @cached_property
    def _parts(self) -> dict[str, Pcm]:
        return {}

    def _part(self, name: str) -> Pcm:
        part = self._parts.get(name)
        if part is None:
            try:
                with open_mapped(self.folder / name) as file:
                    part = self._parts[name] = np.memmap(file, dtype="<i2", mode="r")
            except (FileNotFoundError, ValueError) as error:  # numpy maps no empty file
                raise CorpusError(
                    f"{self.folder / name}: a part of the clip bank is missing or empty",
                    fix="delete it and ingest again",
                ) from error
        return part

    def frames(self, clip: str) -> Frames:
        """Length of a clip's active span at the bank's rate."""
        return self._entry(clip).frames

    def read(self, clip: str, start: Frames, frames: Frames, gain: float) -> Audio:
        """`frames` samples of a clip from `start`, at its catalogued level times `gain`.

        Raises:
            CorpusError: If the clip is not in the bank, or is shorter than asked.
        """
        entry = self._entry(clip)
        if start + frames > entry.frames:
            raise CorpusError(
                f"clip {clip!r} has {entry.frames} frames in the bank, "
                f"frames {start} to {start + frames} were asked for",
                fix="the plan was made over another bank; build again",
            )
        begin = entry.start + start
        pcm = self._part(entry.part)[begin : begin + frames]
        if len(pcm) < frames:
            raise CorpusError(
                f"{self.folder / entry.part}: ends before frame {begin + frames}",
                fix="delete it and ingest again",
            )
        audio = pcm.astype(np.float32)
        audio *= np.float32(gain * entry.scale / 32768)
        return audio

    def _entry(self, clip: str) -> BankEntry:
        entry = self.entries.get(clip)
        if entry is None:
            raise CorpusError(f"clip {clip!r} is not in the bank {self.folder}", fix="ingest again")
        return entry
