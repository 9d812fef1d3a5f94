"""Every sample is read with the PCM of its shard, by the programs that others train with.

Each test skips where its program is absent; tests/pipelines/export/test_peers.py says how to
install all of them.
"""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from pipelines.export import export_corpus
from synth.corpus.corpus import Corpus


def pcm_hash(pcm: Any) -> str:
    assert pcm.dtype == np.int16
    return hashlib.sha256(np.ascontiguousarray(pcm)).hexdigest()


def decode(audio: bytes) -> Any:
    return soundfile.read(io.BytesIO(audio), dtype="int16")[0]


def read_by_energon(corpus: Corpus, out: Path, split: str) -> Iterator[tuple[str, str]]:
    """Reads the shards themselves."""
    energon = pytest.importorskip("megatron.energon")
    pytest.importorskip("av", reason="energon decodes audio by it")

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
        for each in batch:
            told = each["json"] if isinstance(each["json"], dict) else json.loads(each["json"])
            assert told["id"] == each["__key__"]
            yield each["__key__"], pcm_hash(decode(each["flac"].stream.read()))


def read_cuts(cuts: Iterable[Any]) -> Iterator[tuple[str, str]]:
    for cut in cuts:
        steps = cut.load_audio()[0] * 32768
        pcm = steps.astype(np.int16)
        assert np.array_equal(pcm, steps)  # nothing was lost
        yield cut.id, pcm_hash(pcm)


def read_by_lhotse(corpus: Corpus, out: Path, split: str) -> Iterator[tuple[str, str]]:
    lhotse = pytest.importorskip("lhotse")
    export_corpus(corpus, "lhotse", out, [split])
    cuts = lhotse.CutSet.from_jsonl_lazy(out / f"{corpus.name}_cuts_{split}.jsonl.gz")
    return read_cuts(cuts.with_recording_path_prefix(out))


def read_by_lhotse_shar(corpus: Corpus, out: Path, split: str) -> Iterator[tuple[str, str]]:
    lhotse = pytest.importorskip("lhotse")
    export_corpus(corpus, "shar", out, [split])
    return read_cuts(lhotse.CutSet.from_shar(in_dir=out / split))


def read_by_lance(corpus: Corpus, out: Path, split: str) -> Iterator[tuple[str, str]]:
    lance = pytest.importorskip("lance", reason="pylance is not installed")
    export_corpus(corpus, "lance", out, [split])
    found = lance.dataset(out / f"{split}.lance")
    for batch in found.to_batches(columns=["id", "audio"], batch_size=32):
        for row in batch.to_pylist():
            yield row["id"], pcm_hash(decode(row["audio"]))


@pytest.mark.parametrize(
    "read", [read_by_energon, read_by_lhotse, read_by_lhotse_shar, read_by_lance]
)
def test_every_sample_is_read_with_the_pcm_of_its_shard(
    corpus: Corpus,
    tmp_path: Path,
    read: Callable[[Corpus, Path, str], Iterator[tuple[str, str]]],
) -> None:
    for split in corpus.splits:
        found = list(read(corpus, tmp_path / split, split))
        assert found == [
            (
                row["id"],
                pcm_hash(corpus.stored_pcm(split, row["shard"], row["offset"], row["size"])),
            )
            for row in corpus.samples(split).to_pylist()
        ]
