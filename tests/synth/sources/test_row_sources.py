"""Sources of rows: Parquet files and Hugging Face folders, sounds embedded or beside them."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import datasets
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import soundfile

from synth.base.errors import ClipError
from synth.labels.lexicon import Tag
from synth.sources.own.hf import HuggingFaceSource, ParquetSource
from tests.kit.cases import cases
from tests.kit.libraries import RATE, check, refused, sound


def wav(seed: int) -> bytes:
    file = io.BytesIO()
    audio = np.random.default_rng(seed).uniform(-0.5, 0.5, 1600 + seed)
    soundfile.write(file, audio, RATE, format="WAV")
    return file.getvalue()


def saved(rows: list[dict[str, Any]]) -> datasets.Dataset:
    found = datasets.Dataset.from_list(rows)
    found = found.cast_column("audio", datasets.Audio(decode=False))
    if "label" in rows[0]:
        found = found.cast_column("label", datasets.ClassLabel(names=["dog", "rain, light"]))
    return found


ROWS = [
    {"audio": {"bytes": wav(0), "path": "a.wav"}, "caption": 'A dog, "Rex"', "label": 0},
    {"audio": {"bytes": wav(1), "path": None}, "caption": "Rain", "label": 1},
]


@cases("rows_a_group", [1, 2])
def test_parquet_with_embedded_audio(tmp_path: Path, rows_a_group: int) -> None:
    path = tmp_path / "deep" / "one.parquet"
    path.parent.mkdir()
    saved(ROWS).to_parquet(path, batch_size=rows_a_group)
    source = ParquetSource(root=tmp_path)
    dog, rain = check(source)
    assert (dog.id, dog.captions, dog.labels) == ("parquet/deep/one-0", ('A dog, "Rex"',), ("dog",))
    assert rain.labels == ("rain, light",)
    assert [len(source.load(ref).audio) for ref in (rain, dog, rain)] == [1601, 1600, 1601]
    assert source.load(dog).sha256 != source.load(rain).sha256


def test_parquet_with_paths_lists_and_columns_of_other_names(tmp_path: Path) -> None:
    sound(tmp_path / "sounds" / "a.wav", frames=800)
    rows = {
        "where": ["sounds/a.wav", "sounds/gone.wav", None],
        "key": ["x", "y", "z"],
        "text": [["one", None, " two "], [], None],
        "label": ["dog; bark", None, ""],
        "tags": [["mood:calm", "rock"], None, []],
        "license": ["CC0", None, None],
        "recording": ["r1", "r1", None],
        "split": ["test", "test", "dev"],
    }
    pq.write_table(pa.table(rows), tmp_path / "index.parquet")
    source = ParquetSource(
        root=tmp_path / "index.parquet",
        columns={"audio": "where", "id": "key"},
        licence="CC-BY-4.0",
        id_prefix="mine",
    )
    one, gone, empty = source.refs()
    assert (one.id, one.recording, one.split) == ("mine/x", "mine/r1", "test")
    assert (one.captions, one.labels) == (("one", "two"), ("dog", "bark"))
    assert one.tags == (Tag("mood", "calm"), Tag("", "rock"))
    assert (one.licence, gone.licence) == ("CC0", "CC-BY-4.0")
    assert gone.recording == one.recording
    assert empty.recording == "mine/z"
    assert len(source.load(one).audio) == 800
    with pytest.raises(ClipError, match="cannot be read"):
        source.load(gone)
    with pytest.raises(ClipError, match="has no audio in its row"):
        source.load(empty)


def test_what_is_missing_is_told_with_the_fix(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    assert "save_to_disk" in refused(HuggingFaceSource(root=tmp_path), "no Hugging Face").fix
    refused(ParquetSource(root=tmp_path), "no Parquet file")
    pq.write_table(pa.table({"sound": ["a.wav"], "id": ["a"]}), path)
    fix = refused(ParquetSource(root=tmp_path), "no column audio").fix
    assert "columns: {audio: sound}" in fix
    columns = {"audio": "sound", "caption": "text"}
    assert "sound, id" in refused(ParquetSource(root=tmp_path, columns=columns), "'text'").fix
    refused(ParquetSource(root=tmp_path, columns={"captions": "id"}), "unknown captions")
    pq.write_table(pa.table({"audio": ["a.wav", "b.wav"], "id": ["same", "same"]}), path)
    told = r"row 1: the id 'parquet/same' is already used in .*row 0"
    refused(ParquetSource(root=tmp_path), told)
    path.write_bytes(b"no table")
    refused(ParquetSource(root=tmp_path), r"x\.parquet: cannot be read")


def test_hf_reads_what_save_to_disk_wrote(tmp_path: Path) -> None:
    saved(ROWS).save_to_disk(tmp_path / "one")
    source = HuggingFaceSource(root=tmp_path / "one")
    dog, rain = check(source)
    assert (dog.labels, dog.captions, dog.split) == (("dog",), ('A dog, "Rex"',), "")
    assert len(source.load(rain).audio) == 1601
    splits = {"train": saved(ROWS), "test": saved(ROWS[:1])}
    datasets.DatasetDict(splits).save_to_disk(tmp_path, num_shards={"train": 2, "test": 1})
    source = HuggingFaceSource(root=tmp_path)
    assert [ref.split for ref in check(source)] == ["train", "train", "test"]
    assert [len(source.load(ref).audio) for ref in source.refs()] == [1600, 1601, 1600]


def test_hf_reads_a_downloaded_folder_of_parquet_files(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    saved(ROWS).to_parquet(tmp_path / "data" / "train-00000-of-00001.parquet")
    saved(ROWS[:1]).to_parquet(tmp_path / "data" / "test-00000-of-00001-0a1b2c.parquet")
    assert [ref.split for ref in check(HuggingFaceSource(root=tmp_path))] == [
        "test",
        "train",
        "train",
    ]
