"""Lhotse manifests, read and validated by lhotse."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from synth.corpus.corpus import Corpus

lhotse = pytest.importorskip("lhotse")


@pytest.fixture
def folder(exported: Callable[[Corpus, str], Path], corpus: Corpus) -> Path:
    return exported(corpus, "lhotse")


def test_cuts_load_and_validate_with_their_audio(folder: Path, corpus: Corpus) -> None:
    from lhotse.qa import validate

    lazy = lhotse.CutSet.from_jsonl_lazy(folder / "tiny_cuts_train.jsonl.gz")
    cuts = list(lazy.with_recording_path_prefix(folder))
    rows = corpus.samples("train").to_pylist()
    assert [cut.id for cut in cuts] == [row["id"] for row in rows]
    for cut, row in zip(cuts[:6], rows, strict=False):
        validate(cut, read_data=True)
        audio = cut.load_audio()
        pcm = corpus.stored_pcm(row["split"], row["shard"], row["offset"], row["size"])
        assert np.array_equal(audio, pcm[np.newaxis].astype(np.float32) / 32768)
        assert cut.custom["caption"] == row["caption"]
        assert not set(cut.custom["captions"]) & set(cut.custom["negatives"])


def test_every_sound_is_a_supervision_in_its_place(folder: Path, corpus: Corpus) -> None:
    found = lhotse.load_manifest(folder / "tiny_supervisions_train.jsonl.gz")
    recordings = lhotse.load_manifest(folder / "tiny_recordings_train.jsonl.gz")
    lhotse.validate_recordings_and_supervisions(recordings, found)
    sounds: dict[str, list[str]] = {}
    dense: dict[str, list[tuple[str, str, float]]] = {}
    for each in found:
        if "dense" in each.custom:
            its = dense.setdefault(each.recording_id, [])
            its.append((each.custom["dense"], each.text, each.start))
        else:
            sounds.setdefault(each.recording_id, []).append(each.custom["audio_event"])
    for row in corpus.samples("train").to_pylist():
        assert sounds[row["id"]] == row["labels"]
        assert dense[row["id"]] == [
            (told["resolution"], told["text"], told["onset"] / row["sample_rate"])
            for told in row["dense"]
        ]
    first = next(iter(found))
    assert (first.start, first.duration) == (0.0, 1.0)


def test_lhotse_finds_the_manifests_by_their_names(folder: Path, corpus: Corpus) -> None:
    from lhotse.recipes.utils import read_manifests_if_cached

    found = read_manifests_if_cached(corpus.splits, folder, prefix=corpus.name)
    assert {split: len(found[split]["recordings"]) for split in found} == {
        split: corpus.samples(split).num_rows for split in corpus.splits
    }


def test_gzip_headers_hold_no_time(folder: Path) -> None:
    data = (folder / "tiny_cuts_test.jsonl.gz").read_bytes()
    assert data[4:8] == bytes(4)
    lines = gzip.decompress(data).splitlines()
    assert len({json.loads(line)["id"] for line in lines}) == len(lines)
