"""Sources: each library's own layout on a miniature, wrong input named, and real data."""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import soundfile
from libraries import RATE, check, sound, write_csv
from pydantic import ValidationError

from synth.base.errors import ClipError, SourceError
from synth.labels.lexicon import Tag
from synth.sources import SOURCES, ClipRef, Source, Unheard, open_source, source_class
from synth.sources.captioned.audiocaps import AudioCaps
from synth.sources.own.folder import FolderSource, index_line
from synth.sources.procedural.foley.source import Foley
from synth.sources.reading.tables import Columns, read_rows
from synth.sources.sounds.esc10 import ESC50_NAMES, Esc10
from synth.sources.sounds.esc50 import Esc50

# ESC-50

ESC50_COLUMNS = ("filename", "fold", "target", "category", "esc10", "src_file", "take")
ESC50_ROWS = [
    ("1-100-A-0.wav", 1, 0, "dog", True, 100, "A"),
    ("1-100-B-0.wav", 1, 0, "dog", True, 100, "B"),
    ("5-7-A-40.wav", 5, 40, "helicopter", False, 7, "A"),
]


def esc50(root: Path, rows: Iterable[Sequence[object]] = ESC50_ROWS, **settings: Any) -> Esc50:
    write_csv(root / "meta" / "esc50.csv", ESC50_COLUMNS, rows, **settings)
    for seed, name in enumerate(["1-100-A-0.wav", "5-7-A-40.wav"]):
        sound(root / "audio" / name, seed)
    return Esc50(root=root)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_esc50_reads_its_own_layout(tmp_path: Path, encoding: str) -> None:
    refs = check(esc50(tmp_path, encoding=encoding))
    assert [ref.id for ref in refs] == ["esc50/1-100-A-0", "esc50/1-100-B-0", "esc50/5-7-A-40"]
    assert [ref.labels for ref in refs] == [("dog",), ("dog",), ("helicopter",)]
    assert [ref.split for ref in refs] == ["1", "1", "5"]
    assert [ref.recording for ref in refs] == ["freesound/100", "freesound/100", "freesound/7"]
    assert [ref.licence for ref in refs] == ["CC-BY-3.0", "CC-BY-3.0", "CC-BY-NC-3.0"]
    assert "Piczak" in refs[0].attribution


def test_esc50_loads_and_a_listed_file_that_is_gone_is_a_clip_error(tmp_path: Path) -> None:
    source = esc50(tmp_path)
    here, gone, _ = source.refs()
    recording = source.load(here)
    assert (len(recording.audio), recording.rate, recording.channels) == (1600, RATE, 1)
    with pytest.raises(ClipError, match="cannot be read"):
        source.load(gone)
    assert source.stamp(gone) == "missing"
    assert source.stamp(here) != "missing"


def test_esc50_of_a_wrong_folder_says_what_to_give(tmp_path: Path) -> None:
    for root in (tmp_path / "none", tmp_path):
        with pytest.raises(SourceError, match="not found") as caught:
            list(Esc50(root=root).refs())
        assert "meta/esc50.csv" in caught.value.fix
    (tmp_path / "audio").mkdir()
    with pytest.raises(SourceError, match=r"esc50\.csv"):
        list(Esc50(root=tmp_path).refs())
    write_csv(tmp_path / "meta" / "esc50.csv", ("filename", "fold"), [])
    with pytest.raises(SourceError, match="no column 'category'"):
        list(Esc50(root=tmp_path).refs())


def test_the_real_esc50(shared_data: Callable[[str], Path]) -> None:
    source = Esc50(root=shared_data("ESC-50"))
    refs = check(source)
    assert len(refs) == 229
    assert len({ref.labels for ref in refs}) == 49
    assert {ref.split for ref in refs} == {"4"}
    for ref in refs[::60]:
        recording = source.load(ref)
        assert (len(recording.audio), recording.rate) == (220_500, 44_100)


# ESC-10


