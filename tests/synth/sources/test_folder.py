"""Your own sounds: a folder a label, or an index of any form."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from synth.labels.lexicon import Tag
from synth.sources.own.folder import FolderSource, index_line
from tests.kit.libraries import check, refused, sound, write_csv

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


@pytest.mark.parametrize("kind", ["csv", "bom", "parquet"])
def test_folder_takes_an_index(tmp_path: Path, kind: str) -> None:
    if kind == "parquet":
        index = tmp_path / "index.parquet"
        rows = [INDEX[0], INDEX[1] | {"caption": None}]
        pq.write_table(pa.Table.from_pylist(rows), index)
    else:
        encoding = "utf-8-sig" if kind == "bom" else "utf-8"
        rows_of_text = [row.values() for row in INDEX]
        index = write_csv(tmp_path / "index.csv", list(INDEX[0]), rows_of_text, encoding)  # type: ignore[arg-type]
    first, second = check(FolderSource(root=tmp_path, index=Path(index.name)))
    assert first.labels == ("dog", "bark")
    assert first.captions == ('A dog, "big"',)
    assert (first.split, second.split) == ("train", "test")
    assert (second.labels, second.captions) == ((), ())
    assert second.location == "x/b.wav"


def test_folder_keeps_recordings_and_licences_of_the_index(tmp_path: Path) -> None:
    columns = ("path", "recording", "licence", "attribution")
    write_csv(
        tmp_path / "i.csv",
        columns,
        [("a.wav", "r1", "CC0-1.0", "you"), ("b.wav", "r1", "", ""), ("c.wav", "", "", "")],
    )
    a, b, c = check(FolderSource(root=tmp_path, index=Path("i.csv"), licence="mine"))
    assert a.recording == b.recording != c.recording
    assert (a.licence, b.licence) == ("CC0-1.0", "mine")


def test_folder_reads_tags_with_and_without_categories(tmp_path: Path) -> None:
    rows = [("a.wav", "genre:rock; mood:calm;guitar"), ("b.wav", ""), ("c.wav", "slow, piano|jazz")]
    write_csv(tmp_path / "i.csv", ("path", "tags"), rows)
    tagged, bare, parted = check(FolderSource(root=tmp_path, index=Path("i.csv")))
    assert tagged.tags == (Tag("genre", "rock"), Tag("mood", "calm"), Tag("", "guitar"))
    assert bare.tags == ()
    assert parted.tags == (Tag("", "slow"), Tag("", "piano"), Tag("", "jazz"))


@pytest.mark.parametrize("misspelt", ["captions", "Caption", "lable", "licence "])
def test_a_misspelt_column_is_refused_and_not_passed_over(tmp_path: Path, misspelt: str) -> None:
    # A "captions" column was ignored, and captions made of the labels instead.
    write_csv(tmp_path / "i.csv", ("path", misspelt), [("a.wav", "x")])
    source = FolderSource(root=tmp_path, index=Path("i.csv"))
    assert "rename it to" in refused(source, "is not known").fix


def test_columns_of_your_own_are_no_concern(tmp_path: Path) -> None:
    write_csv(tmp_path / "i.csv", ("path", "notes", "rating"), [("a.wav", "x", "5")])
    assert len(check(FolderSource(root=tmp_path, index=Path("i.csv")))) == 1


def test_folder_names_both_rows_of_a_path_that_is_listed_twice(tmp_path: Path) -> None:
    write_csv(tmp_path / "i.csv", ("path", "label"), [("a", "x"), ("b", "x"), ("a", "y")])
    source = FolderSource(root=tmp_path, index=Path("i.csv"))
    refused(source, "line 4: a is already listed in line 2")


def test_folder_errors_say_how_to_fix_them(tmp_path: Path) -> None:
    assert "index: FILE" in refused(FolderSource(root=tmp_path), "no sub-folders").fix
    with pytest.raises(ValidationError):
        FolderSource(root=tmp_path, id_prefix="a b")


def test_folder_labels_in_a_parquet_list_are_labels(tmp_path: Path) -> None:
    # str(["dog", "bark"]) became one label, brackets and all.
    row = {"path": "a.wav", "label": ["dog", "bark"]}
    pq.write_table(pa.Table.from_pylist([row]), tmp_path / "i.parquet")
    (ref,) = FolderSource(root=tmp_path, index=Path("i.parquet")).refs()
    assert ref.labels == ("dog", "bark")


def test_a_parquet_index_that_is_none_is_a_source_error(tmp_path: Path) -> None:
    # pyarrow's own error came through.
    (tmp_path / "i.parquet").write_text("path,label\n")
    refused(FolderSource(root=tmp_path, index=Path("i.parquet")), r"i\.parquet")


@pytest.mark.parametrize("rows", [0, 1])
def test_a_parquet_index_without_the_column_is_a_source_error(tmp_path: Path, rows: int) -> None:
    # With no rows the missing column went unseen.
    pq.write_table(pa.table({"file": pa.array(["a"] * rows, pa.string())}), tmp_path / "i.parquet")
    refused(FolderSource(root=tmp_path, index=Path("i.parquet")), "no column 'path'")


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


@pytest.mark.parametrize(
    ("data", "reason", "fix"),
    [
        (b"file,category\na,b\n", "no column 'path' among file, category", "'file' to 'path', ren"),
        (b"path;label\na;b\n", "columns are separated by ';', expected ','", "with commas"),
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
