"""Small clip banks."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from synth.audio.bank import INDEX_SCHEMA, Bank, encode


def make_noise_bank(folder: Path, frames: Mapping[str, int]) -> Bank:
    """A bank at 8 kHz of clips of noise, each of so many frames."""
    rows, data, start = [], b"", 0
    for seed, (clip, length) in enumerate(frames.items()):
        audio = np.random.default_rng(seed).uniform(-0.4, 0.4, length).astype(np.float32)
        pcm, scale = encode(audio)
        row = {"clip": clip, "part": "part-p.pcm", "start": start, "frames": length, "scale": scale}
        rows.append(row)
        data += pcm.astype("<i2").tobytes()
        start += length
    (folder / "part-p.pcm").write_bytes(data)
    table = pa.Table.from_pylist(rows, schema=INDEX_SCHEMA)
    pq.write_table(table.replace_schema_metadata({"sample_rate": "8000"}), folder / "i.parquet")
    return Bank.open(folder / "i.parquet")
