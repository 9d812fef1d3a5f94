"""Lance datasets, read by pylance."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path

import lance
import numpy as np
import pyarrow.parquet as pq
import pytest
import soundfile

from pipelines.export import export_corpus
from synth.corpus.corpus import Corpus
from tests.kit.export_corpora import Exported


@pytest.fixture
def folder(exported: Exported, corpus: Corpus) -> Path:
    return exported(corpus, "lance")


def test_rows_are_those_of_the_corpus_in_plan_order(folder: Path, corpus: Corpus) -> None:
    for split in corpus.splits:
        found = lance.dataset(folder / f"{split}.lance")
        rows = corpus.samples(split).to_pylist()
        table = found.to_table().to_pylist()
        for sample, row in zip(table, rows, strict=True):
            assert (sample["id"], sample["caption"]) == (row["id"], row["caption"])
            assert sample["sample_rate"] == corpus.sample_rate
            assert hashlib.sha256(sample["audio"]).hexdigest() == row["sha256"]


def test_columns_are_those_of_the_parquet_export(
    folder: Path, exported: Exported, corpus: Corpus
) -> None:
    own = lance.dataset(folder / "test.lance").to_table()
    other = pq.read_table(sorted((exported(corpus, "hf") / "data").glob("test-*.parquet")))
    told = [name for name in other.column_names if name != "audio"]
    assert own.column_names == [*other.column_names, "sample_rate"]
    assert own.select(told).to_pylist() == other.select(told).to_pylist()


def test_samples_are_taken_in_any_order(folder: Path, corpus: Corpus) -> None:
    found = lance.dataset(folder / "test.lance")
    rows = corpus.samples("test").to_pylist()
    wanted = [30, 2, 17, 71]
    for k, sample in zip(wanted, found.take(wanted, columns=["audio"]).to_pylist(), strict=True):
        pcm, _ = soundfile.read(io.BytesIO(sample["audio"]), dtype="int16")
        assert np.array_equal(pcm, corpus.virtual_pcm(rows[k]))


def test_a_lost_data_file_is_written_again_with_the_same_bytes(
    folder: Path, corpus: Corpus, tmp_path: Path
) -> None:
    export_corpus(corpus, "lance", tmp_path)
    files = sorted(path.relative_to(folder) for path in folder.glob("*.lance/data/*"))
    assert len(files) == 12
    (tmp_path / files[3]).unlink()
    again = export_corpus(corpus, "lance", tmp_path)
    assert (again.written, again.skipped) == (1, 11)
    assert export_corpus(corpus, "lance", tmp_path).written == 0
    credits = (corpus.shards / "ATTRIBUTION.csv").read_bytes()
    assert (tmp_path / "ATTRIBUTION.csv").read_bytes() == credits
    assert "can be under CC0-1.0" in (tmp_path / "README.md").read_text()
    for name in files:
        assert (tmp_path / name).read_bytes() == (folder / name).read_bytes()
    for split in corpus.splits:
        found = lance.dataset(tmp_path / f"{split}.lance")
        ids = corpus.samples(split, ["id"]).column("id").to_pylist()
        assert found.to_table(columns=["id"]).column("id").to_pylist() == ids


def test_a_lost_version_is_committed_again(corpus: Corpus, tmp_path: Path) -> None:
    export_corpus(corpus, "lance", tmp_path, splits=["test"])
    for path in (tmp_path / "test.lance" / "_versions").iterdir():
        path.unlink()
    assert export_corpus(corpus, "lance", tmp_path, splits=["test"]).written == 0
    assert lance.dataset(tmp_path / "test.lance").count_rows() == 72
