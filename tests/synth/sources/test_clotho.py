"""Clotho: captions and metadata of each split, odd file names, originals that were not found."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from libraries import check, sound, write_csv

from synth.base.errors import ClipError, SourceError
from synth.labels.lexicon import Tag
from synth.sources import Source, Unheard, open_source
from synth.sources.captioned.clotho import Clotho

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
def test_its_own_layout_is_read_in_the_encodings_it_comes_in(tmp_path: Path, encoding: str) -> None:
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


def test_keywords_become_tags_when_asked_for(tmp_path: Path) -> None:
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


def test_a_wrong_folder_or_file_is_a_source_error_that_says_what_to_give(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="not found"):
        list(Clotho(root=tmp_path / "none").refs())
    with pytest.raises(SourceError, match="holds no clotho_captions") as caught:
        list(Clotho(root=tmp_path).refs())
    assert "clotho_metadata" in caught.value.fix
    captions(tmp_path, "evaluation", [("rain.wav", *FIVE)])
    with pytest.raises(SourceError, match=r"clotho_metadata_evaluation\.csv: the metadata not"):
        list(Clotho(root=tmp_path).refs())
    path = tmp_path / "clotho_metadata_evaluation.csv"
    path.write_text("file_name,keywords\n")
    with pytest.raises(SourceError, match="no column 'sound_id'"):
        list(Clotho(root=tmp_path).refs())
    path.write_text(",".join(METADATA) + "\nrain.wav,a,b\n")
    with pytest.raises(SourceError, match="line 2: expected 7 fields"):
        list(Clotho(root=tmp_path).refs())
    with pytest.raises(SourceError, match="audio folder"):
        list(Clotho(root=tmp_path, audio=Path("nowhere")).refs())
