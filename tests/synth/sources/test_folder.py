"""Your own sounds: a folder a label, an index of any form, or rows of Parquet and Hugging Face."""

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
from pydantic import ValidationError

from synth.base.errors import ClipError
from synth.labels.lexicon import Tag
from synth.sources.own.folder import FolderSource, index_line
from synth.sources.own.hf import HuggingFaceSource, ParquetSource
from synth.sources.reading.files import list_refs
from tests.kit.cases import cases
from tests.kit.libraries import RATE, check, refused, sound, write_csv

# Folder


def test_folder_takes_one_folder_a_label(tmp_path: Path) -> None:
    sound(tmp_path / "dog, big (brown)" / "a.wav")
    sound(tmp_path / "rain" / "deep" / "B.FLAC")
    (tmp_path / "rain" / "readme.txt").write_text("no sound")
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache" / "thumbnail").write_text("not shown")
    dog, text, rain = check(FolderSource(root=tmp_path, licence="CC0-1.0", attribution="me"))
    # What is no audio is listed too, so that it ends in the quarantine table.
    assert text.location == "rain/readme.txt"
    assert (dog.labels, rain.labels) == (("dog, big (brown)",), ("rain",))
    assert rain.location == "rain/deep/B.FLAC"
    assert (dog.licence, dog.attribution) == ("CC0-1.0", "me")
    assert dog.recording != rain.recording


INDEX = [
    {"path": "a.wav", "label": "dog; bark ;", "caption": 'A dog, "big"', "split": "train"},
    {"path": "x/b.wav", "label": "", "caption": "", "split": "test"},
]
LISTED = [
    {"path": "a.wav", "label": ["dog", "bark"], "caption": 'A dog, "big"', "split": "train"},
    {"path": "x/b.wav", "label": None, "caption": None, "split": "test"},
]


def test_folder_takes_an_index(tmp_path: Path) -> None:
    write_csv(tmp_path / "i.csv", list(INDEX[0]), [list(row.values()) for row in INDEX])
    for name, rows in (("i", INDEX), ("listed", LISTED)):
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / f"{name}.parquet")
    for index in ("i.csv", "i.parquet", "listed.parquet"):
        first, second = check(FolderSource(root=tmp_path, index=Path(index)))
        assert first.labels == ("dog", "bark")
        assert first.captions == ('A dog, "big"',)
        assert (first.split, second.split) == ("train", "test")
        assert (second.labels, second.captions) == ((), ())
        assert second.location == "x/b.wav"


def test_labels_and_captions_are_composed_and_hold_no_controls(tmp_path: Path) -> None:
    """As macOS decomposes the names of folders, and as spreadsheets break lines in cells."""
    decomposed = "cafe\u0301"
    sound(tmp_path / decomposed / "a.wav")
    (ref,) = list_refs(FolderSource(root=tmp_path))
    assert (ref.labels, ref.location) == (("caf\xe9",), f"{decomposed}/a.wav")
    rows = [["a.wav", f"caf\xe9; {decomposed}", "A dog\nbarks\x01, \u202eloudly"]]
    write_csv(tmp_path / "index.csv", ["path", "label", "caption"], rows)
    (ref,) = list_refs(FolderSource(root=tmp_path))
    assert (ref.labels, ref.captions) == (("caf\xe9",), ("A dog barks, loudly",))


def test_folder_keeps_recordings_licences_and_tags_of_the_index(tmp_path: Path) -> None:
    columns = ("path", "recording", "licence", "tags", "notes")
    rows = [
        ("a.wav", "r1", "CC0-1.0", "genre:rock; mood:calm;guitar", "my own"),
        ("b.wav", "r1", "", "", ""),
        ("c.wav", "", "", "slow, piano|jazz", ""),
    ]
    write_csv(tmp_path / "i.csv", columns, rows)
    a, b, c = check(FolderSource(root=tmp_path, index=Path("i.csv"), licence="mine"))
    assert a.recording == b.recording != c.recording
    assert (a.licence, b.licence) == ("CC0-1.0", "mine")
    assert a.tags == (Tag("genre", "rock"), Tag("mood", "calm"), Tag("", "guitar"))
    assert b.tags == ()
    assert c.tags == (Tag("", "slow"), Tag("", "piano"), Tag("", "jazz"))


