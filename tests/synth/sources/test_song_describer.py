"""Song Describer: several captions a track, two minutes of each, licences a track."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from libraries import check, sound, write_csv

from synth.base.errors import ClipError, SourceError
from synth.labels.lexicon import Tag
from synth.sources import Unheard, open_source
from synth.sources.music.song_describer import SongDescriber

COLUMNS = (
    "caption_id",
    "track_id",
    "caption",
    "is_valid_subset",
    "familiarity",
    "artist_id",
    "album_id",
    "path",
    "duration",
)
ROWS = [
    (3, 1004, 'Calm, "sweet" sitar.\n', True, 1, 5, 6, "04/1004.mp3", 202.5),
    (1, 1004, "A sitar plays.", False, 0, 5, 6, "04/1004.mp3", 202.5),
    (2, 77, "Loud drums.", "", 5, 5, 6, "77/77.mp3", 61.0),
]
LICENCES = """04/1004.mp3
Tea by Aña from Jamendo: http://www.jamendo.com/track/1004
Available under a CC licence: http://creativecommons.org/licenses/by-nc-sa/2.0/fr/

"""
TAGS = "track_0001004\tartist_000005\talbum_000006\t04/1004.mp3\t202.5\tinstrument---sitar\n"


def library(root: Path, rows: Iterable[Sequence[object]] = ROWS, **settings: Any) -> SongDescriber:
    write_csv(root / "song_describer.csv", COLUMNS, rows)
    return SongDescriber(root=root, **settings)


def test_captions_of_a_track_are_one_clip(tmp_path: Path) -> None:
    sitar, drums = check(library(tmp_path))
    assert sitar.id == "song_describer/1004"
    assert sitar.captions == ('Calm, "sweet" sitar.', "A sitar plays.")
    assert (sitar.recording, sitar.split) == ("jamendo/1004", "test")
    assert (sitar.duration_s, drums.duration_s) == (120.0, 61.0)
    assert (sitar.licence, sitar.tags) == ("unknown", ())


def test_only_the_validated_captions(tmp_path: Path) -> None:
    (sitar,) = check(library(tmp_path, subset="valid"))
    assert sitar.captions == ('Calm, "sweet" sitar.',)


@pytest.mark.parametrize("header", ["", "TRACK_ID\tARTIST_ID\tALBUM_ID\tPATH\tDURATION\tTAGS\n"])
def test_licences_and_tags_come_from_the_files_beside_the_table(
    tmp_path: Path, header: str
) -> None:
    (tmp_path / "audio_licenses.txt").write_text(LICENCES, encoding="utf-8")
    (tmp_path / "song_describer.mtg-jamendo.tsv").write_text(header + TAGS)
    sitar, drums = check(library(tmp_path))
    assert sitar.licence == "CC-BY-NC-SA-2.0-FR"
    assert "Tea by Aña" in sitar.attribution
    assert sitar.tags == (Tag("instrument", "sitar"),)
    assert (drums.licence, drums.tags) == ("unknown", ())


@pytest.mark.parametrize("folder", ["audio/04", "audio/audio/04"])
def test_audio_is_found_where_the_archive_is_unpacked(tmp_path: Path, folder: str) -> None:
    source = library(tmp_path)
    assert isinstance(open_source(source), Unheard)
    sound(tmp_path / folder / "1004.2min.mp3", frames=16_000)
    sitar, drums = check(open_source(source))  # type: ignore[arg-type]
    assert sitar.location == f"{folder}/1004.2min.mp3"
    assert len(source.load(sitar).audio) > 0
    assert drums.location == "audio/77/77.2min.mp3"
    with pytest.raises(ClipError, match="cannot be read"):
        source.load(drums)


@pytest.mark.parametrize(
    ("column", "value", "told"),
    [
        (1, "x", "line 3: 'x' is not a track id"),
        (3, "maybe", "line 3: is_valid_subset is 'maybe'"),
        (8, "", "line 3: duration is ''"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, column: int, value: object, told: str) -> None:
    row = list(ROWS[0])
    row[column] = value
    with pytest.raises(SourceError, match=told) as caught:
        list(library(tmp_path, [row]).refs())
    assert "song_describer.csv" in str(caught.value)
    assert caught.value.fix


def test_a_wrong_folder_is_a_source_error(tmp_path: Path) -> None:
    for root in (tmp_path / "none", tmp_path):
        with pytest.raises(SourceError, match="not found") as caught:
            list(SongDescriber(root=root).refs())
        assert "song_describer.csv" in caught.value.fix
