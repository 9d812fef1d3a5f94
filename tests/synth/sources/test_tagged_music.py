"""Tagged music: FMA, MagnaTagATune and MTG-Jamendo, each in its own layout."""

from __future__ import annotations

import csv
import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from synth.base.errors import SourceError
from synth.labels.lexicon import Tag
from synth.sources import Unheard, open_source
from synth.sources.music.fma import Fma
from synth.sources.music.magnatagatune import MagnaTagATune
from synth.sources.music.mtg_jamendo import MtgJamendo
from tests.kit.cases import cases
from tests.kit.libraries import check, refused, sound, write_csv

# FMA: three header rows, fields of several lines, genres above genres, SHA-1 lists

GROUPS = ("", "album", "artist", "artist", *["set"] * 2, *["track"] * 6)
NAMES = (
    *("", "title", "bio", "name", "split", "subset"),
    *("duration", "genres", "genres_all", "license", "tags", "title"),
)
THIRD = ("track_id", *[""] * 11)
BY = "Attribution-NonCommercial-ShareAlike 3.0 International"
BIO = '<p>Born in "X",\nsings</p>\n'
FMA_ROWS: list[tuple[object, ...]] = [
    (2, "A, B", BIO, "Añe", "training", "small", 168, "[21]", "[21, 38]", BY, "['lo-fi']", "Food"),
    (137, "", "", "", "test", "large", 12, "[]", "[]", "FMA-Limited: Download Only", "[]", "One"),
    (152000, "", "", "Bo", "validation", "medium", 300, "[38]", "[38]", "", "[]", 'Th"ird'),
]
GENRES = [(21, 8912, 38, "Hip-Hop", 38), (38, 38154, 0, "Experimental", 38)]


def fma(root: Path, **settings: Any) -> Fma:
    path = root / "fma_metadata" / "tracks.csv"
    write_csv(path, GROUPS, [NAMES, THIRD, *FMA_ROWS])
    header = ("genre_id", "#tracks", "parent", "title", "top_level")
    write_csv(path.parent / "genres.csv", header, GENRES)
    return Fma(root=root, **settings)


def test_a_track_has_its_genres_licence_and_artist(tmp_path: Path) -> None:
    (food,) = check(fma(tmp_path))
    assert (food.id, food.recording, food.split) == ("fma/000002", "fma/2", "training")
    assert food.tags == (Tag("genre", "Hip-Hop"), Tag("genre", "Experimental"))
    assert food.licence == "CC-BY-NC-SA-3.0"
    assert food.attribution == "Food by Añe, Free Music Archive 2"
    assert food.duration_s == 30
    assert check(Fma(root=tmp_path / "fma_metadata")) == [food]
    (worded,) = fma(tmp_path, uploader_tags=True).refs()
    assert worded.tags[-1].name == "lo-fi"
    (tmp_path / "fma_metadata" / "tracks.csv").write_text("track_id,title\n2,x\n")
    refused(Fma(root=tmp_path), "three header rows")


def test_a_size_has_the_tracks_of_the_smaller_ones(tmp_path: Path) -> None:
    sizes = {size: check(fma(tmp_path, subset=size)) for size in ("medium", "large", "full")}
    assert [ref.recording for ref in sizes["medium"]] == ["fma/2", "fma/152000"]
    assert [ref.recording for ref in sizes["large"]] == ["fma/2", "fma/137", "fma/152000"]
    assert [ref.duration_s for ref in sizes["large"]] == [30, 12, 30]
    assert [ref.duration_s for ref in sizes["full"]] == [168, 12, 300]
    _, limited, third = sizes["full"]
    assert limited.licence == "LicenseRef-FMA-Limited-Download-Only"
    assert third.licence == "unknown"


def test_audio_lies_in_folders_of_a_thousand(tmp_path: Path) -> None:
    source = fma(tmp_path, subset="medium")
    sound(tmp_path / "fma_small" / "000" / "000002.mp3", frames=16_000)
    assert isinstance(open_source(source), Unheard)
    path = sound(tmp_path / "fma_medium" / "152" / "152000.mp3", frames=16_000)
    _, third = check(open_source(source))  # type: ignore[arg-type]
    assert third.location == "fma_medium/152/152000.mp3"
    assert source.checksums() == {}
    digest = hashlib.sha1(path.read_bytes()).hexdigest()
    (tmp_path / "fma_medium" / "checksums").write_text(f"{digest}  152/152000.mp3\n")
    assert source.checksums() == {third.location: f"sha1:{digest}"}
    (tmp_path / "fma_medium" / "checksums").write_text("nonsense\n")
    with pytest.raises(SourceError, match="checksums: line 1: expected a checksum"):
        source.checksums()


# MagnaTagATune: clips of one track, spellings of one tag, empty files

