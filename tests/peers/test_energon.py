"""Megatron-Energon reads the shards themselves."""

from __future__ import annotations

import importlib
import io
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import soundfile

from synth.corpus.corpus import Corpus


def read_by_energon(corpus: Corpus, split: str) -> Iterator[tuple[str, Any]]:
    energon = importlib.import_module("megatron.energon")

    @energon.stateless
    def cook(sample: dict[str, Any]) -> dict[str, Any]:
        return energon.basic_sample_keys(sample) | {"json": sample["json"], "flac": sample["flac"]}

    class EnergonTask(energon.DefaultTaskEncoder):  # type: ignore[misc]
        cookers = (energon.Cooker(cook),)

        def batch(self, samples: list[Any]) -> list[Any]:
            return samples

    data = energon.get_val_dataset(
        str(corpus.shards),
        split_part=split,
        worker_config=energon.WorkerConfig(rank=0, world_size=1, num_workers=0),
        batch_size=1,
        task_encoder=EnergonTask(),
    )
    for batch in energon.get_loader(data):
        for sample in batch:
            facts = (
                sample["json"] if isinstance(sample["json"], dict) else json.loads(sample["json"])
            )
            sound = sample["flac"]  # decoded or not: versions differ
            stream = io.BytesIO(sound) if isinstance(sound, bytes) else sound.stream
            yield facts["id"], soundfile.read(stream, dtype="int16")[0]


def test_every_sample_is_read_with_the_pcm_of_its_shard(corpus: Corpus) -> None:
    for split in corpus.splits:
        rows = corpus.samples(split).to_pylist()
        for (key, pcm), row in zip(read_by_energon(corpus, split), rows, strict=True):
            stored = corpus.stored_pcm(split, row["shard"], row["offset"], row["size"])
            assert key == row["id"]
            assert np.array_equal(pcm, stored)
