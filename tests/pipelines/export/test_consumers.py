"""Shards and manifests read by the libraries that people read them with."""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path

import datasets
import mlcroissant
import numpy as np
import pytest
import soundfile
import webdataset
from etils import epath
from huggingface_hub import DatasetCard

from synth.corpus.corpus import Corpus


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
        assert np.array_equal(pcm, corpus.virtual_pcm(row))


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


def test_fields_sizes_and_keys_are_what_loaders_take(corpus: Corpus) -> None:
    fields = set()
    for split in corpus.splits:
        for sample in webdataset.WebDataset(shard_urls(corpus, split), shardshuffle=False):
            document = json.loads(sample["json"])
            fields.add((tuple(document), tuple(document["events"][0])))
            assert not set(document["text"]) & set(document["negatives"])
    assert len(fields) == 1
    # LAION-CLAP's and open_clip's loaders take their epoch's length from sizes.json.
    for split in corpus.splits:
        sizes = json.loads((corpus.shards / split / "sizes.json").read_text())
        for name, size in sizes.items():
            url = str(corpus.shards / split / name)
            assert size == sum(1 for _ in webdataset.WebDataset(url, shardshuffle=False))
        assert set(sizes) == {Path(url).name for url in shard_urls(corpus, split)}
    keys = [row["id"] for row in corpus.samples(columns=["id"]).to_pylist()]
    assert len(set(keys)) == len(keys)
    assert all(set(key) <= set("abcdefghijklmnopqrstuvwxyz0123456789-") for key in keys)


def test_mlcroissant_accepts_the_description_and_reads_by_it(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # It keeps what it extracts by file name alone, for all corpora of this machine.
    monkeypatch.setattr(
        "mlcroissant._src.operation_graph.operations.extract.EXTRACT_PATH", epath.Path(tmp_path)
    )
    found = mlcroissant.Dataset(jsonld=str(corpus.shards / "croissant.json"))
    assert not found.metadata.issues.errors
    # Equal corpora have equal files, so nothing says when one was made.
    expected = ("datePublished", "citeAs")
    warnings = found.metadata.issues.warnings
    assert all(any(name in each for name in expected) for each in warnings)
    rows = {row["id"]: row for row in corpus.samples().to_pylist()}
    samples = list(found.records("samples"))
    assert [sample["samples/id"].decode() for sample in samples] == list(rows)
    for sample in samples:
        row = rows[sample["samples/id"].decode()]
        assert sample["samples/caption"].decode() == row["caption"]
        assert [label.decode() for label in sample["samples/labels"]] == row["labels"]
        assert sample["samples/frames"] == row["frames"]
    sounds = {record["audio/id"].decode(): record for record in found.records("audio")}
    assert set(sounds) == set(rows)
    for name, record in sounds.items():
        pcm, rate = soundfile.read(io.BytesIO(record["audio/audio"]), dtype="int16")
        assert (len(pcm), rate) == (rows[name]["frames"], rows[name]["sample_rate"])


def test_checksums_of_the_description_are_those_of_the_files(corpus: Corpus) -> None:
    described = json.loads((corpus.shards / "croissant.json").read_text())["distribution"]
    files = [each for each in described if each["@type"] == "cr:FileObject"]
    assert {file["contentUrl"] for file in files} == {
        path.relative_to(corpus.shards).as_posix()
        for path in [*corpus.shards.rglob("*.tar"), corpus.shards / "samples.parquet"]
    }
    for file in files:
        data = (corpus.shards / file["contentUrl"]).read_bytes()
        assert hashlib.sha256(data).hexdigest() == file["sha256"]


def test_hugging_face_hub_accepts_the_card(corpus: Corpus) -> None:
    card = DatasetCard.load(corpus.shards / "README.md")
    assert card.data.license == "cc0-1.0"
    assert card.data.language == ["en"]
    assert card.data.size_categories == ["n<1K"]
    assert card.data.configs[0]["data_files"][0]["split"] == "train"
