"""Parquet exports, as Hugging Face datasets reads them."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path

import datasets
import numpy as np
import pyarrow.parquet as pq
import pytest
import soundfile
from huggingface_hub import DatasetCard

from synth.corpus.corpus import Corpus
from tests.conftest import missing
from tests.kit.export_corpora import Exported


def require_torchcodec() -> None:
    """Skip a test where torchcodec is not there, or lacks ffmpeg's libraries."""
    try:
        import torchcodec  # noqa: F401
    except (ImportError, RuntimeError) as error:
        missing(f"torchcodec does not load: {str(error).splitlines()[0]}")


@pytest.fixture
def folder(exported: Exported, corpus: Corpus) -> Path:
    return exported(corpus, "hf")


def test_load_dataset_finds_splits_and_audio(folder: Path, corpus: Corpus, tmp_path: Path) -> None:
    found = datasets.load_dataset(str(folder), cache_dir=str(tmp_path))
    assert {split: len(found[split]) for split in found} == {
        split: corpus.samples(split).num_rows for split in corpus.splits
    }
    assert found["train"].features["audio"] == datasets.Audio(sampling_rate=corpus.sample_rate)
    stored = found["train"].cast_column("audio", datasets.Audio(decode=False))
    rows = corpus.samples("train").to_pylist()
    for sample, row in zip(stored, rows, strict=True):
        assert sample["id"] == row["id"]
        assert sample["caption"] == row["caption"]
        assert sample["captions"] == [row["caption"], *(one["text"] for one in row["positives"])]
        assert sample["negatives"] == [one["text"] for one in row["negatives"]]
        assert hashlib.sha256(sample["audio"]["bytes"]).hexdigest() == row["sha256"]
        assert [event["label"] for event in sample["events"]] == row["labels"]
        assert [
            (told["resolution"], round(told["onset_s"] * corpus.sample_rate), told["text"])
            for told in sample["dense"]
        ] == [(told["resolution"], told["onset"], told["text"]) for told in row["dense"]]
    stream = datasets.load_dataset(str(folder), split="train", streaming=True)
    plain = stream.cast_column("audio", datasets.Audio(decode=False))
    assert [sample["id"] for sample in plain] == [row["id"] for row in rows]
    card = DatasetCard.load(folder / "README.md").data
    assert (card.language, card.size_categories) == (["en"], ["n<1K"])


def test_audio_decodes_to_what_was_rendered(folder: Path, corpus: Corpus, tmp_path: Path) -> None:
    files = sorted(str(path) for path in (folder / "data").glob("test-*.parquet"))
    found = datasets.Dataset.from_parquet(files, cache_dir=str(tmp_path))
    sample = found.cast_column("audio", datasets.Audio(decode=False))[5]
    pcm, rate = soundfile.read(io.BytesIO(sample["audio"]["bytes"]), dtype="int16")
    row = corpus.samples("test").to_pylist()[5]
    assert rate == corpus.sample_rate
    assert np.array_equal(pcm, corpus.virtual_pcm(row))


def test_a_sample_of_the_whole_set_is_decoded_as_the_card_says(
    folder: Path, corpus: Corpus, tmp_path: Path
) -> None:
    require_torchcodec()
    card = (folder / "README.md").read_text()
    assert 'corpus["train"][0]["audio"].get_all_samples()' in card
    heard = datasets.load_dataset(str(folder), cache_dir=str(tmp_path))["train"][0]["audio"]
    row = corpus.samples("train").to_pylist()[0]
    samples = heard.get_all_samples()
    assert samples.sample_rate == corpus.sample_rate
    pcm = np.round(samples.data.numpy()[0] * 2**15)
    assert np.array_equal(pcm, corpus.virtual_pcm(row))


def test_files_are_numbered_and_row_groups_small(folder: Path, corpus: Corpus) -> None:
    shards = corpus.facts["splits"]["train"]["shards"]
    names = sorted(path.name for path in (folder / "data").glob("train-*"))
    assert names == [f"train-{i:05d}-of-{shards:05d}.parquet" for i in range(shards)]
    for path in (folder / "data").iterdir():
        facts = pq.read_metadata(path)
        groups = [facts.row_group(number) for number in range(facts.num_row_groups)]
        assert all(group.num_rows <= 16 for group in groups)
        # An index says where each page lies: the Hub's viewer and streaming readers go by it.
        assert all(
            group.column(column).has_offset_index
            for group in groups
            for column in range(facts.num_columns)
        )
