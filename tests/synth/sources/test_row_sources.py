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

from synth.base.errors import ClipError, SourceError
from synth.labels.lexicon import Tag
from synth.sources.own.hf import HuggingFaceSource, ParquetSource
from tests.kit.libraries import RATE, check, sound


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


@pytest.mark.parametrize("rows_a_group", [1, 2])
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


def test_parquet_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="no Parquet file"):
        ParquetSource(root=tmp_path).refs()
    pq.write_table(pa.table({"sound": ["a.wav"], "id": ["a"]}), tmp_path / "x.parquet")
    with pytest.raises(SourceError, match="no column audio") as caught:
        list(ParquetSource(root=tmp_path).refs())
    assert "columns: {audio: sound}" in caught.value.fix
    with pytest.raises(SourceError, match="'text'") as caught:
        list(ParquetSource(root=tmp_path, columns={"audio": "sound", "caption": "text"}).refs())
    assert "sound, id" in caught.value.fix
    with pytest.raises(SourceError, match="unknown captions"):
        list(ParquetSource(root=tmp_path, columns={"captions": "id"}).refs())
    (tmp_path / "x.parquet").write_bytes(b"no table")
    with pytest.raises(SourceError, match=r"x\.parquet: cannot be read"):
        list(ParquetSource(root=tmp_path).refs())


def test_an_id_given_twice_names_both_rows(tmp_path: Path) -> None:
    table = pa.table({"audio": ["a.wav", "b.wav"], "id": ["same", "same"]})
    pq.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(
        SourceError, match=r"row 1: the id 'parquet/same' is already used in .*row 0"
    ):
        list(ParquetSource(root=tmp_path).refs())


def test_hf_reads_what_save_to_disk_wrote(tmp_path: Path) -> None:
    saved(ROWS).save_to_disk(tmp_path / "one")
    source = HuggingFaceSource(root=tmp_path / "one")
    dog, rain = check(source)
    assert (dog.labels, dog.captions, dog.split) == (("dog",), ('A dog, "Rex"',), "")
    assert len(source.load(rain).audio) == 1601


def test_hf_reads_a_saved_dataset_dict_with_its_splits(tmp_path: Path) -> None:
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


def test_hf_of_another_folder_is_a_source_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="not found"):
        HuggingFaceSource(root=tmp_path / "none").refs()
    with pytest.raises(SourceError, match="no Hugging Face dataset") as caught:
        HuggingFaceSource(root=tmp_path).refs()
    assert "save_to_disk" in caught.value.fix
