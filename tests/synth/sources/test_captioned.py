"""Captioned sounds: AudioCaps, Clotho, MACS and WavText5K, each in its own layout."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from synth.base.errors import ClipError, SourceError
from synth.labels.lexicon import Tag
from synth.sources import Source, Unheard, open_source
from synth.sources.captioned.audiocaps import AudioCaps
from synth.sources.captioned.clotho import Clotho
from synth.sources.captioned.macs import Macs
from synth.sources.captioned.wavtext5k import WavText5K
from tests.kit.libraries import check, refused, sound, write_csv

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


def test_the_real_audiocaps_captions(shared_data: Callable[[str], Path], tmp_path: Path) -> None:
    refs = check(AudioCaps(root=shared_data("AudioCaps"), audio=tmp_path))
    assert Counter(ref.split for ref in refs) == {"train": 49_838, "val": 495, "test": 975}
    assert {len(ref.captions) for ref in refs if ref.split != "train"} == {5}


# Clotho: captions and metadata of each split, odd file names, originals that were not found

CAPTIONS = ("file_name", *(f"caption_{number}" for number in range(1, 6)))
METADATA = (
    "file_name",
    "keywords",
    "sound_id",
    "sound_link",
    "start_end_samples",
    "manufacturer",
    "license",
)
BY_NC = "http://creativecommons.org/licenses/by-nc/3.0/"
LINK = "https://freesound.org/people/Juan_Merie/sounds/327673"
FIVE = ("Birds sing.", "A bird, two birds.", 'One says "tweet".', "Birds\ncall.", "Chirping.")
BIRDS = (" Ambience Birds.wav", "OWI;Birds;OWI;Zoom-H5", "327673", LINK, "[44100, 926100]", "Juan")


def captions(root: Path, split: str, rows: Sequence[Sequence[str]]) -> None:
    write_csv(root / f"clotho_captions_{split}.csv", CAPTIONS, rows)


def metadata(root: Path, split: str, rows: Sequence[Sequence[str]], encoding: str) -> None:
    write_csv(root / f"clotho_metadata_{split}.csv", METADATA, rows, encoding)


def clotho(root: Path, encoding: str = "latin-1") -> Clotho:
    captions(root, "development", [(" Ambience Birds.wav", *FIVE), ("Café: été.wav", *FIVE)])
    lost = ("Café: été.wav", "", "Not found", "Not found", "", "Not found", "Not found")
    metadata(root, "development", [(*BIRDS, BY_NC), lost], encoding)
    captions(root, "evaluation", [("rain.wav", *FIVE)])
    metadata(
        root, "evaluation", [("rain.wav", "", "7.0", "", "[0, 44100]", "Zoë", BY_NC)], encoding
    )
    sound(root / "development" / " Ambience Birds.wav")
    sound(root / "development" / "Café_ été.wav")
    return Clotho(root=root)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-8", "utf-8-sig"])
def test_clotho_is_read_in_the_encodings_it_comes_in(tmp_path: Path, encoding: str) -> None:
    source = clotho(tmp_path, encoding)
    birds, lost, rain = check(source)
    assert birds.id == "clotho/development/ Ambience Birds"
    assert birds.location == "development/ Ambience Birds.wav"
    assert birds.captions == FIVE
    assert (birds.recording, birds.licence) == ("freesound/327673", "CC-BY-NC-3.0")
    assert birds.duration_s == 20.0
    assert "Juan" in birds.attribution
    assert "327673" in birds.attribution
    assert [ref.split for ref in (birds, lost, rain)] == ["development"] * 2 + ["evaluation"]
    assert rain.recording == "freesound/7"
    assert "Zoë" in rain.attribution
    assert not any(ref.refusal or ref.labels or ref.tags for ref in (birds, lost, rain))


def test_an_original_that_was_not_found_is_a_recording_of_its_own(tmp_path: Path) -> None:
    _, lost, _ = check(clotho(tmp_path))
    assert (lost.recording, lost.licence) == ("clotho/Café: été", "unknown")
    assert "Not found" not in lost.attribution
    assert lost.duration_s is None


def test_a_name_whose_odd_characters_the_unpacker_replaced_is_found(tmp_path: Path) -> None:
    source = clotho(tmp_path)
    birds, lost, rain = source.refs()
    assert len(source.load(birds).audio) == len(source.load(lost).audio) == 1600
    assert rain.location == "evaluation/rain.wav"
    with pytest.raises(ClipError, match="cannot be read"):
        source.load(rain)


@pytest.mark.parametrize("folder", ["evaluation", "clotho_audio_evaluation/evaluation", "."])
def test_audio_is_found_where_the_archives_were_unpacked(tmp_path: Path, folder: str) -> None:
    clotho(tmp_path)
    sound(tmp_path / "sounds" / folder / "rain.wav")
    source = Clotho(root=tmp_path, audio=Path("sounds"))
    *_, rain = source.refs()
    assert len(source.load(rain).audio) == 1600


def test_without_audio_it_is_a_listing_with_lengths_from_the_metadata(tmp_path: Path) -> None:
    captions(tmp_path, "validation", [("a.wav", *FIVE), ("b.wav", *FIVE)])
    lost = ("b.wav", "", "Not found", "Not found", "", "Not found", "Not found")
    metadata(tmp_path, "validation", [("a.wav", *BIRDS[1:], BY_NC), lost], "latin-1")
    listing = open_source(Clotho(root=tmp_path))
    assert isinstance(listing, Unheard)
    a, b = listing.refs()
    assert listing.row(a)["frames"] == 20 * listing.row(a)["sample_rate"]
    assert "no length" in b.refusal
    (tmp_path / "validation").mkdir()
    source = open_source(Clotho(root=tmp_path))
    assert isinstance(source, Source)
    assert not any(ref.refusal for ref in source.refs())


def test_keywords_of_clotho_become_tags_when_asked_for(tmp_path: Path) -> None:
    clotho(tmp_path)
    birds, lost, _ = check(Clotho(root=tmp_path, keywords=True))
    assert birds.tags == (Tag("", "OWI"), Tag("", "Birds"), Tag("", "Zoom-H5"))
    assert lost.tags == ()


def test_a_clip_without_metadata_is_refused_by_name_and_not_dropped(tmp_path: Path) -> None:
    clotho(tmp_path)
    captions(tmp_path, "evaluation", [("rain.wav", *FIVE), ("new.wav", *FIVE)])
    *_, new = check(Clotho(root=tmp_path))
    assert new.id == "clotho/evaluation/new"
    assert "clotho_metadata_evaluation.csv" in new.refusal


def test_a_clip_listed_twice_comes_once_with_all_captions(tmp_path: Path) -> None:
    clotho(tmp_path)
    captions(tmp_path, "evaluation", [("rain.wav", *FIVE), ("rain.wav", "Rain.", "", "", "", "")])
    *_, rain = check(Clotho(root=tmp_path))
    assert rain.captions == (*FIVE, "Rain.")


def test_metadata_that_are_not_as_published_are_a_source_error(tmp_path: Path) -> None:
    captions(tmp_path, "evaluation", [("rain.wav", *FIVE)])
    source = Clotho(root=tmp_path)
    refused(source, r"clotho_metadata_evaluation\.csv: the metadata not")
    path = tmp_path / "clotho_metadata_evaluation.csv"
    path.write_text("file_name,keywords\n")
    refused(source, "no column 'sound_id'")
    path.write_text(",".join(METADATA) + "\nrain.wav,a,b\n")
    refused(source, "line 2: expected 7 fields")


# MACS: annotators' sentences and tags from YAML

YAML = """
files:
- filename: airport-barcelona-0-0-a.wav
  annotations:
  - annotator_id: 54
    sentence: people talking, and a "bing" from the loudspeaker
    tags: [adults talking, footsteps]
  - annotator_id: 7
    sentence: ' a crowd walks '
    tags:
    - footsteps
    - announcement
