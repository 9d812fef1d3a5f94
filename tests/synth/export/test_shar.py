"""Lhotse Shar, read and validated by lhotse."""

from __future__ import annotations

import gzip
import hashlib
import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from synth.corpus.corpus import Corpus

lhotse = pytest.importorskip("lhotse")


@pytest.fixture
def folder(exported: Callable[[Corpus, str], Path], corpus: Corpus) -> Path:
    return exported(corpus, "shar")


def test_cuts_load_and_validate_with_their_audio(folder: Path, corpus: Corpus) -> None:
    from lhotse.qa import validate

    for split in corpus.splits:
        cuts = lhotse.CutSet.from_shar(in_dir=folder / split)
        rows = corpus.samples(split).to_pylist()
        assert len(rows) > 12
        for cut, row in zip(cuts, rows, strict=True):
            validate(cut, read_data=True)
            pcm = corpus.stored_pcm(row["split"], row["shard"], row["offset"], row["size"])
            assert cut.id == row["id"]
            assert np.array_equal(cut.load_audio()[0], pcm.astype(np.float32) / 32768)


def test_audio_is_stored_as_the_shards_store_it(folder: Path, corpus: Corpus) -> None:
    rows = {row["member"]: row for row in corpus.samples().to_pylist()}
    found = {}
    for path in folder.glob("*/recording.*.tar"):
        with tarfile.open(path) as tar:
            for member in tar:
                data = tar.extractfile(member).read()  # type: ignore[union-attr]
                found[member.name] = hashlib.sha256(data).hexdigest()
    assert {name: found[name] for name in rows} == {
        name: row["sha256"] for name, row in rows.items()
    }


def test_cuts_tell_what_those_of_the_other_layout_do(
    folder: Path, exported: Callable[[Corpus, str], Path], corpus: Corpus
) -> None:
    """Captions, sounds and dense captions do not depend on where the audio lies."""
    other = exported(corpus, "lhotse")
    for split in corpus.splits:
        own = [
            json.loads(line)
            for path in sorted((folder / split).glob("cuts.*.jsonl.gz"))
            for line in gzip.decompress(path.read_bytes()).splitlines()
        ]
        cuts = gzip.decompress((other / f"tiny_cuts_{split}.jsonl.gz").read_bytes())
        assert len(own) == corpus.samples(split).num_rows
        for mine, line in zip(own, cuts.splitlines(), strict=True):
            theirs = json.loads(line)
            assert mine.pop("recording")["sources"] != theirs.pop("recording")["sources"]
            assert mine == theirs


def test_nothing_but_data_lies_beside_the_cuts(folder: Path, corpus: Corpus) -> None:
    """Lhotse takes the first word of any file's name there for a field."""
    for split in corpus.splits:
        shards = corpus.facts["splits"][split]["shards"]
        assert sorted(path.name for path in (folder / split).iterdir()) == sorted(
            name
            for number in range(shards)
            for name in (f"cuts.{number:06d}.jsonl.gz", f"recording.{number:06d}.tar")
        )


def test_gzip_headers_hold_no_time(folder: Path) -> None:
    assert (folder / "test" / "cuts.000000.jsonl.gz").read_bytes()[4:8] == bytes(4)
