"""What lies beside the shards for Megatron-Energon, by the rules of its own reader.

It can seldom be installed beside the rest, so its contract is written out here; tests/peers has it
read the shards.
"""

from __future__ import annotations

import io
import json
import struct
import tarfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
import yaml

from synth.corpus.corpus import Corpus


def find_starts(shard: Path) -> list[int]:
    data = shard.with_name(f"{shard.name}.idx").read_bytes()
    return list(struct.unpack(f"<{len(data) // 8}Q", data))


@pytest.mark.parametrize("suffix", ["wav", "flac"])
def test_every_stretch_of_an_index_is_one_sample(
    corpus_of: Callable[..., Corpus], suffix: str
) -> None:
    corpus = corpus_of(audio={"format": suffix}, shards={"samples": 7})
    counts = json.loads((corpus.shards / ".nv-meta" / ".info.json").read_text())["shard_counts"]
    assert len(counts) > 12
    rows = iter(corpus.samples().to_pylist())
    for name, count in counts.items():
        starts, shard = find_starts(corpus.shards / name), (corpus.shards / name).read_bytes()
        with tarfile.open(corpus.shards / name) as tar:
            members = tar.getmembers()
        last = members[-1]
        end = last.offset_data + last.size + -last.size % 512
        assert starts == [*(member.offset for member in members[::2]), end]
        assert len(starts) == count + 1
        assert not any(shard[end:])  # nothing follows but what ends a tar file
        for start, end in pairwise(starts):
            row = next(rows)
            with tarfile.open(fileobj=io.BytesIO(shard[start:end])) as stretch:
                assert stretch.getnames() == [f"{row['id']}.{suffix}", f"{row['id']}.json"]
    assert next(rows, None) is None


def test_splits_name_each_shard_once(corpus: Corpus) -> None:
    meta = corpus.shards / ".nv-meta"
    counts = json.loads((meta / ".info.json").read_text())["shard_counts"]
    assert yaml.safe_load((meta / ".info.yaml").read_text()) == {"shard_counts": counts}
    parts = yaml.safe_load((meta / "split.yaml").read_text())["split_parts"]
    assert tuple(parts) == tuple(corpus.splits)
    assert [name for names in parts.values() for name in names] == list(counts)
    found = {path.relative_to(corpus.shards).as_posix() for path in corpus.shards.glob("*/*.tar")}
    assert found == set(counts)
    assert sum(counts.values()) == corpus.samples().num_rows