- filename: airport-barcelona-0-12-a.wav
  annotations:
  - {annotator_id: 9, sentence: "wind: strong", tags: []}
- filename: street_traffic-lyon-1120-40391-a.wav
  annotations:
  - {annotator_id: 9, sentence: cars pass by}
- filename: airport-barcelona-0-0-a.wav
  annotations:
  - {annotator_id: 11, sentence: someone speaks, tags: [footsteps]}
"""
TAU = "TAU-urban-acoustic-scenes-2019-development"


def macs(root: Path, text: str = YAML) -> Macs:
    root.mkdir(exist_ok=True)
    (root / "MACS.yaml").write_text(text, "utf-8")
    return Macs(root=root)


def test_sentences_of_all_annotators_are_captions_and_tags_labels(tmp_path: Path) -> None:
    first, second, lyon = check(macs(tmp_path))
    assert first.id == "macs/airport-barcelona-0-0-a"
    assert first.captions == (
        'people talking, and a "bing" from the loudspeaker',
        "a crowd walks",
        "someone speaks",
    )
    assert first.labels == ("footsteps", "adults talking", "announcement")
    assert (second.captions, second.labels) == (("wind: strong",), ())
    assert first.recording == second.recording == "macs/barcelona-0"
    assert lyon.recording == "macs/lyon-1120"
    assert "non-commercial" in first.licence


@pytest.mark.parametrize("folder", [f"{TAU}/audio", "own"])
def test_audio_is_found_in_the_unpacked_set_or_in_a_folder_of_ones_own(
    tmp_path: Path, folder: str
) -> None:
    macs(tmp_path)
    sound(tmp_path / folder / "airport-barcelona-0-0-a.wav")
    source = Macs(root=tmp_path, audio=None if TAU in folder else Path(folder))
    first, gone, _ = check(source)
    assert len(source.load(first).audio) == 1600
    assert source.stamp(gone) == "missing"


def test_without_audio_it_is_a_listing_of_ten_second_clips(tmp_path: Path) -> None:
    listing = open_source(macs(tmp_path))
    assert isinstance(listing, Unheard)
    row = listing.row(next(listing.refs()))
    assert row["frames"] == 10 * row["sample_rate"]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("files: [", "MACS.yaml"),
        ("- a\n", "the file"),
        ("files:\n- filename: a.wav\n", r"files\.0\.annotations"),
        ("files:\n- filename: a.wav\n  annotations: [{tags: []}]\n", "sentence"),
        ("files: !!python/object/apply:os.getcwd []\n", "could not determine a constructor"),
    ],
)
def test_a_file_that_is_not_as_published_is_a_source_error(
    tmp_path: Path, text: str, reason: str
) -> None:
    refused(macs(tmp_path, text), reason, "MACS.yaml")


# WavText5K: descriptions of two sites, keywords in a Python list

WAVTEXT5K = ("view_link", "download_link", "title", "description", "fname", "tags")
BIG = "https://bigsoundbank.com/detail-0100-forest.html"
BIBLE = "https://soundbible.com/925-Bone-Crushing.html"
FOREST = (BIG, "https://bigsoundbank.com/UPLOAD/wav/0100.wav", "Forest", "Birds, fly.", "0100.wav")
BONE = (BIBLE, "https://soundbible.com/grab.php?id=925&type=wav", "Bone\nCrushing")
KEYWORDS = r"""['bone', "cat's", 'a, b', <li><i></i> <a href="t.html">a bow</a></li>, 'bone']"""


def wavtext5k(
    root: Path, tags: str = KEYWORDS, rows: Sequence[Sequence[str]] = (), **settings: bool
) -> WavText5K:
    write_csv(
        root / "WavText5K.csv",
        WAVTEXT5K,
        [
            (*FOREST, ""),
            (*BONE, ' A "bone"\n crushes. ', "bone crushing_1256.wav", tags),
            ("https://bigsoundbank.com/detail-7-x.html", "", "Wind", "", "0007.wav", ""),
            *rows,
        ],
        "utf-8-sig",
    )
    return WavText5K(root=root, **settings)


def test_wavtext5k_is_read_as_it_is_published(tmp_path: Path) -> None:
    forest, bone, wind = check(wavtext5k(tmp_path))
    assert forest.id == "wavtext5k/0100"
    assert forest.captions == ("Birds, fly.",)
    assert (forest.recording, bone.recording) == ("bigsoundbank/0100", "soundbible/925")
    assert bone.id == "wavtext5k/bone crushing_1256"
    assert bone.captions == ('A "bone" crushes.',)
    assert wind.captions == ()
    assert {ref.licence for ref in (forest, bone, wind)} == {"unknown"}
    assert BIG in forest.attribution
    assert "BigSoundBank" in forest.attribution
    assert bone.tags == ()


def test_keywords_become_tags_when_asked_for(tmp_path: Path) -> None:
    forest, bone, _ = check(wavtext5k(tmp_path, keywords=True))
    names = ("bone", "cat's", "a, b", "a bow")
    assert bone.tags == tuple(Tag("", name) for name in names)
    assert forest.tags == ()


@pytest.mark.parametrize(
    "tags",
    ["__import__('os')", "['a', b]", "['a'", "['a',", "['a'] + ['b']", "['a']'b']", "[1]", "rock"],
)
def test_keywords_that_are_no_list_of_texts_are_refused_and_never_run(
    tmp_path: Path, tags: str
) -> None:
    refused(wavtext5k(tmp_path, tags), r"WavText5K\.csv: line 5: tags: .* is not a list")


@pytest.mark.parametrize("tags", ["[]", r"['don\'t']", '["a"]'])
def test_any_list_of_texts_is_read(tmp_path: Path, tags: str) -> None:
    _, bone, _ = wavtext5k(tmp_path, tags, keywords=True).refs()
    assert [tag.name for tag in bone.tags] in ([], ["don't"], ["a"])


def test_the_copy_as_downloaded_is_preferred_to_the_resampled_one(tmp_path: Path) -> None:
    source = wavtext5k(tmp_path)
    sound(tmp_path / "Webcrawl" / "16000" / "audios" / "0100.wav", frames=10)
    sound(tmp_path / "Webcrawl" / "download" / "0100.wav")
    assert len(source.load(next(source.refs())).audio) == 1600


def test_without_audio_lengths_are_not_known_and_it_says_so(tmp_path: Path) -> None:
    listing = open_source(wavtext5k(tmp_path))
    assert isinstance(listing, Unheard)
    with pytest.raises(SourceError, match="length is not known") as caught:
        listing.row(next(listing.refs()))
    assert "audio" in caught.value.fix
