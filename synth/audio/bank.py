"""The bank: every clip decoded once, kept as 16-bit PCM to be mapped into memory.

A bank is a folder of `part-NNNNN.pcm` files (little-endian int16, mono, one rate) and an index that
says where each clip lies. Clips are stored trimmed to their active span and scaled to full scale,
so that quiet recordings keep their resolution; the index holds the gain that undoes it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from synth.audio.dsp import Audio, Pcm, peak, ramp_cut, to_pcm
from synth.base.doors import own_file, require_regular
from synth.base.errors import CorpusError, first_line, shorten
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


_RULES: Final[Mapping[str, tuple[Callable[[pa.Array], pa.BooleanArray], str]]] = {
    "part": (
        lambda parts: pc.match_substring_regex(parts, r"^part-[A-Za-z0-9_-]{1,100}\.pcm$"),
        "part-NAME.pcm, of letters, digits, - and _",
    ),
    "start": (lambda starts: pc.greater_equal(starts, 0), "0 or more"),
    "frames": (lambda frames: pc.greater_equal(frames, 1), "1 or more"),
    "scale": (pc.is_finite, "a finite number"),
}


def read_index(index: Path) -> tuple[pa.Table, int]:
    """The rows of a bank's index and its rate, checked: it may be a stranger's."""
    try:
        with pq.ParquetFile(require_regular(index)) as file:  # `read_table` imports pandas
            table = file.read()
        table.validate(full=True)
        rate = int((table.schema.metadata or {}).get(b"sample_rate", b"missing"))
        table = table.select(INDEX_SCHEMA.names).cast(INDEX_SCHEMA)
    except (pa.ArrowException, OSError, ValueError, KeyError) as error:
        raise _make_index_error(index, f"damaged: {first_line(error)}") from error
    if not 0 < rate < 1 << 31:
        raise _make_index_error(index, f"sample_rate is {rate}: expected a whole number of Hz")
    for name, (is_good, expected) in _RULES.items():
        at = pc.index(is_good(table[name]), False).as_py()
        if at >= 0:
            value = shorten(table[name][at].as_py())
            raise _make_index_error(index, f"row {at}: {name} is {value}: expected {expected}")
    return table, rate


def _make_index_error(index: Path, reason: str) -> CorpusError:
    return CorpusError(
        f"{index}: {reason}",
        fix="run `segue ingest` again, or copy the bank again",
    )


@dataclass(frozen=True)
class Bank:
    """An open bank, of clips of one rate in Hz."""

    folder: Path
    rate: int
    entries: Mapping[str, BankEntry]

    @classmethod
    def open(cls, index: Path) -> Bank:
        """Open a bank by its index file; parts are mapped when first read.

        A bank may be a stranger's, so that no part is taken for a path.
        """
        if not fetch(index).is_file():
            raise CorpusError(
                f"{index}: no such clip bank",
                fix="run `segue ingest SPEC` (or `segue build SPEC`) again to decode the clips",
            )
        table, rate = read_index(index)
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
                path = own_file(self.folder, name)
                with open_mapped(path, path.with_suffix(".json")) as file:
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

        Where they are cut out of the clip they begin and end within 5 ms.
        """
        audio = np.empty(frames, dtype=np.float32)
        self.play(clip, start, gain, audio)
        return audio

    def play(self, clip: str, start: Frames, gain: float, canvas: Audio) -> None:
        """Write what `read` gives over all of `canvas`, which tells how much is asked for."""
        frames = len(canvas)
        entry = self._entry(clip)
        if start + frames > entry.frames:
            raise CorpusError(
                f"clip {clip!r} has {entry.frames} frames in the bank: "
                f"expected frames {start} to {start + frames}",
                fix="the plan belongs to another bank: run `segue build` again",
            )
        begin = entry.start + start
        pcm = self._part(entry.part)[begin : begin + frames]
        if len(pcm) < frames:
            raise CorpusError(
                f"{self.folder / entry.part}: ends before frame {begin + frames}",
                fix="delete it and ingest again",
            )
        canvas[:] = pcm
        canvas *= np.float32(gain * entry.scale / 32768)
        ramp_cut(canvas, self.rate, begins=start > 0, ends=start + frames < entry.frames)

    def _entry(self, clip: str) -> BankEntry:
        entry = self.entries.get(clip)
        if entry is None:
            raise CorpusError(f"clip {clip!r} is not in the bank {self.folder}", fix="ingest again")
        return entry
