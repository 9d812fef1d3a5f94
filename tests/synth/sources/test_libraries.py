"""Published libraries in miniature, from tests/data/libraries: what each source reads of them."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile
from pydantic import ValidationError

from synth.base.errors import SourceError
from synth.labels.lexicon import Tag
from synth.sources import ClipRef, Unheard, open_source
from synth.sources.captioned.audiocaps import AudioCaps
from synth.sources.music.lp_musiccaps import LpMusicCaps
from synth.sources.music.mtg_jamendo import MtgJamendo
from synth.sources.sounds.esc50 import ESC50_NAMES, Credit, Esc10, Esc50, read_credits
from tests.kit.cases import cases
from tests.kit.libraries import (
    RATE,
    check,
    make_source,
    miniature,
    refused,
    sound,
    write_csv,
    write_parquet,
)
from tests.kit.tables import DATA, read_data

CASES = read_data("texts/licence_entries.yaml")

# What is listed


LISTED = read_data("libraries/listed.yaml")
REFS = {entry["library"]: entry["refs"] for entry in LISTED if "refs" in entry}
BARE = ClipRef("", "")


def describe(ref: ClipRef) -> dict[str, Any]:
    """A ref as the table writes it: what differs from one that says nothing."""
    found = {field.name: getattr(ref, field.name) for field in fields(ref) if field.name != "id"}
    found = {name: value for name, value in found.items() if value != getattr(BARE, name)}
    if ref.tags:
        found["tags"] = [f"{tag.category}:{tag.name}" for tag in ref.tags]
    if ref.duration_s is not None:
        found["duration_s"] = round(ref.duration_s, 6)
    return {name: list(v) if isinstance(v, tuple) else v for name, v in found.items()}


@cases("entry", LISTED)
def test_a_library_is_read_as_it_is_published(tmp_path: Path, entry: dict[str, Any]) -> None:
    name, told = entry["library"], {"settings": {}, "folders": (), "without": (), "changes": {}}
    told |= entry
    source = miniature(name, tmp_path, told["folders"], told["without"], **told["settings"])
    refs, changes = REFS[name], told["changes"]
    expected = {key: refs.get(key, {}) | changes.get(key, {}) for key in entry.get("ids", refs)}
    found = {ref.id: describe(ref) for ref in check(source)}
    assert [*found] == [*expected]
    for key, facts in expected.items():
        assert found[key] == {name: value for name, value in facts.items() if value is not None}


@cases("encoding", ["latin-1", "utf-8-sig"])
def test_clotho_is_read_in_the_encodings_it_comes_in(tmp_path: Path, encoding: str) -> None:
    source = miniature("clotho", tmp_path)
    expected = list(source.refs())
    for path in tmp_path.glob("clotho_metadata_*.csv"):
        path.write_bytes(path.read_text(encoding="utf-8").encode(encoding))
    assert list(source.refs()) == expected


# Real files


def test_the_real_audiocaps_captions(shared_data: Callable[[str], Path], tmp_path: Path) -> None:
    refs = list(AudioCaps(root=shared_data("AudioCaps"), audio=tmp_path).refs())
    assert Counter(ref.split for ref in refs) == {"train": 49_838, "val": 495, "test": 975}
    assert {len(ref.captions) for ref in refs if ref.split != "train"} == {5}


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


def test_the_real_esc50(shared_data: Callable[[str], Path]) -> None:
    source = Esc50(root=shared_data("ESC-50"))
    refs = check(source)
    assert len(refs) == 229
    assert len({ref.labels for ref in refs}) == 49
    assert {ref.split for ref in refs} == {"4"}
    for ref in refs[::60]:
        recording = source.load(ref)
        assert (len(recording.audio), recording.rate) == (220_500, 44_100)


def test_the_real_esc10(shared_data: Callable[[str], Path]) -> None:
    source = Esc10(root=shared_data("ESC-10"))
    refs = check(source)
    assert len(refs) == 320
    assert Counter(ref.labels[0] for ref in refs) == dict.fromkeys(ESC50_NAMES.values(), 32)
    assert Counter(ref.split for ref in refs) == dict.fromkeys("1234", 80)
    assert source.load(refs[0]).rate == 44_100


def test_the_real_file_is_read_to_the_last_line(shared_data: Callable[[str], Path]) -> None:
    root = shared_data("ESC-50")
    credits = read_credits(root)
    assert Counter(credit.licence for credit in credits.values()) == {
        "CC0-1.0": 869,
        "CC-BY-3.0": 901,
        "CC-BY-NC-3.0": 170,
        "CC-Sampling-Plus-1.0": 60,
    }
    assert all(credit.title and credit.author for credit in credits.values())
    assert all(
        credit.url.rstrip("/").endswith(f"/sounds/{stem.split('-')[1]}")
        for stem, credit in credits.items()
    )
    assert credits["4-188595-A"].title == "DrinkingCan[Norberd]"
    assert credits["5-141683-A"].author == "DJ Burnham"
    refs = check(Esc50(root=root))
    assert Counter(ref.licence for ref in refs) == {
        "CC0-1.0": 120,
        "CC-BY-3.0": 90,
        "CC-BY-NC-3.0": 18,
        "CC-Sampling-Plus-1.0": 1,
    }
    assert all(ref.attribution.startswith("cut from ") for ref in refs)


# Audio


def test_a_name_whose_odd_characters_the_unpacker_replaced_is_found(tmp_path: Path) -> None:
    source = miniature("clotho", tmp_path)
    sound(tmp_path / "development" / " Ambience Birds.wav")
    sound(tmp_path / "development" / "Café_ été.wav")
    birds, lost, *_ = source.refs()
    assert len(source.load(birds).audio) == len(source.load(lost).audio) == 1600
    assert lost.duration_s is None
    assert not lost.refusal
    sound(tmp_path / "sounds" / "rain.wav")
    elsewhere = make_source("clotho", tmp_path, audio="sounds")
    *_, rain, _ = elsewhere.refs()
    assert len(elsewhere.load(rain).audio) == 1600


def test_macs_lasts_ten_seconds_and_has_its_audio_in_either_folder(tmp_path: Path) -> None:
    listing = open_source(miniature("macs", tmp_path))
    assert isinstance(listing, Unheard)
    row = listing.row(next(iter(listing.refs())))
    assert row["frames"] == 10 * row["sample_rate"]
    for folder, settings in ((f"{TAU}/audio", {}), ("own", {"audio": "own"})):
        sound(tmp_path / folder / "airport-barcelona-0-0-a.wav")
        source = make_source("macs", tmp_path, **settings)
        first, gone, _ = check(source)
        assert len(source.load(first).audio) == 1600
        assert source.stamp(gone) == "missing"


def test_a_resampled_copy_of_wavtext5k_gives_way_to_the_one_that_was_downloaded(
    tmp_path: Path,
) -> None:
    source = miniature("wavtext5k", tmp_path)
    listing = open_source(source)
    assert isinstance(listing, Unheard)
    with pytest.raises(SourceError, match="length is unknown") as caught:
        listing.row(next(iter(listing.refs())))
    assert "audio" in caught.value.fix
    sound(tmp_path / "Webcrawl" / "16000" / "audios" / "0100.wav", frames=10)
    sound(tmp_path / "Webcrawl" / "download" / "0100.wav")
    assert len(source.load(next(source.refs())).audio) == 1600


def test_audio_of_lp_musiccaps_is_found_by_name_or_path(tmp_path: Path) -> None:
    source = miniature("lp_musiccaps", tmp_path)
    listing = open_source(source)
    assert isinstance(listing, Unheard)
    assert [listing.row(ref)["frames"] / 48_000 for ref in listing.refs()] == [10, 30, 29, 29]
    sound(tmp_path / "audio" / "[-a_bcdefghi]-[30-40].wav")
    sound(tmp_path / "audio" / "8" / "1" / "8134074.clip.mp3", frames=RATE)
    mc, msd, mtt, _ = check(open_source(source))  # type: ignore[arg-type]
    assert len(source.load(mc).audio) == 1600
    assert len(source.load(msd).audio) > 0
    assert msd.duration_s is None
    assert source.stamp(mtt) == "missing"


def test_audio_of_fma_lies_in_folders_of_a_thousand(tmp_path: Path) -> None:
    source = miniature("fma", tmp_path, subset="medium")
    assert [*make_source("fma", tmp_path / "fma_metadata", subset="medium").refs()] == [
        *source.refs()
    ]
    sound(tmp_path / "fma_small" / "000" / "000002.mp3", frames=RATE)
    assert isinstance(open_source(source), Unheard)
    path = sound(tmp_path / "fma_medium" / "152" / "152000.mp3", frames=RATE)
    _, third = check(open_source(source))  # type: ignore[arg-type]
    assert third.location == "fma_medium/152/152000.mp3"
    assert source.checksums() == {}
    digest = hashlib.sha1(path.read_bytes()).hexdigest()
    (tmp_path / "fma_medium" / "checksums").write_text(f"{digest}  152/152000.mp3\n")
    assert source.checksums() == {third.location: f"sha1:{digest}"}
    (tmp_path / "fma_medium" / "checksums").write_text("nonsense\n")
    with pytest.raises(SourceError, match="checksums: line 1: expected a checksum"):
        source.checksums()


def test_checksums_of_jamendo_are_those_of_the_files_that_are_there(tmp_path: Path) -> None:
    source = miniature("mtg_jamendo", tmp_path)
    assert source.checksums() == {}
    low = sound(tmp_path / "audio" / "73" / "773.low.mp3", frames=RATE)
    sound(tmp_path / "audio" / "00" / "1000.low.mp3", frames=RATE)
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


def test_a_clip_of_audioset_is_the_stretch_of_its_file(tmp_path: Path) -> None:
    source = miniature("audioset_strong", tmp_path)
    path = sound(tmp_path / "audio" / "train" / "b0RFKhbpFJA_30000.wav", frames=10 * RATE)
    whole, _ = soundfile.read(path, dtype="float32")
    speech, thud, *_ = check(source)
    assert np.array_equal(source.load(speech).audio, whole[: 2 * RATE])
    assert np.array_equal(source.load(thud).audio, whole[4 * RATE : round(5.72 * RATE)])


# What is not as published


TAU = "TAU-urban-acoustic-scenes-2019-development"


JAMENDO_HEADER = "TRACK_ID\tARTIST_ID\tALBUM_ID\tPATH\tDURATION\tTAGS\n"
GENRES = "track_0000007\ta\tb\t07/7.mp3\t60.0\tgenre---rock\n"


def test_companions_that_are_not_as_published_are_a_source_error(tmp_path: Path) -> None:
    source = miniature("clotho", tmp_path / "clotho")
    path = tmp_path / "clotho" / "clotho_metadata_evaluation.csv"
    header, *_ = path.read_text(encoding="utf-8").splitlines()
    for text, told in (
        (f"{header}\nrain.wav,a,b\n", "line 2: expected 7 fields"),
        ("file_name,keywords\n", "no column 'sound_id'"),
        (None, r"clotho_metadata_evaluation\.csv: the metadata not"),
    ):
        path.unlink()
        if text:
            path.write_text(text, encoding="utf-8")
        refused(source, told)
    source = miniature("fma", tmp_path / "fma")
    (tmp_path / "fma" / "fma_metadata" / "tracks.csv").write_text("track_id,title\n2,x\n")
    refused(source, "three header rows")
    source = miniature("mtg_jamendo", tmp_path / "jamendo", subset="moodtheme")
    refused(source, r"has no autotagging_moodtheme\*\.tsv")
    classes = miniature("musiccaps", tmp_path / "musiccaps")
    (tmp_path / "musiccaps" / "class_labels_indices.csv").write_text(
        "index,mid,display_name\n0,x,X\n"
    )
    refused(classes, "clip -a_bcdefghi: /m/04rlf is not a class")


@cases(
    ("text", "reason"),
    [
        ("files: [", "MACS.yaml"),
        ("- a\n", "the file"),
        ("files:\n- filename: a.wav\n", r"files\.0\.annotations"),
        ("files:\n- filename: a.wav\n  annotations: [{tags: []}]\n", "sentence"),
        ("files: !!python/object/apply:os.getcwd []\n", "could not determine a constructor"),
    ],
)
def test_a_list_of_macs_that_is_not_as_published_is_a_source_error(
    tmp_path: Path, text: str, reason: str
) -> None:
    source = miniature("macs", tmp_path)
    (tmp_path / "MACS.yaml").write_text(text, "utf-8")
    refused(source, reason, "MACS.yaml")


def with_keywords(root: Path, tags: str) -> Any:
    """WavText5K with other keywords of its last clip."""
    source = miniature("wavtext5k", root, keywords=True)
    path = root / "WavText5K.csv"
    text = path.read_text(encoding="utf-8").rstrip()
    path.write_text(f'{text}"{tags.replace(chr(34), 2 * chr(34))}"\n', encoding="utf-8")
    return source


@cases(("tags", "names"), [("[]", ()), (r"['don\'t']", ("don't",)), ('["a"]', ("a",))])
def test_keywords_become_tags(tmp_path: Path, tags: str, names: tuple[str, ...]) -> None:
    *_, wind = check(with_keywords(tmp_path, tags))
    assert wind.tags == tuple(Tag("", name) for name in names)


@cases("tags", ["__import__('os')", "['a'", "[1]"])
def test_keywords_that_are_no_list_of_texts_are_refused_and_never_run(
    tmp_path: Path, tags: str
) -> None:
    source = with_keywords(tmp_path, tags)
    refused(source, r"WavText5K\.csv: line 6: tags: .* is not a list")


MC, MSD, MTT = (
    json.loads(path.read_text(encoding="utf-8"))[0]
    for path in sorted((DATA / "libraries" / "lp_musiccaps").rglob("*.json"))
)
TRUTH = read_data("libraries/lp_musiccaps_json/annotation.json")["[-a_bcdefghi]-[30-40]"]


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
    write_parquet(tmp_path / "train.parquet", row)
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
    (tmp_path / name).write_text(json.dumps(value))
    refused(LpMusicCaps(root=tmp_path), told, name)
    (tmp_path / name).write_bytes(b"\xff{")
    refused(LpMusicCaps(root=tmp_path), "not text in UTF-8")


def test_the_tags_of_msd_are_a_vocabulary_and_no_clips(tmp_path: Path) -> None:
    (tmp_path / "msd_tags.json").write_text('["rock", "80s"]')
    source = LpMusicCaps(root=tmp_path)
    assert set(source.vocabulary()) == {Tag("genre", "rock"), Tag("era", "80s")}
    refused(source, "has no Parquet or JSON")


@cases("header", ["", "TRACK_ID\tARTIST_ID\tALBUM_ID\tPATH\tDURATION\tTAGS\n"])
def test_tags_of_song_describer_come_with_and_without_a_header(tmp_path: Path, header: str) -> None:
    source = miniature("song_describer", tmp_path)
    path = tmp_path / "song_describer.mtg-jamendo.tsv"
    path.write_text(header + path.read_text(encoding="utf-8").splitlines()[-1] + "\n")
    assert next(source.refs()).tags == (Tag("instrument", "sitar"),)


def test_a_track_in_two_splits_is_refused(tmp_path: Path) -> None:
    for split in ("train", "test"):
        (tmp_path / f"autotagging-{split}.tsv").write_text(JAMENDO_HEADER + GENRES)
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
    (tmp_path / "autotagging.tsv").write_text(JAMENDO_HEADER + GENRES)
    (tmp_path / name).write_bytes(text.encode() if isinstance(text, str) else text)
    refused(MtgJamendo(root=tmp_path), told, name)


def test_other_settings_are_refused(tmp_path: Path) -> None:
    for name, settings in (("fsd50k", {"subsets": ()}), ("urbansound8k", {"background": "drop"})):
        with pytest.raises(ValidationError):
            miniature(name, tmp_path / name, **settings)


def test_fsd50k_that_is_not_as_published_is_a_source_error(tmp_path: Path) -> None:
    source = miniature("fsd50k", tmp_path, ["FSD50K.dev_audio"])
    # The audio that is not there is named before long work.
    assert "subsets" in refused(source, r"FSD50K\.eval_audio.*not found").fix
    (tmp_path / "FSD50K.eval_audio").mkdir()
    path = tmp_path / "FSD50K.metadata" / "dev_clips_info_FSD50K.json"
    path.write_text("{")
    refused(source, "dev_clips_info")
    path.write_text('{"1": {"license": 5}}')
    refused(source, r"dev_clips_info.*1\.license")
    path.unlink()
    refused(source, "metadata of the clips not found")
    write_csv(tmp_path / "FSD50K.ground_truth" / "dev.csv", ("fname", "labels"), [])
    assert "FSD50K.ground_truth" in refused(source, "no column 'split'").fix


def test_a_wrong_table_of_audioset_is_a_source_error(tmp_path: Path) -> None:
    source = miniature("audioset_strong", tmp_path)
    (tmp_path / "audioset_train_strong.tsv").write_text("filename\tonset\n")
    refused(source, "no column 'segment_id'")
    names = tmp_path / "mid_to_display_name.tsv"
    names.write_text("/m/09x0r\tSpeech\n/m/09x0r\tTalk\n")
    refused(source, "line 2: /m/09x0r has two names")
    names.write_text("/m/09x0r Speech\n")
    refused(source, "line 1: expected a label")
    names.unlink()
    refused(source, "names of the labels not found")


# ESC-10, and ESC-50's LICENSE


PAGE = "http://www.freesound.org/people/nfrae/sounds/100/"


ENTRY = f"- [1-100-A.ogg]: clip derived from bark.wav ({PAGE}) by nfrae [CC0]"


def written(root: Path, *lines: str, end: str = "\n") -> Path:
    root.mkdir(exist_ok=True)
    text = "".join(line + end for line in lines)
    (root / "LICENSE").write_bytes(text.encode(errors="surrogateescape"))
    return root


def test_esc10_reads_its_own_layout(tmp_path: Path) -> None:
    for folder, name in (("001 - Dog bark", "1-100-A"), ("010 - Fire crackling", "3-7-B")):
        sound(tmp_path / folder / f"{name}.ogg")
    (tmp_path / "001 - Dog bark" / "notes.txt").write_text("no sound")
    written(tmp_path, ENTRY.replace("100", "7").replace("1-7-A", "3-7-B"))
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
    assert (fire.labels, fire.split, fire.licence) == (("crackling_fire",), "3", "CC0-1.0")
    assert fire.attribution.endswith("in ESC-10 (K. J. Piczak)")
    stray = sound(tmp_path / "002 - Rain" / "my rain.ogg")
    refused(Esc10(root=tmp_path), "", stray.name)


@cases(("old", "new", "field", "value"), CASES["read"])
def test_an_entry_is_read_as_freesound_shows_it(
    tmp_path: Path, old: str, new: str, field: str, value: str
) -> None:
    (credit,) = read_credits(written(tmp_path, ENTRY.replace(old, new))).items()
    plain = Credit("CC0-1.0", "bark.wav", "nfrae", PAGE)
    assert credit == ("1-100-A", replace(plain, **{field: value}))


@cases("end", ["\n", "\r\n"])
def test_header_and_headings_are_passed_over(tmp_path: Path, end: str) -> None:
    lines = ("# ESC-50", "Attribution license (http://x.org/).", "", "101 - Dog:", ENTRY, "")
    credits = read_credits(written(tmp_path, *lines, end=end))
    assert credits == {"1-100-A": Credit("CC0-1.0", "bark.wav", "nfrae", PAGE)}


@cases(
    ("lines", "told"),
    [
        *(
            (["# ESC-50", "", line], "line 3: .*cannot be read")
            for line in (
                "- [1-100-A.ogg]: clip derived from bark.wav by nfrae [CC0]",
                f"- [1-100-A.ogg]: clip derived from bark.wav ({PAGE}) by nfrae",
                f"- [1-100-A.ogg]: clip derived from bark.wav ({PAGE}) [CC0]",
                f"- [bark.ogg]: clip derived from bark.wav ({PAGE}) by nfrae [CC0]",
                "clip derived from bark.wav",
                ENTRY + " and more",
            )
        ),
        ([ENTRY.replace("CC0", "free")], r"line 1: the licence \[free\] is not known"),
        (
            [ENTRY, "", ENTRY.replace("CC0", "CC-BY")],
            "line 3: contradicts line 1 about 1-100-A",
        ),
        (["\udcff\udcfe"], "UTF-8"),
    ],
)
def test_an_entry_that_cannot_be_read_is_an_error_with_its_line(
    tmp_path: Path, lines: list[str], told: str
) -> None:
    source = miniature("esc50", tmp_path, ["audio"])
    written(tmp_path, *lines)
    error = refused(source, rf"LICENSE: .*{told}")
    assert "cannot be read" not in told or "clip derived from TITLE" in error.fix