TAGS = ("no voice", "female vocal", "woman singing", "no piano", "rock", "harpsicord", "not rock")
MTT_HEADER = ("clip_id", *TAGS, "mp3_path")
CREDITS = (
    *("clip_id", "track_number", "title", "artist", "album"),
    *("url", "segmentStart", "segmentEnd", "original_url", "mp3_path"),
)
SONG = "b/anne-first_album-01-a_song-0-29.mp3"
MTT_ROWS = [
    (2, 0, 1, 1, 0, 1, 0, 0, SONG),
    (6, 0, 0, 0, 0, 0, 0, 0, "b/anne-first_album-01-a_song-30-59.mp3"),
    (10, 1, 0, 0, 1, 0, 1, 1, "c/bo-suites-02-gigue_no_2-2-117-146.mp3"),
    (35644, 1, 0, 0, 0, 0, 0, 0, "d/norine-zen-08-gently-117-146.mp3"),
]


def write_quoted(path: Path, header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, delimiter="\t", quoting=csv.QUOTE_ALL, lineterminator="\n")
        writer.writerows([header, *rows])


def magnatagatune(root: Path) -> MagnaTagATune:
    write_quoted(root / "annotations_final.csv", MTT_HEADER, MTT_ROWS)
    return MagnaTagATune(root=root)


def test_clips_of_a_track_share_its_recording_and_the_folder_gives_the_split(
    tmp_path: Path,
) -> None:
    refs = check(magnatagatune(tmp_path))
    first = "magnatagatune/anne-first_album-01-a_song"
    assert [(ref.recording, ref.split) for ref in refs] == [
        (first, "train"),
        (first, "train"),
        ("magnatagatune/bo-suites-02-gigue_no_2-2", "validation"),
        ("magnatagatune/norine-zen-08-gently", "test"),
    ]
    song, later, gigue, _ = refs
    assert (song.id, song.licence, song.duration_s) == ("magnatagatune/2", "CC-BY-NC-SA-1.0", 29)
    # Spellings are one tag, and denials are none.
    assert song.tags == (Tag("vocal", "female vocals"), Tag("genre", "rock"))
    assert later.tags == ()
    assert [tag.name for tag in gigue.tags] == ["instrumental", "harpsichord"]


def test_credits_come_from_the_other_table(tmp_path: Path) -> None:
    source = magnatagatune(tmp_path)
    assert "anne-first_album" in next(source.refs()).attribution
    row = (2, 1, 'A "song"', "Anne, of X", "First\nalbum", "http://x", 0, 29, "http://y", SONG)
    write_quoted(tmp_path / "clip_info_final.csv", CREDITS, [row])
    song, later, *_ = check(source)
    assert song.attribution == 'A "song" by Anne, of X (First\nalbum), Magnatune'
    assert "anne-first_album" in later.attribution


# MTG-Jamendo: as many columns as tags, splits, licences a track, checksums of two downloads

HEADER = ("TRACK_ID", "ARTIST_ID", "ALBUM_ID", "PATH", "DURATION", "TAGS")
LICENCES = """73/773.mp3
Tea, for "2" by Aña from Jamendo: http://www.jamendo.com/track/773
Available under a Creative Commons Attribution license: http://creativecommons.org/licenses/by/3.0/

00/1000.mp3
Low by Bo from Jamendo: http://www.jamendo.com/track/1000
Available under a Free Art License: http://artlibre.org/licence.php/lal.html

"""


def row(track: int, *tags: str, duration: object = 60.5) -> list[str]:
    path = f"{track % 100:02d}/{track}.mp3"
    return [f"track_{track:07d}", "artist_000001", "album_000001", path, str(duration), *tags]


def write(path: Path, *rows: Sequence[str], header: bool = True) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [*([HEADER] if header else []), *rows]
    path.write_text("".join("\t".join(each) + "\n" for each in lines), encoding="utf-8")


def repository(root: Path, **settings: Any) -> MtgJamendo:
    data = root / "data"
    rock = row(773, "genre---rock", "instrument---electricguitar", "mood/theme---happy")
    write(data / "splits" / "split-0" / "autotagging-train.tsv", rock)
    write(data / "splits" / "split-0" / "autotagging-test.tsv", row(1000, "genre---ambient"))
    write(data / "splits" / "split-1" / "autotagging-validation.tsv", rock)
    write(data / "splits" / "split-0" / "autotagging_genre-train.tsv", row(773, "genre---rock"))
    write(data / "raw_30s_cleantags_50artists.tsv", rock, row(5, "genre---pop"))
    (data / "autotagging.tsv").write_text("raw_30s_cleantags_50artists.tsv")
    write(data / "raw_30s.tsv", row(5, "genre---ambiant", "genre---ambient"))
    (data / "tag_map.json").write_text(json.dumps({"genre": {"ambiant": "ambient"}}))
    (root / "audio_licenses.txt").write_text(LICENCES, encoding="utf-8")
    return MtgJamendo(root=root, **settings)


