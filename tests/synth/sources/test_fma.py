"""FMA: three header rows, fields of several lines, genres above genres, SHA-1 lists."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from libraries import check, sound, write_csv

from synth.base.errors import ClipError, SourceError
from synth.labels.lexicon import Tag
from synth.sources import Unheard, open_source
from synth.sources.music.fma import Fma

GROUPS = ("", "album", "artist", "artist", *["set"] * 2, *["track"] * 6)
NAMES = (
    "",
    "title",
    "bio",
    "name",
    "split",
    "subset",
    "duration",
    "genres",
    "genres_all",
    "license",
    "tags",
    "title",
)
THIRD = ("track_id", *[""] * 11)
BY = "Attribution-NonCommercial-ShareAlike 3.0 International"
BIO = '<p>Born in "X",\nsings</p>\n'
ROWS: list[tuple[object, ...]] = [
    (2, "A, B", BIO, "Añe", "training", "small", 168, "[21]", "[21, 38]", BY, "['lo-fi']", "Food"),
    (137, "", "", "", "test", "large", 12, "[]", "[]", "FMA-Limited: Download Only", "[]", "One"),
    (152000, "", "", "Bo", "validation", "medium", 300, "[38]", "[38]", "", "[]", 'Th"ird'),
]
GENRES = [(21, 8912, 38, "Hip-Hop", 38), (38, 38154, 0, "Experimental", 38)]


def library(root: Path, rows: Iterable[Sequence[object]] = ROWS, **settings: Any) -> Fma:
    path = root / "fma_metadata" / "tracks.csv"
    path.parent.mkdir(exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([GROUPS, NAMES, THIRD, *rows])
    header = ("genre_id", "#tracks", "parent", "title", "top_level")
    write_csv(path.parent / "genres.csv", header, GENRES)
    return Fma(root=root, **settings)


def test_a_track_has_its_genres_licence_and_artist(tmp_path: Path) -> None:
    (food,) = check(library(tmp_path))
    assert (food.id, food.recording, food.split) == ("fma/000002", "fma/2", "training")
    assert food.tags == (Tag("genre", "Hip-Hop"), Tag("genre", "Experimental"))
    assert food.licence == "CC-BY-NC-SA-3.0"
    assert food.attribution == "Food by Añe, Free Music Archive 2"
    assert food.duration_s == 30


def test_a_size_has_the_tracks_of_the_smaller_ones(tmp_path: Path) -> None:
    sizes = {size: check(library(tmp_path, subset=size)) for size in ("medium", "large", "full")}
    assert [ref.recording for ref in sizes["medium"]] == ["fma/2", "fma/152000"]
    assert [ref.recording for ref in sizes["large"]] == ["fma/2", "fma/137", "fma/152000"]
    assert [ref.duration_s for ref in sizes["large"]] == [30, 12, 30]
    assert [ref.duration_s for ref in sizes["full"]] == [168, 12, 300]
    _, limited, third = sizes["full"]
    assert limited.licence == "LicenseRef-FMA-Limited-Download-Only"
    assert third.licence == "unknown"


def test_uploaders_words_are_tags_if_they_are_asked_for(tmp_path: Path) -> None:
    (food,) = library(tmp_path, uploader_tags=True).refs()
    assert food.tags[-1].name == "lo-fi"


def test_tables_are_found_in_the_folder_itself_too(tmp_path: Path) -> None:
    library(tmp_path)
    assert len(check(Fma(root=tmp_path / "fma_metadata"))) == 1


def test_audio_lies_in_folders_of_a_thousand(tmp_path: Path) -> None:
    source = library(tmp_path, subset="medium")
    sound(tmp_path / "fma_small" / "000" / "000002.mp3", frames=16_000)
    assert isinstance(open_source(source), Unheard)
    path = sound(tmp_path / "fma_medium" / "152" / "152000.mp3", frames=16_000)
    gone, third = check(open_source(source))  # type: ignore[arg-type]
    assert third.location == "fma_medium/152/152000.mp3"
    assert len(source.load(third).audio) > 0
    with pytest.raises(ClipError, match="cannot be read"):
        source.load(gone)
    assert source.checksums() == {}
    digest = hashlib.sha1(path.read_bytes()).hexdigest()
    (tmp_path / "fma_medium" / "checksums").write_text(f"{digest}  152/152000.mp3\n")
    assert source.checksums() == {third.location: f"sha1:{digest}"}
    (tmp_path / "fma_medium" / "checksums").write_text("nonsense\n")
    with pytest.raises(SourceError, match="checksums: line 1: expected a checksum"):
        source.checksums()


@pytest.mark.parametrize(
    ("column", "value", "told"),
    [
        (0, "x", "the first a number"),
        (5, "tiny", "track 2: set.subset is 'tiny'"),
        (6, "long", "track 2: track.duration is 'long'"),
        (7, "[__import__('os')]", "expected a list of numbers"),
        (8, "[99]", "track 2: genre 99 is not in genres.csv"),
        (10, "[lofi]", "track.tags: .* is not a list"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, column: int, value: object, told: str) -> None:
    row = list(ROWS[0])
    row[column] = value
    with pytest.raises(SourceError, match=told) as caught:
        list(library(tmp_path, [row], uploader_tags=True).refs())
    assert "tracks.csv: line 6" in str(caught.value)
    assert caught.value.fix


def test_a_row_that_is_too_short_is_named(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="line 4: expected 12 fields"):
        list(library(tmp_path, [(2, "x")]).refs())


def test_a_wrong_folder_is_a_source_error(tmp_path: Path) -> None:
    for root in (tmp_path / "none", tmp_path):
        with pytest.raises(SourceError, match="not found") as caught:
            list(Fma(root=root).refs())
        assert "fma_metadata" in caught.value.fix
    library(tmp_path)
    (tmp_path / "fma_metadata" / "tracks.csv").write_text("track_id,title\n2,x\n")
    with pytest.raises(SourceError, match="three header rows"):
        list(Fma(root=tmp_path).refs())