def test_esc10_reads_its_own_layout(tmp_path: Path) -> None:
    for folder, name in (("001 - Dog bark", "1-100-A"), ("010 - Fire crackling", "3-7-B")):
        sound(tmp_path / folder / f"{name}.ogg")
    (tmp_path / "LICENSE").write_text("CC BY")
    (tmp_path / "001 - Dog bark" / "notes.txt").write_text("no sound")
    dog, fire = check(Esc10(root=tmp_path))
    assert dog == ClipRef(
        id="esc10/1-100-A",
        location="001 - Dog bark/1-100-A.ogg",
        labels=("dog",),
        recording="freesound/100",
        licence="CC-BY-3.0",
        attribution="ESC-10 (K. J. Piczak), Freesound 100",
        split="1",
    )
    assert (fire.labels, fire.split) == (("crackling_fire",), "3")


def test_esc10_of_a_wrong_folder_or_with_a_stray_file_is_a_source_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="not found"):
        list(Esc10(root=tmp_path / "none").refs())
    with pytest.raises(SourceError, match="holds no") as caught:
        list(Esc10(root=tmp_path).refs())
    assert "001 - Dog bark" in caught.value.fix
    stray = sound(tmp_path / "002 - Rain" / "my rain.ogg")
    with pytest.raises(SourceError, match=stray.name):
        list(Esc10(root=tmp_path).refs())


def test_the_real_esc10(shared_data: Callable[[str], Path]) -> None:
    source = Esc10(root=shared_data("ESC-10"))
    refs = check(source)
    assert len(refs) == 320
    assert Counter(ref.labels[0] for ref in refs) == dict.fromkeys(ESC50_NAMES.values(), 32)
    assert Counter(ref.split for ref in refs) == dict.fromkeys("1234", 80)
    assert source.load(refs[0]).rate == 44_100


# AudioCaps

AUDIOCAPS = ("audiocap_id", "youtube_id", "start_time", "caption")


def audiocaps(root: Path) -> AudioCaps:
    write_csv(
        root / "train.csv",
        AUDIOCAPS,
        [(1, "-abc_D", 30, "A dog barks, then howls"), (2, "--x", 0, 'A man says "hi"\nloudly')],
        "utf-8-sig",
    )
    write_csv(root / "val.csv", AUDIOCAPS, [(3, "v", 10, "Wind"), (4, "v", 10, "It is windy")])
    sound(root / "audio" / "Y-abc_D_30.wav")
    sound(root / "audio" / "deep" / "v_10000_20000.flac")
    return AudioCaps(root=root)


def test_audiocaps_reads_its_files_with_all_captions_of_a_clip(tmp_path: Path) -> None:
    source = audiocaps(tmp_path)
    dashes, gone, wind = check(source)
    assert dashes.id == "audiocaps/-abc_D_30"
    assert dashes.captions == ("A dog barks, then howls",)
    assert dashes.location == "audio/Y-abc_D_30.wav"
    assert (dashes.recording, dashes.split) == ("youtube/-abc_D", "train")
    assert gone.captions == ('A man says "hi"\nloudly',)
    assert (wind.captions, wind.split) == (("Wind", "It is windy"), "val")
    assert len(source.load(dashes).audio) == len(source.load(wind).audio) == 1600


def test_audiocaps_keeps_a_clip_whose_audio_is_gone_for_the_quarantine(tmp_path: Path) -> None:
    source = audiocaps(tmp_path)
    gone = next(ref for ref in source.refs() if ref.id == "audiocaps/--x_0")
    assert "--x" in gone.location
    with pytest.raises(ClipError, match="cannot be read"):
        source.load(gone)


@pytest.mark.parametrize(
    "name",
    ["v_10", "Yv_10", "v_10_20", "v_10000_20000", "3", "v", "Yv"],
)
def test_audiocaps_finds_the_common_file_names(tmp_path: Path, name: str) -> None:
    write_csv(tmp_path / "test.csv", AUDIOCAPS, [(3, "v", 10, "Wind")])
    sound(tmp_path / "elsewhere" / f"{name}.wav")
    source = AudioCaps(root=tmp_path, audio=tmp_path / "elsewhere")
    (ref,) = check(source)
    assert len(source.load(ref).audio) == 1600


