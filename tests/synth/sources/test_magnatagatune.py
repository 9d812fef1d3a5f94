"""MagnaTagATune: tables parted by tabs, clips of one track, spellings of one tag, empty files."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path

import pytest
from libraries import check, sound

from synth.base.errors import ClipError, SourceError
from synth.labels.lexicon import Tag
from synth.sources import Unheard, open_source
from synth.sources.music.magnatagatune import MagnaTagATune

TAGS = ("no voice", "female vocal", "woman singing", "no piano", "rock", "harpsicord", "not rock")
HEADER = ("clip_id", *TAGS, "mp3_path")
CREDITS = (
    "clip_id",
    "track_number",
    "title",
    "artist",
    "album",
    "url",
    "segmentStart",
    "segmentEnd",
    "original_url",
    "mp3_path",
)
SONG = "b/anne-first_album-01-a_song-0-29.mp3"
ROWS = [
    (2, 0, 1, 1, 0, 1, 0, 0, SONG),
    (6, 0, 0, 0, 0, 0, 0, 0, "b/anne-first_album-01-a_song-30-59.mp3"),
    (10, 1, 0, 0, 1, 0, 1, 1, "c/bo-suites-02-gigue_no_2-2-117-146.mp3"),
    (35644, 1, 0, 0, 0, 0, 0, 0, "d/norine-zen-08-gently-117-146.mp3"),
]


def write(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerows([header, *rows])


def library(root: Path, rows: Iterable[Sequence[object]] = ROWS) -> MagnaTagATune:
    write(root / "annotations_final.csv", HEADER, rows)
    return MagnaTagATune(root=root)


def test_clips_of_a_track_share_its_recording_and_the_folder_gives_the_split(
    tmp_path: Path,
) -> None:
    song, later, gigue, zen = check(library(tmp_path))
    assert (song.id, song.recording) == (
        "magnatagatune/2",
        "magnatagatune/anne-first_album-01-a_song",
    )
    assert later.recording == song.recording != zen.recording
    assert gigue.recording == "magnatagatune/bo-suites-02-gigue_no_2-2"
    assert [ref.split for ref in (song, later, gigue, zen)] == [
        "train",
        "train",
        "validation",
        "test",
    ]
    assert song.licence == "CC-BY-NC-SA-1.0"
    assert song.duration_s == 29


def test_spellings_are_one_tag_and_denials_are_none(tmp_path: Path) -> None:
    song, later, gigue, _ = library(tmp_path).refs()
    assert song.tags == (Tag("vocal", "female vocals"), Tag("genre", "rock"))
    assert later.tags == ()
    assert [tag.name for tag in gigue.tags] == ["instrumental", "harpsichord"]


def test_credits_come_from_the_other_table(tmp_path: Path) -> None:
    source = library(tmp_path)
    assert "anne-first_album" in next(source.refs()).attribution
    row = (2, 1, 'A "song"', "Anne, of X", "First\nalbum", "http://x", 0, 29, "http://y", SONG)
    write(tmp_path / "clip_info_final.csv", CREDITS, [row])
    song, later, *_ = check(source)
    assert song.attribution == 'A "song" by Anne, of X (First\nalbum), Magnatune'
    assert "anne-first_album" in later.attribution


@pytest.mark.parametrize("folder", ["", "mp3/"])
def test_empty_and_missing_files_are_for_the_quarantine(tmp_path: Path, folder: str) -> None:
    source = library(tmp_path)
    assert isinstance(open_source(source), Unheard)
    sound(tmp_path / folder / SONG, frames=16_000)
    (tmp_path / folder / "d").mkdir()
    (tmp_path / folder / "d" / "norine-zen-08-gently-117-146.mp3").write_bytes(b"")
    song, later, _, zen = check(open_source(source))  # type: ignore[arg-type]
    assert song.location == f"{folder}{SONG}"
    assert len(source.load(song).audio) > 0
    with pytest.raises(ClipError, match="cannot be read"):
        source.load(later)
    with pytest.raises(ClipError, match="is an empty file"):
        source.load(zen)


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ((2, 0, 1, 1, 0, 1, 0, 0), "line 2: expected 9 fields"),
        ((2, 0, 2, 1, 0, 1, 0, 0, SONG), "clip 2: 'female vocal' is '2'"),
        ((2, 0, 1, 1, 0, 1, 0, 0, ""), "clip 2: '' is not a clip path"),
        ((2, 0, 1, 1, 0, 1, 0, 0, "../x.mp3"), "is not a clip path"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, bad: Sequence[object], told: str) -> None:
    with pytest.raises(SourceError, match=told) as caught:
        list(library(tmp_path, [bad]).refs())
    assert "annotations_final.csv" in str(caught.value)
    assert caught.value.fix


def test_a_wrong_folder_is_a_source_error(tmp_path: Path) -> None:
    for root in (tmp_path / "none", tmp_path):
        with pytest.raises(SourceError, match="not found") as caught:
            list(MagnaTagATune(root=root).refs())
        assert "annotations_final.csv" in caught.value.fix
    (tmp_path / "annotations_final.csv").write_text("clip_id,rock,mp3_path\n1,0,a\n")
    with pytest.raises(SourceError, match="no column 'clip_id'"):
        list(MagnaTagATune(root=tmp_path).refs())