def test_the_repository_is_read_by_its_splits(tmp_path: Path) -> None:
    rock, ambient = check(repository(tmp_path))
    assert (rock.id, rock.recording, rock.split) == ("mtg_jamendo/773", "jamendo/773", "train")
    assert (ambient.split, ambient.tags) == ("test", (Tag("genre", "ambient"),))
    assert rock.tags == (
        Tag("genre", "rock"),
        Tag("instrument", "electric guitar"),
        Tag("mood/theme", "happy"),
    )
    assert rock.licence == "CC-BY-3.0"
    assert 'Tea, for "2" by Aña' in rock.attribution
    assert ambient.licence == "LicenseRef-Free-Art-License"
    assert rock.duration_s == 60.5


def test_other_splits_subsets_and_tables(tmp_path: Path) -> None:
    (other,) = check(repository(tmp_path, split=1))
    assert other.split == "validation"
    (genre,) = check(repository(tmp_path, subset="genre"))
    assert genre.tags == (Tag("genre", "rock"),)
    whole = check(repository(tmp_path, split=None))
    assert [(ref.recording, ref.split) for ref in whole] == [("jamendo/773", ""), ("jamendo/5", "")]
    refused(repository(tmp_path, subset="moodtheme"), r"has no autotagging_moodtheme\*\.tsv")
    (raw,) = check(repository(tmp_path, table=Path("data/raw_30s.tsv")))
    assert raw.tags == (Tag("genre", "ambient"),)
    assert raw.licence == "unknown"


def test_checksums_are_those_of_the_files_that_are_there(tmp_path: Path) -> None:
    source = repository(tmp_path)
    assert source.checksums() == {}
    low = sound(tmp_path / "audio" / "73" / "773.low.mp3", frames=16_000)
    sound(tmp_path / "audio" / "00" / "1000.low.mp3", frames=16_000)
    digest = hashlib.sha256(low.read_bytes()).hexdigest()
    lists = tmp_path / "data" / "download"
    lists.mkdir()
    (lists / "raw_30s_audio_sha256_tracks.txt").write_text(f"{'0' * 64} 73/773.mp3\n")
    (lists / "raw_30s_audio-low_sha256_tracks.txt").write_text(
        f"{digest} 73/773.low.mp3\n{'1' * 64} 00/1000.low.mp3\n"
    )
    (lists / "autotagging_moodtheme_audio-low_sha256_tracks.txt").write_text(
        f"{'2' * 64} 00/1000.low.mp3\n"
    )
    (lists / "raw_30s_melspecs_sha256_tracks.txt").write_text("not of audio")
    assert source.checksums() == {"audio/73/773.low.mp3": f"sha256:{digest}"}
    (lists / "raw_30s_audio_sha256_tracks.txt").write_text("nonsense\n")
    with pytest.raises(SourceError, match="line 1: expected a checksum"):
        source.checksums()


def test_a_track_in_two_splits_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "autotagging-train.tsv", row(7, "genre---rock"))
    write(tmp_path / "autotagging-test.tsv", row(7, "genre---rock"))
    refused(MtgJamendo(root=tmp_path), r"test\.tsv: line 2: track_0000007 is in .*train")


@cases(
    ("name", "text", "told"),
    [
        ("tag_map.json", "[1]", "the file: Input should be a valid dictionary"),
        ("tag_map.json", "{", "is not JSON"),
        ("audio_licenses.txt", "07/7.mp3\n\n", "line 1: expected a credit and a licence"),
        ("audio_licenses.txt", b"\xff\xfe", "not text in UTF-8"),
    ],
)
def test_bad_companions_are_named(tmp_path: Path, name: str, text: str | bytes, told: str) -> None:
    write(tmp_path / "autotagging.tsv", row(7, "genre---rock"))
    (tmp_path / name).write_bytes(text.encode() if isinstance(text, str) else text)
    refused(MtgJamendo(root=tmp_path), told, name)


def test_the_real_table_is_a_listing(shared_data: Callable[[str], Path]) -> None:
    listing = open_source(MtgJamendo(root=shared_data("MTG-Jamendo")))
    assert isinstance(listing, Unheard)
    refs = list(listing.refs())
    assert len({ref.id for ref in refs}) == len(refs) == 11_101
    assert {ref.split for ref in refs} == {"validation"}
    assert all(ref.tags and listing.row(ref)["frames"] > 0 for ref in refs)
    assert {tag.category for ref in refs for tag in ref.tags} == {
        "genre",
        "instrument",
        "mood/theme",
    }
