"""Captioned music: LP-MusicCaps, MusicCaps and Song Describer, each in its own layout."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from synth.labels.lexicon import Tag
from synth.sources import Unheard, open_source
from synth.sources.music.lp_musiccaps import LpMusicCaps
from synth.sources.music.musiccaps import MusicCaps
from synth.sources.music.song_describer import SongDescriber
from tests.kit.cases import cases
from tests.kit.libraries import check, refused, sound, write_csv

# LP-MusicCaps: three Parquet datasets of Hugging Face, the repository's JSON files, real data

WRITTEN = {
    "caption_writing": "Written.",
    "caption_summary": "Short.",
    "caption_paraphrase": "Written.",
    "caption_attribute_prediction": "Invented.",
}
MC = {
    "fname": "[-a_bcdefghi]-[30-40]",
    "ytid": "-a_bcdefghi",
    "aspect_list": ["rock", "ram's horn; low"],
    "caption_ground_truth": "A person's.",
    **WRITTEN,
    "start_s": 30,
    "end_s": 40,
    "audioset_positive_labels": "/m/04rlf",
}
MSD = {
    "track_id": "TRIHXPZ128F1466744",
    "title": "Sun",
    "artist_name": "Anne",
    "release": "First",
    "year": 1994,
    "tag": ["hip hop", "80s"],
    **WRITTEN,
    "path": "8/1/8134074.clip.mp3",
}
MTT = {
    "track_id": "831",
    "title": "By Mourning",
    "artist_name": "Anne",
    "release": "First",
    "tag_top50": ["metal"],
    "tag_top188": ["metal", "no voice"],
    **WRITTEN,
    "path": "d/anne-first-01-by_mourning-88-117.mp3",
}
UNTAGGED = MTT | dict.fromkeys(WRITTEN) | {"track_id": "9", "tag_top188": None}
TRUTH = {
    "ytid": "-a_bcdefghi",
    "start_s": 30,
    "end_s": 40,
    "aspect_list": ["rock"],
    "audioset_positive_labels": "/m/04rlf",
    "caption": "A person's.",
    "is_audioset_eval": True,
}


def write(path: Path, *rows: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.Table.from_pylist(list(rows)), path)


def clones(root: Path) -> LpMusicCaps:
    write(root / "LP-MusicCaps-MC" / "data" / "test-00000-of-00001-7f41.parquet", MC)
    write(root / "LP-MusicCaps-MSD" / "data" / "train-00000-of-00002-557f.parquet", MSD)
    write(root / "LP-MusicCaps-MTT" / "data" / "valid-00000-of-00001-bf98.parquet", MTT, UNTAGGED)
    return LpMusicCaps(root=root)


def test_the_three_datasets_are_read_as_they_are_cloned(tmp_path: Path) -> None:
    mc, msd, mtt, untagged = check(clones(tmp_path))
    assert [(ref.id, ref.recording, ref.split) for ref in (mc, msd, mtt)] == [
        ("lp_musiccaps/mc/-a_bcdefghi_30", "youtube/-a_bcdefghi", "test"),
        ("lp_musiccaps/msd/TRIHXPZ128F1466744", "msd/TRIHXPZ128F1466744", "train"),
        ("lp_musiccaps/mtt/831", "magnatagatune/anne-first-01-by_mourning", "valid"),
    ]
    assert mc.captions == ("A person's.", "Written.", "Short.")
    assert mtt.captions == msd.captions == ("Written.", "Short.")
    assert mc.tags == (Tag("genre", "rock"), Tag("", "ram's horn; low"))
    assert msd.tags == (Tag("genre", "hip hop"), Tag("era", "80s"))
    assert [tag.name for tag in mtt.tags] == ["metal", "instrumental"]
    assert (untagged.captions, untagged.tags) == ((), ())
    assert mtt.licence == "CC-BY-NC-SA-1.0"
    (alone,) = check(LpMusicCaps(root=tmp_path / "LP-MusicCaps-MSD"))
    assert alone.tags == msd.tags
    kinds = ("attribute_prediction", "ground_truth")
    chosen = check(LpMusicCaps(root=tmp_path, captions=kinds))  # type: ignore[arg-type]
    assert [ref.captions for ref in chosen[:2]] == [("Invented.", "A person's."), ("Invented.",)]
    listing = open_source(LpMusicCaps(root=tmp_path))
    assert isinstance(listing, Unheard)
    assert [listing.row(ref)["frames"] / 48_000 for ref in listing.refs()] == [10, 30, 29, 29]


def test_audio_is_found_by_name_or_path(tmp_path: Path) -> None:
    source = clones(tmp_path)
    sound(tmp_path / "audio" / "[-a_bcdefghi]-[30-40].wav")
    sound(tmp_path / "audio" / str(MSD["path"]), frames=16_000)
    mc, msd, mtt, _ = check(open_source(source))  # type: ignore[arg-type]
    assert len(source.load(mc).audio) == 1600
    assert len(source.load(msd).audio) > 0
    assert msd.duration_s is None
    assert source.stamp(mtt) == "missing"


def dump(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")


def test_predictions_join_the_clip_whose_ground_truth_they_name(tmp_path: Path) -> None:
    dump(tmp_path / "annotation.json", {"[-a_bcdefghi]-[30-40]": TRUTH})
    other = {"prediction": "Other words.", "ground_truth": "Other truth."}
    for kind in ("writing", "summary"):
        entry = {"prediction": f"By {kind}.", "ground_truth": "A person's."}
        dump(tmp_path / f"caption_{kind}.json", [other, entry])
    dump(tmp_path / "caption_attribute_prediction.json", [other | {"prediction": "Invented."}])
    source = LpMusicCaps(root=tmp_path)
    named, unnamed = check(source)
    assert named.captions == ("A person's.", "By writing.", "By summary.")
    assert (named.recording, named.split) == ("youtube/-a_bcdefghi", "test")
    assert unnamed.captions == ("Other truth.", "Other words.")
    assert (unnamed.duration_s, unnamed.refusal) == (10, "")
    (tmp_path / "audio").mkdir()
    _, refused = source.refs()
    assert "which clip it is" in refused.refusal


def test_the_tags_of_msd_are_a_vocabulary_and_no_clips(tmp_path: Path) -> None:
    dump(tmp_path / "msd_tags.json", ["rock", "80s"])
    source = LpMusicCaps(root=tmp_path)
    assert set(source.vocabulary()) == {Tag("genre", "rock"), Tag("era", "80s")}
    refused(source, "has no Parquet or JSON")


@cases(
    ("row", "told"),
    [
        ({"a": 1}, "has the columns a"),
        (MC | {"ytid": ""}, "row 1: a clip of ''"),
        (MC | {"start_s": 50}, "expected a video and seconds"),
        (MC | {"aspect_list": "[rock]"}, "row 1: .* is not a list"),
        (MSD | {"path": None}, "row 1: lacks its track_id or path"),
        (MSD | {"tag": [1]}, "is not a list of tags"),
        (MTT | {"path": "x.mp3"}, "is not a clip path"),
    ],
)
def test_bad_rows_of_lp_musiccaps_are_named(tmp_path: Path, row: dict[str, Any], told: str) -> None:
    write(tmp_path / "train.parquet", row)
    refused(LpMusicCaps(root=tmp_path), told, "train.parquet")


@cases(
    ("name", "value", "told"),
    [
        ("annotation.json", [], "the file: Input should be a valid dictionary"),
        ("annotation.json", {"a": 1}, "a: Input should be a valid dictionary"),
        ("annotation.json", {"a": TRUTH | {"caption": ""}}, "clip a: '' is not a caption"),
        ("annotation.json", {"a": TRUTH | {"end_s": None}}, "clip a: end is 'None'"),
        ("caption_writing.json", {}, "the file: Input should be a valid list"),
        ("caption_writing.json", [{"prediction": "x"}], "entry 1: None is not a caption"),
        ("caption_summary.json", ["x"], "0: Input should be a valid dictionary"),
    ],
)
def test_bad_json_is_named(tmp_path: Path, name: str, value: Any, told: str) -> None:
    dump(tmp_path / name, value)
    refused(LpMusicCaps(root=tmp_path), told, name)
    (tmp_path / name).write_bytes(b"\xff{")
    refused(LpMusicCaps(root=tmp_path), "not text in UTF-8")


def test_the_real_files_are_a_listing(shared_data: Callable[[str], Path]) -> None:
    source = LpMusicCaps(root=shared_data("LP-MusicCaps"))
    refs = check(source)
    listing = open_source(source)
    assert isinstance(listing, Unheard)
    assert all(listing.row(ref)["frames"] == 480_000 for ref in refs)
    # 20 annotated clips, 10 of them among the 2,839 whose captions were written.
    assert Counter(len(ref.captions) for ref in refs) == {1: 10, 2: 2_839}
    assert sum(ref.recording.startswith("youtube/") for ref in refs) == 20
    # Two of the 1,054 spell one tag.
    assert len(source.vocabulary()) == 1_053


# MusicCaps: lists that Python wrote, audio by the names in common use, AudioSet's classes

MUSICCAPS = (
    *("ytid", "start_s", "end_s", "audioset_positive_labels", "aspect_list"),
    *("caption", "author_id", "is_balanced_subset", "is_audioset_eval"),
)
ASPECTS = "['rock', \"ram's horn, low\", 'a \"big\" drum', 'rock']"
CLIPS = [
    ("-a_bcdefghi", 30, 40, "/m/04rlf,/m/0342h", ASPECTS, 'Loud, "big"\nrock.', 4, False, True),
    ("abcdefghijk", 0, 10, "/m/04rlf", "[]", "Calm.", 4, True, False),
]


def musiccaps(root: Path, rows: Iterable[Sequence[object]] = CLIPS) -> MusicCaps:
    write_csv(root / "musiccaps-public.csv", MUSICCAPS, rows)
    return MusicCaps(root=root)


def test_it_reads_the_published_table(tmp_path: Path) -> None:
    rock, calm = check(musiccaps(tmp_path))
    assert rock.id == "musiccaps/-a_bcdefghi_30"
    assert rock.captions == ('Loud, "big"\nrock.',)
    assert rock.recording == "youtube/-a_bcdefghi"
    assert (rock.split, calm.split) == ("eval", "train")
    assert rock.tags == (Tag("genre", "rock"), Tag("", "ram's horn, low"), Tag("", 'a "big" drum'))
    assert (calm.tags, calm.labels) == ((), ())
    assert rock.duration_s == 10


def test_classes_are_labels_where_audiosets_list_lies_beside(tmp_path: Path) -> None:
    classes = [(0, "/m/04rlf", "Music"), (1, "/m/0342h", "Guitar, plucked")]
    write_csv(tmp_path / "class_labels_indices.csv", ("index", "mid", "display_name"), classes)
    rock, calm = musiccaps(tmp_path).refs()
    assert (rock.labels, calm.labels) == (("Music", "Guitar, plucked"), ("Music",))
    listed = musiccaps(tmp_path, [("a", 0, 10, "['/m/04rlf']", "[]", "x", 1, False, True)])
    assert next(listed.refs()).labels == ("Music",)
    other = musiccaps(tmp_path, [("a", 0, 10, "/m/none", "[]", "x", 1, False, True)])
    refused(other, "clip a: /m/none is not a class")


def test_rows_of_one_stretch_are_one_clip(tmp_path: Path) -> None:
    rows = [
        ("a", 0, 10, "", f"['{tag}']", text, 1, False, True)
        for tag, text in [("rock", "One."), ("calm", "Two."), ("rock", "One.")]
    ]
    (ref,) = check(musiccaps(tmp_path, rows))
    assert ref.captions == ("One.", "Two.")
    assert [tag.name for tag in ref.tags] == ["rock", "calm"]


# Song Describer: several captions a track, two minutes of each, licences a track

SONGS = (
    *("caption_id", "track_id", "caption", "is_valid_subset", "familiarity"),
    *("artist_id", "album_id", "path", "duration"),
)
CAPTIONS = [
    (3, 1004, 'Calm, "sweet" sitar.\n', True, 1, 5, 6, "04/1004.mp3", 202.5),
    (1, 1004, "A sitar plays.", False, 0, 5, 6, "04/1004.mp3", 202.5),
    (2, 77, "Loud drums.", "", 5, 5, 6, "77/77.mp3", 61.0),
]
LICENCES = """04/1004.mp3
Tea by Aña from Jamendo: http://www.jamendo.com/track/1004
Available under a CC licence: http://creativecommons.org/licenses/by-nc-sa/2.0/fr/

