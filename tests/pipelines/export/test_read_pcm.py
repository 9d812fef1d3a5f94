"""Every sample is read by lhotse with the PCM of its shard."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import lhotse
import numpy as np
import pytest

from pipelines.export import export_corpus
from synth.corpus.corpus import Corpus


def pcm_hash(pcm: Any) -> str:
    assert pcm.dtype == np.int16
    return hashlib.sha256(np.ascontiguousarray(pcm)).hexdigest()


def read_cuts(cuts: Iterable[Any]) -> Iterator[tuple[str, str]]:
    for cut in cuts:
        steps = cut.load_audio()[0] * 32768
        pcm = steps.astype(np.int16)
        assert np.array_equal(pcm, steps)  # nothing was lost
        yield cut.id, pcm_hash(pcm)


def read_by_lhotse(corpus: Corpus, out: Path, split: str) -> Iterator[tuple[str, str]]:
    export_corpus(corpus, "lhotse", out, [split])
    cuts = lhotse.CutSet.from_jsonl_lazy(out / f"{corpus.name}_cuts_{split}.jsonl.gz")
    return read_cuts(cuts.with_recording_path_prefix(out))


def read_by_lhotse_shar(corpus: Corpus, out: Path, split: str) -> Iterator[tuple[str, str]]:
    export_corpus(corpus, "shar", out, [split])
    return read_cuts(lhotse.CutSet.from_shar(in_dir=out / split))


@pytest.mark.parametrize("read", [read_by_lhotse, read_by_lhotse_shar])
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
