"""Megatron-Energon: the shards, an index beside each, and `.nv-meta`.

That is what `energon prepare` makes, so nothing has to be prepared any more.
"""

from __future__ import annotations

import io
import json
import sqlite3
import struct
import tarfile
import tempfile
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar, Final

import yaml

from synth.export.base import ExportFormat, Whole, json_line
from synth.export.folder import Writer
from synth.export.items import ExportItem, Shard

META: Final = ".nv-meta"
_DATASET: Final = {"__module__": "megatron.energon", "__class__": "CrudeWebdataset"}
_NAMES: Final = uuid.UUID("5e90e000-0000-4000-8000-000000000015")
_TABLES: Final = """
CREATE TABLE samples (
    tar_file_id INTEGER NOT NULL,
    sample_key TEXT NOT NULL UNIQUE,
    sample_index INTEGER NOT NULL,
    byte_offset INTEGER,
    byte_size INTEGER
);
CREATE TABLE sample_parts (
    tar_file_id INTEGER,
    sample_index INTEGER,
    part_name TEXT,
    content_byte_offset INTEGER,
    content_byte_size INTEGER
);
"""
_INDEXES: Final = """
CREATE INDEX idx_samples_by_tar_and_idx ON samples(tar_file_id, sample_index);
CREATE INDEX idx_sample_parts_seq
    ON sample_parts(tar_file_id, sample_index, content_byte_offset);
CREATE INDEX idx_sample_parts_full
    ON sample_parts(tar_file_id, sample_index, part_name, content_byte_offset, content_byte_size);
"""
_HOW = """\
A crude dataset of Megatron-Energon, prepared: `SPLIT/*.tar` are the corpus's shards, `*.tar.idx`
say where their samples begin, and `.nv-meta/` names splits, shards and samples. Each sample has
`flac` or `wav`, the audio, and `json`: `text` (true captions, the main one first), `negatives`
(false ones, never to be learnt as true), `dense` (captions with times), `events` and more.

    from megatron.energon import WorkerConfig, get_train_dataset
    data = get_train_dataset("FOLDER", worker_config=WorkerConfig.default_worker_config(),
                             batch_size=8, shuffle_buffer_size=100,
                             max_samples_per_sequence=100, task_encoder=...)

The task encoder needs a cooker for its sample type, as for every crude dataset; `flac` and `wav`
are decoded by `megatron-energon[av_decode]`. Splits are called
SPLITS here; `get_val_dataset(..., split_part="test")` reads another than `val`.

Keep the length of a sample: in one that is cut or looped statements of order may be false. Fill
shorter ones with silence.
"""


class Energon(ExportFormat):
    """The shards, their indexes, and the folder by which energon finds its way."""

    name: ClassVar[str] = "energon"
    version: ClassVar[int] = 2

    def part(self, shard: Shard, out: Writer) -> None:
        """The shard, and where its samples and their members begin."""
        starts: list[int] = []
        with (
            out.open(_place(shard)) as file,
            out.piece("samples") as samples,
            tarfile.open(fileobj=file, mode="w", format=tarfile.USTAR_FORMAT) as tar,
        ):
            for item in shard.items():
                starts.append(tar.offset)
                parts = [_add(tar, name, data) for name, data in _members(item)]
                size = tar.offset - starts[-1]
                samples.write(json_line([item.id, starts[-1], size, parts]))
            starts.append(tar.offset)
        out.write(f"{_place(shard)}.idx", struct.pack(f"<{len(starts)}Q", *starts))

    def finish(self, whole: Whole, out: Writer) -> None:
        """What energon calls the preparation of a dataset."""
        counts = {_place(shard): shard.samples for shard in whole.shards}
        out.write(f"{META}/.info.json", _json({"shard_counts": counts}))
        parts = {
            split: [_place(shard) for shard in whole.of_split(split)] for split in whole.splits
        }
        out.write(f"{META}/split.yaml", _yaml({"split_parts": parts, "exclude": []}))
        out.write(f"{META}/dataset.yaml", _yaml(_DATASET))
        name = uuid.uuid5(_NAMES, str(whole.corpus.facts["digest"]))
        out.write(f"{META}/index.uuid", str(name).encode())
        out.write(f"{META}/index.sqlite", _index(whole))
        told = ", ".join(f"`{split}`" for split in whole.splits)
        whole.readme(out, _HOW.replace("SPLITS", told))


def _place(shard: Shard) -> str:
    return f"{shard.split}/{shard.name}"


def _members(item: ExportItem) -> tuple[tuple[str, bytes], tuple[str, bytes]]:
    text = json.dumps(item.document, ensure_ascii=False, allow_nan=False)
    return (f"{item.id}{item.suffix}", item.audio), (f"{item.id}.json", text.encode())


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> tuple[str, int, int]:
    """Add a member; its ending, and where its content lies."""
    info = tarfile.TarInfo(name)
    info.size = len(data)
    begin = tar.offset + tarfile.BLOCKSIZE
    tar.addfile(info, io.BytesIO(data))
    return name.rsplit(".", 1)[1], begin, len(data)


def _index(whole: Whole) -> bytes:
    """The table of all samples and their members, as energon's own tool writes it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index.sqlite"
        found = sqlite3.connect(path)
        try:
            found.executescript(_TABLES)
            found.executemany("INSERT INTO samples VALUES (?, ?, ?, ?, ?)", _samples(whole))
            found.executemany("INSERT INTO sample_parts VALUES (?, ?, ?, ?, ?)", _parts(whole))
            found.executescript(_INDEXES)
            found.commit()
        finally:
            found.close()
        return path.read_bytes()


def _listed(whole: Whole) -> Iterator[tuple[int, int, Any]]:
    """Number of the shard, number of the sample in it, and its line."""
    for number, shard in enumerate(whole.shards):
        with whole.folder.piece(shard.name, "samples").open("rb") as lines:
            for index, line in enumerate(lines):
                yield number, index, json.loads(line)


def _samples(whole: Whole) -> Iterator[tuple[int, str, int, int, int]]:
    for number, index, (key, start, size, _) in _listed(whole):
        yield number, key, index, start, size


def _parts(whole: Whole) -> Iterator[tuple[int, int, str, int, int]]:
    for number, index, (_, _, _, parts) in _listed(whole):
        for name, start, size in parts:
            yield number, index, name, start, size


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=2) + "\n").encode()


def _yaml(value: Any) -> bytes:
    return str(yaml.safe_dump(value, sort_keys=False)).encode()
