"""LP-MusicCaps: three Parquet datasets of Hugging Face, the repository's JSON files, real data."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from libraries import check, sound

from synth.base.errors import ClipError, SourceError
from synth.labels.lexicon import Tag
from synth.sources import Unheard, open_source
from synth.sources.music.lp_musiccaps import LpMusicCaps

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


def dump(path: Path, value: Any) -> None:
    path.write_text(json.dumps(value), encoding="utf-8")


def test_the_three_datasets_are_read_as_they_are_cloned(tmp_path: Path) -> None:
    mc, msd, mtt, untagged = check(clones(tmp_path))
    assert [ref.id for ref in (mc, msd, mtt)] == [
        "lp_musiccaps/mc/-a_bcdefghi_30",
        "lp_musiccaps/msd/TRIHXPZ128F1466744",
        "lp_musiccaps/mtt/831",
    ]
    assert [ref.recording for ref in (mc, msd, mtt)] == [
        "youtube/-a_bcdefghi",
        "msd/TRIHXPZ128F1466744",
        "magnatagatune/anne-first-01-by_mourning",
    ]
    assert [ref.split for ref in (mc, msd, mtt)] == ["test", "train", "valid"]
    assert mc.captions == ("A person's.", "Written.", "Short.")
    assert mtt.captions == msd.captions == ("Written.", "Short.")
    assert mc.tags == (Tag("genre", "rock"), Tag("", "ram's horn; low"))
    assert [tag.name for tag in mtt.tags] == ["metal", "instrumental"]
    assert (untagged.captions, untagged.tags) == ((), ())
    assert mtt.licence == "CC-BY-NC-SA-1.0"


def test_one_clone_is_read_by_itself(tmp_path: Path) -> None:
    clones(tmp_path)
    (msd,) = check(LpMusicCaps(root=tmp_path / "LP-MusicCaps-MSD"))
    assert msd.tags == (Tag("genre", "hip hop"), Tag("era", "80s"))


def test_the_kinds_of_captions_are_chosen(tmp_path: Path) -> None:
    clones(tmp_path)
    source = LpMusicCaps(root=tmp_path, captions=("attribute_prediction", "ground_truth"))
    mc, msd, *_ = check(source)
    assert (mc.captions, msd.captions) == (("Invented.", "A person's."), ("Invented.",))


def test_without_audio_it_is_a_listing(tmp_path: Path) -> None:
    listing = open_source(clones(tmp_path))
    assert isinstance(listing, Unheard)
    rows = [listing.row(ref)["frames"] / 48_000 for ref in listing.refs()]
    assert rows == [10, 30, 29, 29]


def test_audio_is_found_by_name_or_path(tmp_path: Path) -> None:
    source = clones(tmp_path)
    sound(tmp_path / "audio" / "[-a_bcdefghi]-[30-40].wav")
    sound(tmp_path / "audio" / str(MSD["path"]), frames=16_000)
    mc, msd, mtt, _ = check(open_source(source))  # type: ignore[arg-type]
    assert len(source.load(mc).audio) == 1600
    assert len(source.load(msd).audio) > 0
    assert msd.duration_s is None
    with pytest.raises(ClipError, match="cannot be read"):
        source.load(mtt)


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
    with pytest.raises(SourceError, match="holds no Parquet or JSON") as caught:
        list(source.refs())
    assert "LP-MusicCaps-MC, -MSD" in caught.value.fix


@pytest.mark.parametrize(
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
def test_bad_rows_are_named(tmp_path: Path, row: dict[str, Any], told: str) -> None:
    write(tmp_path / "train.parquet", row)
    with pytest.raises(SourceError, match=told) as caught:
        list(LpMusicCaps(root=tmp_path).refs())
    assert "train.parquet" in str(caught.value)
    assert caught.value.fix


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("annotation.json", [], "is not a mapping of clips"),
        ("annotation.json", {"a": 1}, "clip a: is not a mapping"),
        ("annotation.json", {"a": TRUTH | {"caption": ""}}, "clip a: '' is not a caption"),
        (
            "annotation.json",
            {"a": TRUTH | {"end_s": None}},
            "clip a: end is 'None'",
        ),
        ("caption_writing.json", {}, "is not a list of captions"),
        ("caption_writing.json", [{"prediction": "x"}], "entry 1: None is not a caption"),
        ("caption_summary.json", ["x"], "entry 1: None is not a caption"),
    ],
)
def test_bad_json_is_named(tmp_path: Path, name: str, value: Any, told: str) -> None:
    dump(tmp_path / name, value)
    with pytest.raises(SourceError, match=told) as caught:
        list(LpMusicCaps(root=tmp_path).refs())
    assert name in str(caught.value)
    (tmp_path / name).write_bytes(b"\xff{")
    with pytest.raises(SourceError, match="not text in UTF-8"):
        list(LpMusicCaps(root=tmp_path).refs())


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
