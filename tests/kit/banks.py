"""Small clip banks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from synth.audio.bank import INDEX_SCHEMA, Bank, encode


def write_bank(folder: Path, clips: Mapping[str, np.ndarray], rate: int = 48_000) -> Path:
    """A bank of clips; gives its index."""
    rows, data, start = [], b"", 0
    for clip, audio in clips.items():
        pcm, scale = encode(audio)
        row = {"clip": clip, "part": "part-0.pcm", "start": start, "frames": len(pcm)}
        rows.append(row | {"scale": scale})
        data += pcm.astype("<i2").tobytes()
        start += len(pcm)
    (folder / "part-0.pcm").write_bytes(data)
    table = pa.Table.from_pylist(rows, schema=INDEX_SCHEMA)
    pq.write_table(
        table.replace_schema_metadata({"sample_rate": str(rate)}), folder / "index.parquet"
    )
    return folder / "index.parquet"


def make_noise_bank(folder: Path, frames: Mapping[str, int]) -> Bank:
    """A bank at 8 kHz of clips of noise, each of so many frames."""
    clips = {
        clip: np.random.default_rng(seed).uniform(-0.4, 0.4, length).astype(np.float32)
        for seed, (clip, length) in enumerate(frames.items())
    }
    return Bank.open(write_bank(folder, clips, 8_000))
