"""What every source that lies in a folder makes of a wrong one: one error, and how to fix it."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from synth.base.errors import ClipError, SourceError
from synth.sources import SOURCES, Source, Unheard, open_source, source_class
from tests.kit.cases import cases
from tests.kit.libraries import RATE, check, refused, sound


class SourceLayout(NamedTuple):
    """A source's smallest published layout.

    Args:
        index: Its table, below the root.
        header: The table's lines above the first row.
        row: A row of it.
        folders: Further folders that must be there.
        files: Further files, and what they hold.
        settings: Of the source.
        fix: What the fix names where the index is not there.
        another: The row again, with another field.
        listed_s: How long the row's clip is taken to last without audio.
        audio: Where its audio is looked for.
    """

    index: str
    header: str
    row: str
    folders: tuple[str, ...] = ()
    files: tuple[tuple[str, str], ...] = ()
    settings: tuple[tuple[str, Any], ...] = ()
    fix: str = ""
    another: str = ""
    listed_s: float = 0
    audio: str = "audio"


MUSICCAPS = (
    "ytid,start_s,end_s,audioset_positive_labels,aspect_list,caption,author_id,"
    "is_balanced_subset,is_audioset_eval\n"
)
FMA = (
    ",set,set,track,track,track,track,track,track,artist\n"
    ",split,subset,title,license,duration,genres,genres_all,tags,name\n"
    "track_id,,,,,,,,,\n"
)
CLOTHO = "file_name,keywords,sound_id,sound_link,start_end_samples,manufacturer,license\n"
LAYOUTS = {
    "audiocaps": SourceLayout(
        "train.csv",
        "audiocap_id,youtube_id,start_time,caption\n",
        "1,-a,30,A dog barks\n",
        fix="train.csv",
        listed_s=10,
    ),
    "audioset_strong": SourceLayout(
        "audioset_train_strong.tsv",
        "segment_id\tstart_time_seconds\tend_time_seconds\tlabel\n",
        "-a_30000\t0.0\t1.5\t/m/1\n",
        files=(("mid_to_display_name.tsv", "/m/1\tSpeech\n"),),
        fix="mid_to_display_name.tsv",
        listed_s=1.5,
    ),
    "clotho": SourceLayout(
        "clotho_captions_development.csv",
        "file_name,caption_1,caption_2,caption_3,caption_4,caption_5\n",
        "a.wav,Rain,Rain,Rain,Rain,Rain\n",
        files=(("clotho_metadata_development.csv", f'{CLOTHO}a.wav,,1,,"[0, 88200]",me,\n'),),
        fix="clotho_metadata",
        listed_s=2,
        audio="validation",
    ),
    "esc50": SourceLayout(
        "meta/esc50.csv",
        "filename,fold,target,category,esc10,src_file,take\n",
        "1-1-A-0.wav,1,0,dog,True,1,A\n",
        folders=("audio",),
        fix="meta/esc50.csv",
        another="1-1-A-0.wav,2,0,dog,True,1,A\n",
    ),
    "fma": SourceLayout(
        "fma_metadata/tracks.csv",
        FMA,
        "2,training,small,Food,CC0,30,[],[],[],Me\n",
        files=(("fma_metadata/genres.csv", "genre_id,title\n1,Rock\n"),),
        settings=(("uploader_tags", True),),
        fix="fma_metadata",
        another="2,training,small,Food,CC0,31,[],[],[],Me\n",
        listed_s=30,
        audio="fma_small",
    ),
    "folder": SourceLayout(
        "index.csv",
        "path,label\n",
        "a.wav,dog\n",
        settings=(("index", "index.csv"),),
        fix="below root",
    ),
    "fsd50k": SourceLayout(
        "FSD50K.ground_truth/dev.csv",
        "fname,labels,mids,split\n",
        "1,Bark,/m/1,train\n",
        folders=("FSD50K.dev_audio", "FSD50K.eval_audio"),
        files=(
            ("FSD50K.ground_truth/eval.csv", "fname,labels,mids\n2,Bark,/m/1\n"),
            ("FSD50K.metadata/dev_clips_info_FSD50K.json", "{}"),
            ("FSD50K.metadata/eval_clips_info_FSD50K.json", "{}"),
        ),
        fix="subsets",
        another="1,Music,/m/1,train\n",
    ),
    "magnatagatune": SourceLayout(
        "annotations_final.csv",
        '"clip_id"\t"rock"\t"mp3_path"\n',
        '"2"\t"1"\t"a/me-one-01-two-0-29.mp3"\n',
        fix="annotations_final.csv",
        another='"2"\t"0"\t"a/me-one-01-two-0-29.mp3"\n',
        listed_s=29,
        audio="mp3",
    ),
    "mtg_jamendo": SourceLayout(
        "data/autotagging.tsv",
        "TRACK_ID\tARTIST_ID\tALBUM_ID\tPATH\tDURATION\tTAGS\n",
        "track_0000007\ta\tb\t07/7.mp3\t60.0\tgenre---rock\n",
        fix="mtg-jamendo-dataset",
        listed_s=60,
        audio="raw_30s/audio",
    ),
    "musiccaps": SourceLayout(
        "musiccaps-public.csv",
        MUSICCAPS,
        "-a,30,40,/m/1,['slow'],A song,4,False,True\n",
        fix="musiccaps-public.csv",
        listed_s=10,
    ),
    "song_describer": SourceLayout(
        "song_describer.csv",
        "caption_id,track_id,caption,is_valid_subset,familiarity,artist_id,album_id,path,duration\n",
        "1,7,A song,True,0,1,1,07/7.mp3,60.0\n",
        fix="song_describer.csv",
        listed_s=60,
    ),
    "urbansound8k": SourceLayout(
        "metadata/UrbanSound8K.csv",
        "slice_file_name,fsID,start,end,salience,fold,classID,class\n",
        "1-3-0-0.wav,1,0.0,0.5,1,5,3,dog_bark\n",
        folders=("audio",),
        fix="metadata/UrbanSound8K.csv",
        another="1-3-0-0.wav,1,0.0,0.5,1,6,3,dog_bark\n",
    ),
    "wavtext5k": SourceLayout(
        "WavText5K.csv",
        "view_link,download_link,title,description,fname,tags\n",
        "http://soundbible.com/1-Tolling.html,x,Toll,A bell,a.wav,[]\n",
        fix="WavText5K.csv",
        another="http://soundbible.com/1-Tolling.html,x,Toll,Bells,a.wav,[]\n",
        audio="Webcrawl",
    ),
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


def make(name: str, root: Path, **settings: Any) -> Any:
    return source_class(name)(root=root, **settings)  # type: ignore[call-arg]


def write_library(name: str, root: Path, *rows: str, header: str = "") -> Any:
    """A source over its smallest layout; over other rows, if any are given."""
    layout = LAYOUTS[name]
    for folder in layout.folders:
        (root / folder).mkdir(parents=True, exist_ok=True)
    text = (header or layout.header) + ("".join(rows) or layout.row)
    for path, content in ((layout.index, text), *layout.files):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(content, encoding="utf-8")
    return make(name, root, **dict(layout.settings))


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
        source = make(name, tmp_path / place, **dict(layout.settings if layout else ()))
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
    elsewhere = make(name, tmp_path, audio="sounds")
    assert "audio: FOLDER" in refused(elsewhere, "audio folder not found").fix


PLACES = {
    "audiocaps": "audio/-a_30.wav audio/deep/Y-a_30.flac audio/-a_30_40.wav audio/-a_30000.wav "
    "audio/-a_30000_40000.wav audio/1.wav audio/-a.wav audio/Y-a.wav",
    "audioset_strong": "audio/-a_30000.wav audio/train/Y-a_30000.wav audio/-a_30.wav "
    "audio/-a_30.000.wav audio/-a_30_40.wav audio/-a_30000_40000.flac audio/-a.wav audio/Y-a.wav",
    "clotho": "development/a.wav clotho_audio_development/development/a.wav "
    "clotho_audio_development/a.wav",
    "esc50": "audio/1-1-A-0.wav",
    "fma": "fma_small/000/000002.mp3 audio/000/000002.mp3",
    "folder": "a.wav",
    "fsd50k": "FSD50K.dev_audio/1.wav",
    "magnatagatune": "a/me-one-01-two-0-29.mp3 mp3/a/me-one-01-two-0-29.mp3",
    "mtg_jamendo": "audio/07/7.mp3 audio/07/7.low.mp3 audio-low/07/7.low.mp3 "
    "raw_30s/audio/07/7.mp3 raw_30s/audio-low/07/7.low.mp3 raw_30s/audio-low/07/7.mp3",
    "musiccaps": "audio/[-a]-[30-40].wav audio/-a.wav audio/deep/-a_30_40.wav",
    "song_describer": "audio/07/7.2min.mp3 audio/audio/07/7.2min.mp3 audio/07/7.mp3",
    "urbansound8k": "audio/fold5/1-3-0-0.wav",
    "wavtext5k": "Webcrawl/download/a.wav Webcrawl/44100/audios/a.wav Webcrawl/a.wav",
}


@cases(
    ("name", "place"),
    [(name, place) for name, places in PLACES.items() for place in places.split()],
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


BAD_ROWS = {
    "audiocaps": [(",30,", ",soon,", "line 2: start_time is 'soon'")],
    "audioset_strong": [
        ("/m/1", "/m/none", "line 2: label '/m/none' is not in mid_to"),
        ("0.0", "soon", "line 2: start_time_seconds is 'soon'"),
        ("1.5", "nan", "line 2: end_time_seconds is 'nan'"),
        ("0.0", "-1.0", "line 2: start_time_seconds is '-1.0'"),
        ("-a_30000", "a", "line 2: segment_id is 'a'"),
        ("\t/m/1", "", "line 2: expected 4 fields"),
    ],
    "fma": [
        ("2,", "x,", "line 4: expected 10 fields, the first a number"),
        ("small", "tiny", "line 4: track 2: set.subset is 'tiny'"),
        (",30", ",long", "line 4: track 2: track.duration is 'long'"),
        ("30,[]", "30,[__import__('os')]", "expected a list of numbers"),
        ("30,[],[]", "30,[],[99]", "line 4: track 2: genre 99 is not in genres.csv"),
        ("[],Me", "[lofi],Me", "line 4: track 2: track.tags: '[lofi]' is not a list"),
    ],
    "magnatagatune": [
        ('\t"1"', "", "line 2: expected 3 fields"),
        ('"1"', '"2"', "line 2: clip 2: 'rock' is '2'"),
        ("a/me-one-01-two-0-29.mp3", "", "clip 2: '' is not a clip path"),
        ("a/me", "../me", "is not a clip path"),
    ],
    "mtg_jamendo": [
        ("\tgenre---rock", "", "line 2: 5 columns"),
        ("genre---rock", "rock", "'rock' is not a tag"),
        ("60.0", "long", "line 2: DURATION is 'long'"),
        ("track_0000007", "track_x", "'track_x' is not a track id"),
    ],
    "musiccaps": [
        ("-a", "", "clip of ''"),
        ("30", "soon", "start is 'soon'"),
        ("40", "0", "expected a video and seconds"),
        ("['slow']", "[rock]", "is not a list"),
        ("['slow']", "__import__('os')", "is not a list"),
        ("False,True", "False,yes", "is_audioset_eval is 'yes'"),
    ],
    "song_describer": [
        ("1,7", "1,x", "line 2: 'x' is not a track id"),
        ("True", "maybe", "line 2: is_valid_subset is 'maybe'"),
        ("60.0", "", "line 2: duration is ''"),
    ],
    "urbansound8k": [
        ("0.5,1", "0.5,3", "line 2: salience is '3'"),
        ("0.5", "soon", "line 2: end is 'soon', expected seconds"),
        ("0.5", "nan", "line 2: end is 'nan'"),
        ("0.5", "0.0", "line 2: start is '0.0' and end '0.0', expected seconds in order"),
    ],
    "wavtext5k": [("soundbible.com", "example.org", "line 2: view_link is 'http://example.org")],
}


@cases(
    ("name", "old", "new", "told"),
    [(name, *row) for name, rows in BAD_ROWS.items() for row in rows],
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
    found = [ref.location for ref in refs(make(name, root))]
    assert any(location.startswith("dog/link/") for location in found)
    assert len(found) == {"folder": 3, "parquet": 1, "hf": 1}[name]


def test_two_links_to_one_folder_are_two_labels(tmp_path: Path) -> None:
    # The second was passed over.
    sound(tmp_path / "all" / "a.wav")
    root = tmp_path / "root"
    root.mkdir()
    for label in ("dog", "puppy"):
        (root / label).symlink_to(tmp_path / "all")
    found = refs(make("folder", root))
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
    refused(make(name, tmp_path), "Permission denied", str(closed))


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
    refused(make(name, tmp_path), "", str(tmp_path))


@cases("name", ["parquet", "hf"])
def test_a_table_without_rows_is_told(name: str, tmp_path: Path) -> None:
    pq.write_table(pa.table({"audio": pa.array([], pa.binary())}), tmp_path / "a.parquet")
    refused(make(name, tmp_path), "no rows")


def test_a_column_that_is_there_twice_is_told(tmp_path: Path) -> None:
    # The second stood over the first.
    (tmp_path / "i.csv").write_text("path,label,label\na.wav,dog,cat\n")
    refused(make("folder", tmp_path, index="i.csv"), "'label' appears twice")


def test_a_field_that_is_too_long_is_told_with_its_place(tmp_path: Path) -> None:
    (tmp_path / "i.csv").write_text("path,label\na.wav,dog\nb.wav," + "x" * 200_000 + "\n")
    told = r"i\.csv: after line 2: field larger than field limit"
    refused(make("folder", tmp_path, index="i.csv"), told)


def test_class_numbers_without_a_name_are_told_and_minus_one_is_no_label(tmp_path: Path) -> None:
    # An IndexError, or the last class's name.
    info = json.dumps({"info": {"features": {"label": {"names": ["dog", "rain"]}}}})
    for numbers, labels in (([1, -1], [("rain",), ()]), ([2], None)):
        table = pa.table({"audio": [b"x"] * len(numbers), "label": numbers})
        table = table.replace_schema_metadata({"huggingface": info})
        pq.write_table(table, tmp_path / "train-00000-of-00001.parquet")
        source = make("hf", tmp_path)
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
    refused(make("parquet", tmp_path), r"a\.parquet: cannot be read")
