"""MTG-Jamendo: as many columns as tags, splits, licences a track, checksums of two downloads."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from libraries import check, sound

from synth.base.errors import ClipError, SourceError
from synth.labels.lexicon import Tag
from synth.sources import Unheard, open_source
from synth.sources.music.mtg_jamendo import MtgJamendo

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
    (raw,) = check(repository(tmp_path, table=Path("data/raw_30s.tsv")))
    assert raw.tags == (Tag("genre", "ambient"),)
    assert raw.licence == "unknown"


@pytest.mark.parametrize("folder", ["audio", "audio-low", "raw_30s/audio-low"])
@pytest.mark.parametrize("suffix", [".mp3", ".low.mp3"])
def test_both_downloads_are_found(tmp_path: Path, folder: str, suffix: str) -> None:
    source = repository(tmp_path)
    assert isinstance(open_source(source), Unheard)
    sound(tmp_path / folder / "73" / f"773{suffix}", frames=16_000)
    rock, gone = check(open_source(source))  # type: ignore[arg-type]
    assert rock.location == f"{folder}/73/773{suffix}"
    assert len(source.load(rock).audio) > 0
    with pytest.raises(ClipError, match="cannot be read"):
        source.load(gone)


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


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        (row(7), "line 2: 5 columns"),
        (row(7, "rock"), "'rock' is not a tag"),
        (row(7, "genre---rock", duration="long"), "line 2: DURATION is 'long'"),
        (["track_x", *row(7, "genre---rock")[1:]], "'track_x' is not a track id"),
    ],
)
def test_bad_rows_are_named(tmp_path: Path, bad: list[str], told: str) -> None:
    write(tmp_path / "autotagging.tsv", bad)
    with pytest.raises(SourceError, match=told) as caught:
        list(MtgJamendo(root=tmp_path).refs())
    assert "autotagging.tsv" in str(caught.value)
    assert caught.value.fix


def test_a_track_in_two_splits_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "autotagging-train.tsv", row(7, "genre---rock"))
    write(tmp_path / "autotagging-test.tsv", row(7, "genre---rock"))
    with pytest.raises(SourceError, match=r"test\.tsv: line 2: track_0000007 is in .*train"):
        list(MtgJamendo(root=tmp_path).refs())


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("tag_map.json", "[1]", "not a mapping of tags"),
        ("tag_map.json", "{", "is not JSON"),
        ("audio_licenses.txt", "07/7.mp3\n\n", "line 1: expected a credit and a licence"),
        ("audio_licenses.txt", b"\xff\xfe", "not text in UTF-8"),
    ],
)
def test_bad_companions_are_named(tmp_path: Path, name: str, text: str | bytes, told: str) -> None:
    write(tmp_path / "autotagging.tsv", row(7, "genre---rock"))
    (tmp_path / name).write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(SourceError, match=told) as caught:
        list(MtgJamendo(root=tmp_path).refs())
    assert name in str(caught.value)


def test_a_wrong_folder_is_a_source_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="not found"):
        list(MtgJamendo(root=tmp_path / "none").refs())
    with pytest.raises(SourceError, match=r"holds no autotagging_genre\*\.tsv") as caught:
        list(MtgJamendo(root=tmp_path, subset="genre").refs())
    assert "mtg-jamendo-dataset" in caught.value.fix


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