def test_audiocaps_of_a_wrong_folder_is_a_source_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="not found"):
        list(AudioCaps(root=tmp_path / "none").refs())
    with pytest.raises(SourceError, match=r"no train\.csv"):
        list(AudioCaps(root=tmp_path).refs())
    write_csv(tmp_path / "test.csv", AUDIOCAPS, [(3, "v", 10, "Wind")])
    with pytest.raises(SourceError, match="audio folder") as caught:
        list(AudioCaps(root=tmp_path, audio=Path("sounds")).refs())
    assert "audio:" in caught.value.fix


def test_audiocaps_without_audio_is_a_listing_of_its_captions(tmp_path: Path) -> None:
    write_csv(tmp_path / "test.csv", AUDIOCAPS, [(3, "v", 10, "Wind")])
    listing = open_source(AudioCaps(root=tmp_path))
    assert isinstance(listing, Unheard)
    assert not isinstance(listing, Source)
    (ref,) = listing.refs()
    assert listing.row(ref)["frames"] == 10 * listing.row(ref)["sample_rate"]
    (tmp_path / "audio").mkdir()
    assert isinstance(open_source(AudioCaps(root=tmp_path)), Source)


def test_audiocaps_start_time_that_is_no_number_is_a_source_error(tmp_path: Path) -> None:
    # int(float("soon")) raised ValueError.
    write_csv(tmp_path / "train.csv", AUDIOCAPS, [(3, "v", "soon", "Wind")])
    (tmp_path / "audio").mkdir()
    with pytest.raises(SourceError, match=r"train\.csv.*soon"):
        list(AudioCaps(root=tmp_path).refs())


def test_the_real_audiocaps_captions(shared_data: Callable[[str], Path], tmp_path: Path) -> None:
    refs = check(AudioCaps(root=shared_data("AudioCaps"), audio=tmp_path))
    assert Counter(ref.split for ref in refs) == {"train": 49_838, "val": 495, "test": 975}
    assert {len(ref.captions) for ref in refs if ref.split != "train"} == {5}


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
    with pytest.raises(SourceError, match="is not known") as caught:
        list(FolderSource(root=tmp_path, index=Path("i.csv")).refs())
    assert "rename it to" in caught.value.fix


def test_columns_of_your_own_are_no_concern(tmp_path: Path) -> None:
    write_csv(tmp_path / "i.csv", ("path", "notes", "rating"), [("a.wav", "x", "5")])
    assert len(check(FolderSource(root=tmp_path, index=Path("i.csv")))) == 1


def test_folder_names_both_rows_of_a_path_that_is_listed_twice(tmp_path: Path) -> None:
    write_csv(tmp_path / "i.csv", ("path", "label"), [("a", "x"), ("b", "x"), ("a", "y")])
    with pytest.raises(SourceError, match="line 4: a is already listed in line 2"):
        list(FolderSource(root=tmp_path, index=Path("i.csv")).refs())


def test_folder_errors_say_how_to_fix_them(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="not found"):
        list(FolderSource(root=tmp_path / "none").refs())
    with pytest.raises(SourceError, match="no sub-folders") as caught:
        list(FolderSource(root=tmp_path).refs())
    assert "index: FILE" in caught.value.fix
    with pytest.raises(SourceError, match=r"i\.csv"):
        list(FolderSource(root=tmp_path, index=Path("i.csv")).refs())
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
    with pytest.raises(SourceError, match=r"i\.parquet"):
        list(FolderSource(root=tmp_path, index=Path("i.parquet")).refs())


@pytest.mark.parametrize("rows", [0, 1])
def test_a_parquet_index_without_the_column_is_a_source_error(tmp_path: Path, rows: int) -> None:
    # With no rows the missing column went unseen.
    pq.write_table(pa.table({"file": pa.array(["a"] * rows, pa.string())}), tmp_path / "i.parquet")
    with pytest.raises(SourceError, match="no column 'path'"):
        list(FolderSource(root=tmp_path, index=Path("i.parquet")).refs())


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
    with pytest.raises(SourceError, match=r"each of mine\.csv, more\.parquet could be the index"):
        list(FolderSource(root=tmp_path).refs())
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
    with pytest.raises(SourceError, match=reason) as caught:
        list(FolderSource(root=tmp_path).refs())
    assert fix in caught.value.fix