"""
TAG_TABLE = "track_0001004\tartist_000005\talbum_000006\t04/1004.mp3\t202.5\tinstrument---sitar\n"


def song_describer(root: Path, **settings: Any) -> SongDescriber:
    write_csv(root / "song_describer.csv", SONGS, CAPTIONS)
    return SongDescriber(root=root, **settings)


def test_captions_of_a_track_are_one_clip(tmp_path: Path) -> None:
    sitar, drums = check(song_describer(tmp_path))
    assert sitar.id == "song_describer/1004"
    assert sitar.captions == ('Calm, "sweet" sitar.', "A sitar plays.")
    assert (sitar.recording, sitar.split) == ("jamendo/1004", "test")
    assert (sitar.duration_s, drums.duration_s) == (120.0, 61.0)
    assert (sitar.licence, sitar.tags) == ("unknown", ())
    (valid,) = check(song_describer(tmp_path, subset="valid"))
    assert valid.captions == ('Calm, "sweet" sitar.',)


@cases("header", ["", "TRACK_ID\tARTIST_ID\tALBUM_ID\tPATH\tDURATION\tTAGS\n"])
def test_licences_and_tags_come_from_the_files_beside_the_table(
    tmp_path: Path, header: str
) -> None:
    (tmp_path / "audio_licenses.txt").write_text(LICENCES, encoding="utf-8")
    (tmp_path / "song_describer.mtg-jamendo.tsv").write_text(header + TAG_TABLE)
    sitar, drums = check(song_describer(tmp_path))
    assert sitar.licence == "CC-BY-NC-SA-2.0-FR"
    assert "Tea by Aña" in sitar.attribution
    assert sitar.tags == (Tag("instrument", "sitar"),)
    assert (drums.licence, drums.tags) == ("unknown", ())