@cases("misspelt", ["captions", "Caption", "lable", "licence "])
def test_a_misspelt_column_is_refused_and_not_passed_over(tmp_path: Path, misspelt: str) -> None:
    # A "captions" column was ignored, and captions made of the labels instead.
    write_csv(tmp_path / "i.csv", ("path", misspelt), [("a.wav", "x")])
    source = FolderSource(root=tmp_path, index=Path("i.csv"))
    assert "rename it to" in refused(source, "is not known").fix


def test_folder_names_both_rows_of_a_path_that_is_listed_twice(tmp_path: Path) -> None:
    write_csv(tmp_path / "i.csv", ("path", "label"), [("a", "x"), ("b", "x"), ("a", "y")])
    source = FolderSource(root=tmp_path, index=Path("i.csv"))
    refused(source, "line 4: a is already listed in line 2")
    (tmp_path / "i.csv").unlink()
    assert "index: FILE" in refused(FolderSource(root=tmp_path), "no sub-folders").fix
    with pytest.raises(ValidationError):
        FolderSource(root=tmp_path, id_prefix="a b")


def test_a_parquet_index_without_the_column_is_a_source_error(tmp_path: Path) -> None:
    # With no rows the missing column went unseen.
    source = FolderSource(root=tmp_path, index=Path("i.parquet"))
    for rows in (0, 1):
        table = pa.table({"file": pa.array(["a"] * rows, pa.string())})
        pq.write_table(table, tmp_path / "i.parquet")
        refused(source, "no column 'path'")
    (tmp_path / "i.parquet").write_text("path,label\n")
    refused(source, r"i\.parquet")


def test_an_index_that_lies_in_the_folder_is_used(tmp_path: Path) -> None:
    # It was ignored: licences and recordings were lost, and it counted as a sound.
    sound(tmp_path / "dog" / "a.wav")
    (tmp_path / "notes.txt").write_text("beside the folders")
    (without,) = FolderSource(root=tmp_path).refs()
    assert (without.licence, index_line(FolderSource(root=tmp_path))) == ("unknown", "")
    write_csv(tmp_path / "mine.csv", ("path", "licence"), [("dog/a.wav", "CC0-1.0")])
    write_csv(tmp_path / "other.csv", ("name", "rating"), [("a", "5")])
    (ref,) = FolderSource(root=tmp_path).refs()
    assert (ref.licence, ref.labels) == ("CC0-1.0", ("dog",))
    assert index_line(FolderSource(root=tmp_path)) == "index: mine.csv"
    pq.write_table(pa.table({"path": ["dog/a.wav"]}), tmp_path / "more.parquet")
    refused(FolderSource(root=tmp_path), r"each of mine\.csv, more\.parquet could be the index")
    write_csv(tmp_path / "index.csv", ("path", "label"), [("dog/a.wav", "hound")])
    (ref,) = FolderSource(root=tmp_path).refs()
    assert ref.labels == ("hound",)


@cases(
    ("data", "reason", "fix"),
    [
        (b"file,category\na,b\n", "no column 'path' among file, category", "'file' to 'path', ren"),
        (b"path;label\na;b\n", "columns are separated by ';', expected ','", "with commas"),
        (b'path,label\n"a"b,dog\n', "after line 1: .* expected after", "quotes closed"),
        (b"path,label\n" + b"\n" * 5000 + b"c,\xe9t\xe9\n", "line 5002: ", "UTF-8"),
    ],
)
def test_an_index_of_another_form_is_told_with_what_it_is(
    tmp_path: Path, data: bytes, reason: str, fix: str
) -> None:
    (tmp_path / "index.csv").write_bytes(data)
    assert fix in refused(FolderSource(root=tmp_path), reason).fix


def test_a_folder_or_index_of_another_name_is_told_with_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "sounds").mkdir()
    lost = refused(FolderSource(root=tmp_path / "soundz"), "soundz: sound folder not found")
    assert lost.fix == f"did you mean {tmp_path / 'sounds'}?"
    write_csv(tmp_path / "sounds" / "mine.csv", ("path",), [("a.wav",)])
    source = FolderSource(root=tmp_path / "sounds", index=Path("indx.csv"))
    assert "mine.csv" in refused(source, "index not found").fix


# Sources of rows: Parquet files and Hugging Face folders, sounds embedded or beside them.


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