def test_a_folder_or_index_of_another_name_is_told_with_what_is_there(tmp_path: Path) -> None:
    (tmp_path / "sounds").mkdir()
    with pytest.raises(SourceError, match="soundz: sound folder not found") as folder:
        list(FolderSource(root=tmp_path / "soundz").refs())
    assert folder.value.fix == f"did you mean {tmp_path / 'sounds'}?"
    write_csv(tmp_path / "sounds" / "mine.csv", ("path",), [("a.wav",)])
    with pytest.raises(SourceError, match="index not found") as index:
        list(FolderSource(root=tmp_path / "sounds", index=Path("indx.csv")).refs())
    assert "below root" in index.value.fix
    assert "mine.csv" in index.value.fix


# Tables


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"path,label\na.wav\n", "line 2: expected 2 fields"),
        (b"path,label\na.wav,dog,bark\n", "line 2: expected 2 fields"),
        (b"path,label\nok,x\na.wav,dog, big\n", "line 3: expected 2 fields"),
        (b"file,label\na.wav,dog\n", "row 1: no column 'path'"),
        (b"", "no column 'path'"),
        (b'path,label\n"a"b,dog\n', "expected after"),
        (b"path,label\n\xff\xfe,dog\n", "utf-8"),
    ],
)
def test_a_bad_csv_is_a_source_error_that_names_the_file(
    tmp_path: Path, data: bytes, reason: str
) -> None:
    path = tmp_path / "i.csv"
    path.write_bytes(data)
    with pytest.raises(SourceError, match=reason) as caught:
        list(read_rows(path, Columns(("path",), "fix")))
    assert "i.csv" in str(caught.value)
    assert caught.value.fix


# Foley


def test_foley_lists_takes_in_five_folds_and_makes_the_same_sound_again() -> None:
    source = Foley(classes=("dog", "rain"), takes=6)
    refs = check(source)
    assert Counter(ref.labels[0] for ref in refs) == {"dog": 6, "rain": 6}
    assert [ref.split for ref in refs[:6]] == ["1", "2", "3", "4", "5", "1"]
    one, again, other = source.load(refs[0]), source.load(refs[0]), source.load(refs[1])
    assert one.sha256 == again.sha256 != other.sha256
    assert np.array_equal(one.audio, again.audio)
    more = Foley(classes=("dog",), takes=20)
    assert more.load(next(iter(more.refs()))).sha256 == one.sha256
    assert Foley(classes=("dog",), seed=1).load(refs[0]).sha256 != one.sha256
    assert source.stamp(refs[0]) != Foley(seed=1).stamp(refs[0])


@pytest.mark.parametrize("settings", [{"classes": ("unicorn",)}, {"takes": 0}, {"seed": -1}])
def test_foley_refuses_what_it_cannot_make(settings: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Foley(**settings)


# All


def test_sources_are_found_by_name() -> None:
    for name in SOURCES:
        assert source_class(name).name == name  # type: ignore[attr-defined]
    with pytest.raises(SourceError, match="no source 'esc51'") as caught:
        source_class("esc51")
    assert "esc50" in caught.value.fix


def test_channels_are_mixed_down_to_their_mean(tmp_path: Path) -> None:
    path = sound(tmp_path / "x" / "a.wav", channels=8)
    source = FolderSource(root=tmp_path)
    (ref,) = source.refs()
    recording = source.load(ref)
    samples, _ = soundfile.read(io.BytesIO(path.read_bytes()), dtype="float32")
    assert recording.channels == 8
    assert np.allclose(recording.audio, samples.mean(axis=1), atol=1e-6)


def test_a_stamp_changes_with_the_file(tmp_path: Path) -> None:
    path = sound(tmp_path / "x" / "a.wav")
    source = FolderSource(root=tmp_path)
    (ref,) = source.refs()
    before = source.stamp(ref)
    assert source.stamp(ref) == before
    sound(path, frames=1700)
    assert source.stamp(ref) != before


def test_unknown_settings_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ValidationError):
        Esc50(root=tmp_path, folder="x")  # type: ignore[call-arg]
