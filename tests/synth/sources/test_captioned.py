"""Captioned sounds: AudioCaps, Clotho, MACS and WavText5K, each in its own layout."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from synth.base.errors import SourceError
from synth.labels.lexicon import Tag
from synth.sources import Unheard, open_source
from synth.sources.captioned.audiocaps import AudioCaps
from synth.sources.captioned.clotho import Clotho
from synth.sources.captioned.macs import Macs
from synth.sources.captioned.wavtext5k import WavText5K
from tests.kit.cases import cases
from tests.kit.libraries import check, refused, sound, write_csv

# AudioCaps

AUDIOCAPS = ("audiocap_id", "youtube_id", "start_time", "caption")


def audiocaps(root: Path) -> AudioCaps:
    rows = [(1, "-abc_D", 30, "A dog barks, then howls"), (2, "--x", 0, 'A man says "hi"\nloudly')]
    write_csv(root / "train.csv", AUDIOCAPS, rows)
    write_csv(root / "val.csv", AUDIOCAPS, [(3, "v", 10, "Wind"), (4, "v", 10, "It is windy")])
    sound(root / "audio" / "Y-abc_D_30.wav")
    return AudioCaps(root=root)


def test_audiocaps_reads_its_files_with_all_captions_of_a_clip(tmp_path: Path) -> None:
    dashes, gone, wind = check(audiocaps(tmp_path))
    assert dashes.id == "audiocaps/-abc_D_30"
    assert dashes.captions == ("A dog barks, then howls",)
    assert dashes.location == "audio/Y-abc_D_30.wav"
    assert (dashes.recording, dashes.split) == ("youtube/-abc_D", "train")
    assert gone.captions == ('A man says "hi"\nloudly',)
    assert (wind.captions, wind.split) == (("Wind", "It is windy"), "val")


def test_the_real_audiocaps_captions(shared_data: Callable[[str], Path], tmp_path: Path) -> None:
    refs = list(AudioCaps(root=shared_data("AudioCaps"), audio=tmp_path).refs())
    assert Counter(ref.split for ref in refs) == {"train": 49_838, "val": 495, "test": 975}
    assert {len(ref.captions) for ref in refs if ref.split != "train"} == {5}


# Clotho: captions and metadata of each split, odd file names, originals that were not found

CAPTIONS = ("file_name", *(f"caption_{number}" for number in range(1, 6)))
METADATA = (
    *("file_name", "keywords", "sound_id", "sound_link"),
    *("start_end_samples", "manufacturer", "license"),
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


@cases("encoding", ["latin-1", "utf-8", "utf-8-sig"])
def test_clotho_is_read_in_the_encodings_it_comes_in(tmp_path: Path, encoding: str) -> None:
    birds, lost, rain = check(clotho(tmp_path, encoding))
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
    # Whose original was not found is a recording of its own.
    assert (lost.recording, lost.licence) == ("clotho/Café: été", "unknown")
    assert "Not found" not in lost.attribution
    assert lost.duration_s is None


def test_a_name_whose_odd_characters_the_unpacker_replaced_is_found(tmp_path: Path) -> None:
    source = clotho(tmp_path)
    birds, lost, _ = source.refs()
    assert len(source.load(birds).audio) == len(source.load(lost).audio) == 1600
    sound(tmp_path / "sounds" / "rain.wav")
    elsewhere = Clotho(root=tmp_path, audio=Path("sounds"))
    *_, rain = elsewhere.refs()
    assert len(elsewhere.load(rain).audio) == 1600


def test_without_audio_a_clip_of_no_known_length_is_refused(tmp_path: Path) -> None:
    clotho(tmp_path)
    shutil.rmtree(tmp_path / "development")
    birds, lost, _ = open_source(Clotho(root=tmp_path)).refs()
    assert not birds.refusal
    assert "no length" in lost.refusal


def test_keywords_of_clotho_become_tags_when_asked_for(tmp_path: Path) -> None:
    clotho(tmp_path)
    birds, lost, _ = check(Clotho(root=tmp_path, keywords=True))
    assert birds.tags == (Tag("", "OWI"), Tag("", "Birds"), Tag("", "Zoom-H5"))
    assert lost.tags == ()


def test_a_clip_without_metadata_is_refused_by_name_and_not_dropped(tmp_path: Path) -> None:
    clotho(tmp_path)
    again = ("rain.wav", "Rain.", "", "", "", "")
    captions(tmp_path, "evaluation", [("rain.wav", *FIVE), ("new.wav", *FIVE), again])
    *_, rain, new = check(Clotho(root=tmp_path))
    assert rain.captions == (*FIVE, "Rain.")
    assert new.id == "clotho/evaluation/new"
    assert "clotho_metadata_evaluation.csv" in new.refusal


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
    listing = open_source(macs(tmp_path))
    assert isinstance(listing, Unheard)
    row = listing.row(first)
    assert row["frames"] == 10 * row["sample_rate"]
    for folder, audio in ((f"{TAU}/audio", None), ("own", Path("own"))):
        sound(tmp_path / folder / "airport-barcelona-0-0-a.wav")
        source = Macs(root=tmp_path, audio=audio)
        first, gone, _ = check(source)
        assert len(source.load(first).audio) == 1600
        assert source.stamp(gone) == "missing"


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


def wavtext5k(root: Path, tags: str = KEYWORDS, **settings: bool) -> WavText5K:
    bone = (*BONE, ' A "bone"\n crushes. ', "bone crushing_1256.wav", tags)
    wind = ("https://bigsoundbank.com/detail-7-x.html", "", "Wind", "", "0007.wav", "")
    write_csv(root / "WavText5K.csv", WAVTEXT5K, [(*FOREST, ""), bone, wind])
    return WavText5K(root=root, **settings)


def test_wavtext5k_is_read_as_it_is_published(tmp_path: Path) -> None:
    source = wavtext5k(tmp_path)
    forest, bone, wind = check(source)
    assert forest.id == "wavtext5k/0100"
    assert forest.captions == ("Birds, fly.",)
    assert (forest.recording, bone.recording) == ("bigsoundbank/0100", "soundbible/925")
    assert bone.id == "wavtext5k/bone crushing_1256"
    assert bone.captions == ('A "bone" crushes.',)
    assert wind.captions == ()
    assert {ref.licence for ref in (forest, bone, wind)} == {"unknown"}
    assert BIG in forest.attribution
    assert "BigSoundBank" in forest.attribution
    assert (forest.tags, bone.tags) == ((), ())
    listing = open_source(source)
    assert isinstance(listing, Unheard)
    with pytest.raises(SourceError, match="length is unknown") as caught:
        listing.row(forest)
    assert "audio" in caught.value.fix
    # A resampled copy gives way to the one that was downloaded.
    sound(tmp_path / "Webcrawl" / "16000" / "audios" / "0100.wav", frames=10)
    sound(tmp_path / "Webcrawl" / "download" / "0100.wav")
    assert len(source.load(next(source.refs())).audio) == 1600


@cases(
    ("tags", "names"),
    [
        (KEYWORDS, ("bone", "cat's", "a, b", "a bow")),
        ("[]", ()),
        (r"['don\'t']", ("don't",)),
        ('["a"]', ("a",)),
    ],
)
def test_keywords_become_tags_when_asked_for(
    tmp_path: Path, tags: str, names: tuple[str, ...]
) -> None:
    forest, bone, _ = check(wavtext5k(tmp_path, tags, keywords=True))
    assert (forest.tags, bone.tags) == ((), tuple(Tag("", name) for name in names))


@cases("tags", ["__import__('os')", "['a'", "[1]"])
def test_keywords_that_are_no_list_of_texts_are_refused_and_never_run(
    tmp_path: Path, tags: str
) -> None:
    refused(wavtext5k(tmp_path, tags), r"WavText5K\.csv: line 5: tags: .* is not a list")
