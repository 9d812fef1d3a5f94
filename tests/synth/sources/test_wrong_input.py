"""What every source that lies in a folder makes of a wrong one: one error, and how to fix it."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synth.base.errors import ClipError, SourceError
from synth.sources import SOURCES, Source, Unheard, open_source
from tests.kit.cases import cases
from tests.kit.libraries import RATE, check, make_source, refused, sound
from tests.kit.tables import read_data


class SourceLayout(NamedTuple):
    """A source's smallest published layout.

    Args:
        index: Its table, below the root.
        header: The table's lines above the first row.
        row: A row of it.
        places: Where its audio may lie.
        folders: Further folders that must be there.
        files: Further files, and what they hold.
        settings: Of the source.
        fix: What the fix names where the index is not there.
        another: The row again, with another field.
        listed_s: How long the row's clip is taken to last without audio.
        audio: Where its audio is looked for.
        bad: What makes a row wrong: what is replaced, by what, and what is told.
    """

    index: str
    header: str
    row: str
    places: Sequence[str]
    folders: Sequence[str] = ()
    files: Mapping[str, str] = {}
    settings: Mapping[str, Any] = {}
    fix: str = ""
    another: str = ""
    listed_s: float = 0
    audio: str = "audio"
    bad: Sequence[tuple[str, str, str]] = ()


LAYOUTS = {
    name: SourceLayout(**told) for name, told in read_data("libraries/smallest.yaml").items()
}
WITHOUT_TABLE = {
    "esc10": "001 - Dog bark",
    "hf": "save_to_disk",
    "lp_musiccaps": "LP-MusicCaps-MC, -MSD",
    "macs": "MACS.yaml",
    "parquet": "Parquet file",
}
"""Sources of another form, and what the fix names where that is not there."""
FILELESS = {"foley", "jam", "treated", "vocabulary"}


def write_library(name: str, root: Path, *rows: str, header: str = "") -> Any:
    """A source over its smallest layout; over other rows, if any are given."""
    layout = LAYOUTS[name]
    for folder in layout.folders:
        (root / folder).mkdir(parents=True, exist_ok=True)
    text = (header or layout.header) + ("".join(rows) or layout.row)
    for path, content in ((layout.index, text), *layout.files.items()):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content, encoding="utf-8")
    return make_source(name, root, **layout.settings)


def library(name: str, root: Path) -> tuple[SourceLayout, Any, Path]:
    """A source over its smallest layout, and its table."""
    return LAYOUTS[name], write_library(name, root), root / LAYOUTS[name].index


def refs(source: Any) -> list[Any]:
    return list(source.refs())


def test_no_source_is_forgotten() -> None:
    assert {*LAYOUTS, *WITHOUT_TABLE, *FILELESS} == set(SOURCES)


@cases("name", sorted({*LAYOUTS, *WITHOUT_TABLE}))
def test_a_root_that_is_missing_empty_or_a_file_is_told(name: str, tmp_path: Path) -> None:
    layout = LAYOUTS.get(name)
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("no library")
    for place in ("none", "empty", "file"):
        source = make_source(name, tmp_path / place, **(layout.settings if layout else {}))
        error = refused(source, "", str(tmp_path / place))
        assert "not found" in error.message or place != "none"
        assert (layout.fix if layout else WITHOUT_TABLE[name]) in error.fix or place != "empty"


@cases("name", [name for name, layout in LAYOUTS.items() if layout.listed_s])
def test_without_its_audio_a_library_is_a_listing(name: str, tmp_path: Path) -> None:
    source, layout = write_library(name, tmp_path), LAYOUTS[name]
    listing = open_source(source)
    assert isinstance(listing, Unheard)
    assert not isinstance(listing, Source)
    rows = [listing.row(ref) for ref in listing.refs()]
    assert [row["frames"] for row in rows] == [layout.listed_s * row["sample_rate"] for row in rows]
    (tmp_path / layout.audio).mkdir(parents=True)
    assert isinstance(open_source(source), Source)
    elsewhere = make_source(name, tmp_path, audio="sounds")
    assert "audio: FOLDER" in refused(elsewhere, "audio folder not found").fix


@cases(
    ("name", "place"),
    [(name, place) for name, layout in LAYOUTS.items() for place in layout.places],
)
def test_audio_is_found_where_it_was_collected_or_unpacked(
    name: str, place: str, tmp_path: Path
) -> None:
    source = write_library(name, tmp_path)
    path = sound(tmp_path / place, frames=2 * RATE)
    ref, *_ = check(open_source(source))  # type: ignore[arg-type]
    assert ref.location.partition("#")[0] == place
    recording = source.load(ref)
    assert (recording.rate, recording.channels) == (RATE, 1)
    assert len(recording.audio) >= RATE
    assert source.stamp(ref) != "missing"
    path.write_bytes(b"")
    with pytest.raises(ClipError, match="empty file"):
        source.load(ref)
    path.unlink()
    assert source.stamp(ref) == "missing"
    with pytest.raises(ClipError, match="cannot be read: the file is missing"):
        source.load(ref)


@cases("name", [name for name, layout in LAYOUTS.items() if layout.another])
def test_two_rows_on_one_clip_that_differ_are_told(name: str, tmp_path: Path) -> None:
    layout = LAYOUTS[name]
    refused(write_library(name, tmp_path, layout.row, layout.another), "two rows on .* differ")


@cases("name", LAYOUTS)
def test_a_table_that_is_none_is_told_by_its_name(name: str, tmp_path: Path) -> None:
    layout, source, index = library(name, tmp_path)
    for content in (
        b"",
        b"\n\n",
        b"some,other\ncolumns,here\n",
        layout.header.encode(),
        b"\x89PNG\r\n\x1a\n\xff\xfe\x00",
        f'{layout.header}{layout.row}"x'.encode(),
    ):
        index.write_bytes(content)
        refused(source, "", index.name)
    index.unlink()
    index.mkdir()
    refused(source, "", str(source.root))


@cases("name", LAYOUTS)
def test_how_a_table_was_saved_changes_nothing(name: str, tmp_path: Path) -> None:
    layout, source, index = library(name, tmp_path)
    expected, text = refs(source), index.read_text(encoding="utf-8")
    assert expected[0].id.startswith(f"{source.name}/")
    saved = ["\ufeff" + text, text.replace("\n", "\r\n"), text + "\n\n", text.rstrip("\n")]
    for content in saved:
        index.write_bytes(content.encode())
        assert refs(source) == expected
    index.write_text(layout.header + layout.row * 2, encoding="utf-8")
    if source.name == "mtg_jamendo":
        refused(source, "already")
    else:
        ids = [ref.id for ref in refs(source)]
        assert len(ids) == len(set(ids))


@cases("name", set(LAYOUTS) - {"audioset_strong", "mtg_jamendo"})
def test_columns_of_another_release_are_no_concern(name: str, tmp_path: Path) -> None:
    more = {"magnatagatune": ("\tcalm\n", "\t0\n"), "fma": (",zzz\n", ",zzz\n")}
    column, value = more.get(name, (",zzz\n", ",1\n"))
    header, row = LAYOUTS[name].header.replace("\n", column), LAYOUTS[name].row.replace("\n", value)
    assert refs(write_library(name, tmp_path, row, header=header))


@cases("name", LAYOUTS)
def test_a_table_that_may_not_be_read_is_told(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, source, index = library(name, tmp_path)
    read = Path.open

    def refuse(path: Path, *how: Any, **more: Any) -> Any:
        if path == index:
            raise PermissionError(13, "Permission denied", str(path))
        return read(path, *how, **more)

    monkeypatch.setattr(Path, "open", refuse)
    refused(source, "Permission denied", index.name)


@cases(
    ("name", "old", "new", "told"),
    [(name, *row) for name, layout in LAYOUTS.items() for row in layout.bad],
)
def test_a_bad_row_is_named(name: str, old: str, new: str, told: str, tmp_path: Path) -> None:
    layout = LAYOUTS[name]
    source = write_library(name, tmp_path, layout.row.replace(old, new, 1))
    refused(source, re.escape(told), Path(layout.index).name)


# Folders


@cases("name", ["folder", "parquet", "hf"])
def test_links_are_followed_and_loops_end(name: str, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere" / "deep"
    elsewhere.mkdir(parents=True)
    sound(elsewhere / "a.wav")
    table = pa.table({"path": ["a.wav"]})
    pq.write_table(table, elsewhere / "train-00000-of-00001.parquet")
    root = tmp_path / "root"
    (root / "dog").mkdir(parents=True)
    (root / "dog" / "link").symlink_to(elsewhere)
    (root / "dog" / "up").symlink_to(root)
    (root / "dog" / "self").symlink_to(root / "dog" / "self")
    found = [ref.location for ref in refs(make_source(name, root))]
    assert any(location.startswith("dog/link/") for location in found)
    assert len(found) == {"folder": 3, "parquet": 1, "hf": 1}[name]


def test_two_links_to_one_folder_are_two_labels(tmp_path: Path) -> None:
    # The second was passed over.
    sound(tmp_path / "all" / "a.wav")
    root = tmp_path / "root"
    root.mkdir()
    for label in ("dog", "puppy"):
        (root / label).symlink_to(tmp_path / "all")
    found = refs(make_source("folder", root))
    assert [ref.labels for ref in found] == [("dog",), ("puppy",)]


@cases("name", ["folder", "parquet", "hf"])
def test_a_folder_that_may_not_be_read_is_told_and_not_passed_over(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sound(tmp_path / "dog" / "a.wav")
    closed = tmp_path / "rain"
    closed.mkdir()
    listed = os.listdir

    def refuse(path: Any = ".") -> list[str]:
        if Path(path) == closed:
            raise PermissionError(13, "Permission denied", str(path))
        return listed(path)

    monkeypatch.setattr(os, "listdir", refuse)
    refused(make_source(name, tmp_path), "Permission denied", str(closed))


def test_collected_audio_is_found_through_links(tmp_path: Path) -> None:
    source = write_library("audiocaps", tmp_path / "root")
    (tmp_path / "root" / "audio").mkdir()
    sound(tmp_path / "disk" / "-a_30.wav")
    (tmp_path / "root" / "audio" / "part").symlink_to(tmp_path / "disk")
    (ref,) = refs(source)
    assert ref.location == "audio/part/-a_30.wav"


# Companions and other forms


COMPANIONS = {
    "fma": ("fma_small/checksums",),
    "magnatagatune": ("clip_info_final.csv",),
    "mtg_jamendo": ("audio_licenses.txt", "data/tag_map.json"),
    "musiccaps": ("class_labels_indices.csv",),
    "song_describer": ("audio_licenses.txt", "song_describer.mtg-jamendo.tsv"),
}


def test_a_companion_that_is_no_file_is_told_and_not_passed_over(tmp_path: Path) -> None:
    for name, companions in COMPANIONS.items():
        source = write_library(name, tmp_path / name)
        for companion in companions:
            path = source.root / companion
            path.mkdir(parents=True)
            if path.name == "checksums":
                with pytest.raises(SourceError, match=r"checksums.* is not a file"):
                    source.checksums()
            else:
                refused(source, "", path.name)
            path.rmdir()


def test_a_list_of_licences_without_a_track_is_told(tmp_path: Path) -> None:
    # An empty one was a ValueError.
    for name in ("mtg_jamendo", "song_describer"):
        for text in ("", "no track\n"):
            source = write_library(name, tmp_path / name)
            (tmp_path / name / "audio_licenses.txt").write_text(text)
            refused(source, "", "audio_licenses.txt")


@cases(
    ("name", "file", "text"),
    [
        ("macs", "MACS.yaml", ""),
        ("macs", "MACS.yaml", "files: []\n"),
        ("macs", "MACS.yaml", "[" * 100_000),
        ("lp_musiccaps", "annotation.json", "{}"),
        ("lp_musiccaps", "annotation.json", "[" * 100_000),
        ("lp_musiccaps", "caption_writing.json", "[]"),
        ("lp_musiccaps", "train-0.parquet", ""),
        ("hf", "state.json", "{}"),
        ("hf", "state.json", '{"_data_files": ["a.arrow"]}'),
        ("hf", "state.json", '{"_data_files": [{"filename": "gone.arrow"}]}'),
        ("hf", "dataset_dict.json", '{"splits": 3}'),
        ("hf", "dataset_dict.json", '{"splits": ["gone"]}'),
        ("parquet", "a.parquet", "PAR1"),
        ("esc10", "001 - Dog bark/notes.txt", "no sound"),
    ],
)
def test_other_forms_that_are_not_as_published_are_told(
    name: str, file: str, text: str, tmp_path: Path
) -> None:
    # Of hf, a KeyError or TypeError; of an empty list or table, no clips and no word.
    (tmp_path / file).parent.mkdir(exist_ok=True)
    (tmp_path / file).write_text(text)
    refused(make_source(name, tmp_path), "", str(tmp_path))


@cases("name", ["parquet", "hf"])
def test_a_table_without_rows_is_told(name: str, tmp_path: Path) -> None:
    pq.write_table(pa.table({"audio": pa.array([], pa.binary())}), tmp_path / "a.parquet")
    refused(make_source(name, tmp_path), "no rows")


def test_a_column_that_is_there_twice_is_told(tmp_path: Path) -> None:
    # The second stood over the first.
    (tmp_path / "i.csv").write_text("path,label,label\na.wav,dog,cat\n")
    refused(make_source("folder", tmp_path, index="i.csv"), "'label' appears twice")


def test_a_field_that_is_too_long_is_told_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "i.csv").write_text("path,label\na.wav,dog\nb.wav," + "x" * 200_000 + "\n")
    told = r"i\.csv: after line 2: field larger than field limit"
    refused(make_source("folder", tmp_path, index="i.csv"), told)


def test_class_numbers_without_a_name_are_told_and_minus_one_is_no_label(tmp_path: Path) -> None:
    # An IndexError, or the last class's name.
    info = json.dumps({"info": {"features": {"label": {"names": ["dog", "rain"]}}}})
    for numbers, labels in (([1, -1], [("rain",), ()]), ([2], None)):
        table = pa.table({"audio": [b"x"] * len(numbers), "label": numbers})
        table = table.replace_schema_metadata({"huggingface": info})
        pq.write_table(table, tmp_path / "train-00000-of-00001.parquet")
        source = make_source("hf", tmp_path)
        if labels is None:
            refused(source, "label 2 is not one of the 2 classes that have names")
        else:
            assert [ref.labels for ref in refs(source)] == labels


def test_a_damaged_parquet_file_is_told_in_one_line(tmp_path: Path) -> None:
    # Damage behind an intact footer was an OSError.
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"label": ["a"] * 50, "audio": [b"x"] * 50}), path)
    data = path.read_bytes()
    path.write_bytes(data[:4] + b"\xff" * 60 + data[64:])
    refused(make_source("parquet", tmp_path), r"a\.parquet: cannot be read")
