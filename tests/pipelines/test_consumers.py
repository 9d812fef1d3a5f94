"""Shards and manifests read by the libraries that people read them with."""

from __future__ import annotations

import io
import json
from pathlib import Path

import datasets
import numpy as np
import pandas as pd
import pytest
import soundfile
import webdataset

from synth.corpus import Corpus


@pytest.fixture
def corpus(tiny_corpus: Path) -> Corpus:
    return Corpus.open(tiny_corpus / "data_manifests" / "tiny")


def shard_urls(corpus: Corpus, split: str) -> list[str]:
    return [str(path) for path in sorted((corpus.shards / split).glob("*.tar"))]


def test_webdataset_reads_every_sample_in_plan_order(corpus: Corpus) -> None:
    samples = list(webdataset.WebDataset(shard_urls(corpus, "train"), shardshuffle=False))
    rows = corpus.samples("train").to_pylist()
    assert [sample["__key__"] for sample in samples] == [row["id"] for row in rows]
    for sample, row in zip(samples, rows, strict=True):
        document = json.loads(sample["json"])
        pcm, rate = soundfile.read(io.BytesIO(sample["flac"]), dtype="int16")
        assert (len(pcm), rate) == (row["frames"], row["sample_rate"])
        assert document["text"][0] == row["caption"]
        assert document["negatives"] == [negative["text"] for negative in row["negatives"]]
        assert np.array_equal(pcm, corpus.virtual_pcm(row["scene"], row["frames"]))


def test_load_dataset_reads_the_shards(corpus: Corpus, tmp_path: Path) -> None:
    first = json.loads(
        next(iter(webdataset.WebDataset(shard_urls(corpus, "train")[:1], shardshuffle=False)))[
            "json"
        ]
    )
    found = datasets.load_dataset(
        "webdataset",
        data_files={split: shard_urls(corpus, split) for split in corpus.splits},
        features=datasets.Features(
            {
                "__key__": datasets.Value("string"),
                "__url__": datasets.Value("string"),
                "flac": datasets.Value("binary"),
                "json": _features(first),
            }
        ),
        cache_dir=str(tmp_path),
    )
    assert {split: len(found[split]) for split in found} == {
        split: corpus.samples(split).num_rows for split in corpus.splits
    }
    sample = found["train"][0]
    pcm, _ = soundfile.read(io.BytesIO(sample["flac"]), dtype="int16")
    assert len(pcm) == sample["json"]["frames"]
    assert sample["json"]["text"][0] == corpus.samples("train").to_pylist()[0]["caption"]


def _features(value: object) -> object:
    """Hugging Face features of a JSON value."""
    match value:
        case dict():
            return {key: _features(item) for key, item in value.items()}
        case list():
            return (
                datasets.List(_features(value[0]))
                if value
                else datasets.List(datasets.Value("string"))
            )
        case str():
            return datasets.Value("string")
        case int():
            return datasets.Value("int64")
        case _:
            return datasets.Value("float64")


def test_load_dataset_reads_the_manifest(corpus: Corpus, tmp_path: Path) -> None:
    found = datasets.load_dataset(
        "parquet",
        data_files=str(corpus.folder / "samples.parquet"),
        split="train",
        cache_dir=str(tmp_path),
    )
    rows = corpus.samples().to_pylist()
    assert len(found) == len(rows)
    assert found[0]["caption"] == rows[0]["caption"]
    assert found[0]["negatives"][0]["text"] == rows[0]["negatives"][0]["text"]


def test_pandas_reads_the_manifests(corpus: Corpus) -> None:
    for name in ("clips", "plan", "samples", "quarantine", "shards"):
        frame = pd.read_parquet(corpus.folder / f"{name}.parquet")
        assert not frame.columns.empty
    assert not pd.read_parquet(corpus.folder / "samples.parquet").isna().any(axis=None)


def test_every_sample_has_the_same_fields(corpus: Corpus) -> None:
    fields = set()
    for split in corpus.splits:
        for sample in webdataset.WebDataset(shard_urls(corpus, split), shardshuffle=False):
            document = json.loads(sample["json"])
            fields.add((tuple(document), tuple(document["events"][0])))
            assert not set(document["text"]) & set(document["negatives"])
    assert len(fields) == 1


def test_sizes_say_how_many_samples_each_shard_holds(corpus: Corpus) -> None:
    """LAION-CLAP's and open_clip's loaders take their epoch's length from sizes.json."""
    for split in corpus.splits:
        sizes = json.loads((corpus.shards / split / "sizes.json").read_text())
        for name, size in sizes.items():
            url = str(corpus.shards / split / name)
            assert size == sum(1 for _ in webdataset.WebDataset(url, shardshuffle=False))
        assert set(sizes) == {Path(url).name for url in shard_urls(corpus, split)}


def test_keys_are_unique_lowercase_and_without_dots(corpus: Corpus) -> None:
    keys = [row["id"] for row in corpus.samples(columns=["id"]).to_pylist()]
    assert len(set(keys)) == len(keys)
    assert all(set(key) <= set("abcdefghijklmnopqrstuvwxyz0123456789-") for key in keys)


def test_card_names_the_splits_for_hugging_face(corpus: Corpus) -> None:
    card = (corpus.shards / "README.md").read_text()
    assert card.startswith("---\n")
    assert "path: train/*.tar" in card
    assert "CC0-1.0" in card
