"""FSD50K: smeared labels become the most specific ones, each clip has its own licence."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from libraries import check, sound, write_csv
from pydantic import ValidationError

from synth.base.errors import ClipError, SourceError
from synth.sources.sounds.fsd50k import Fsd50k

GUITAR = "Guitar,Plucked_string_instrument,Musical_instrument,Music"
DEV = [
    ("64760", f"Electric_guitar,{GUITAR}", "/m/02sgy,...", "train"),
    ("193768", f"Electric_guitar,Bass_guitar,{GUITAR}", "...", "val"),
    ("1", "Squeak,Door,Domestic_sounds_and_home_sounds", "...", "train"),
    ("2", "Dishes_and_pots_and_pans,Domestic_sounds_and_home_sounds", "...", "train"),
]
EVAL = [
    (
        "37199",
        "Chirp_and_tweet,Bird_vocalization_and_bird_call_and_bird_song,Bird,Wild_animals,Animal",
        "...",
    ),
    ("251763", f"Electric_guitar,Squeak,{GUITAR}", "..."),
    ("223978", "Growling,Bird,Wild_animals,Animal", "..."),
    ("5", "Growling,Dog,Domestic_animals_and_pets,Animal", "..."),
    ("6", "Growling,Cat,Domestic_animals_and_pets,Animal", "..."),
    ("7", "Growling,Animal", "..."),
]
INFO = {
    "title": "guitarras_63.wav",
    "description": 'a "guitar"\n',
    "tags": ["electric"],
    "license": "http://creativecommons.org/licenses/sampling+/1.0/",
    "uploader": "casualsamples",
}


def fsd50k(
    root: Path, dev: Sequence[Sequence[str]] = DEV, evaluation: Sequence[Sequence[str]] = EVAL
) -> Fsd50k:
    truth = root / "FSD50K.ground_truth"
    write_csv(truth / "dev.csv", ("fname", "labels", "mids", "split"), dev, "utf-8-sig")
    write_csv(truth / "eval.csv", ("fname", "labels", "mids"), evaluation)
    for subset, clip in (("dev", "64760"), ("eval", "37199")):
        (root / f"FSD50K.{subset}_audio").mkdir(exist_ok=True)
        path = root / "FSD50K.metadata" / f"{subset}_clips_info_FSD50K.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({clip: INFO}), "utf-8")
    sound(root / "FSD50K.dev_audio" / "64760.wav")
    return Fsd50k(root=root)


def test_its_own_layout_is_read(tmp_path: Path) -> None:
    source = fsd50k(tmp_path)
    refs = {ref.id: ref for ref in check(source)}
    guitar = refs["fsd50k/64760"]
    assert guitar.location == "FSD50K.dev_audio/64760.wav"
    assert (guitar.recording, guitar.licence) == ("freesound/64760", "CC-Sampling-Plus-1.0")
    assert "casualsamples" in guitar.attribution
    assert "guitarras_63.wav" in guitar.attribution
    assert [ref.split for ref in refs.values()] == ["train", "val", "train", "train"] + ["eval"] * 6
    assert refs["fsd50k/193768"].licence == "unknown"
    assert len(source.load(guitar).audio) == 1600
    with pytest.raises(ClipError, match="cannot be read"):
        source.load(refs["fsd50k/1"])


def test_labels_are_the_most_specific_under_their_display_names(tmp_path: Path) -> None:
    labels = {ref.id.split("/")[1]: ref.labels for ref in check(fsd50k(tmp_path))}
    assert labels["64760"] == ("Electric guitar",)
    assert labels["193768"] == ("Electric guitar", "Bass guitar")
    assert labels["2"] == ("Dishes, pots, and pans",)
    assert labels["37199"] == ("Chirp, tweet",)


def test_a_broader_label_that_is_not_smeared_stays(tmp_path: Path) -> None:
    labels = {ref.id.split("/")[1]: ref.labels for ref in check(fsd50k(tmp_path))}
    # A guitar squeaks without a door, so a door that is named was heard; its own parent goes.
    assert labels["1"] == ("Squeak", "Door")
    # Growling is below cats, dogs and wild animals alike, and always smeared to animals alone.
    assert labels["223978"] == ("Growling", "Bird")
    assert (labels["5"], labels["6"]) == (("Growling", "Dog"), ("Growling", "Cat"))
    assert labels["7"] == ("Growling",)


def test_labels_of_a_clip_do_not_depend_on_the_subsets_that_are_chosen(tmp_path: Path) -> None:
    every = check(fsd50k(tmp_path))
    chosen = check(Fsd50k(root=tmp_path, subsets=("dev",)))
    assert chosen == [ref for ref in every if ref.split != "eval"]


def test_a_subset_whose_audio_is_not_there_is_named_before_long_work(tmp_path: Path) -> None:
    fsd50k(tmp_path)
    (tmp_path / "FSD50K.eval_audio").rmdir()
    with pytest.raises(SourceError, match=r"FSD50K\.eval_audio.*not found") as caught:
        list(Fsd50k(root=tmp_path).refs())
    assert "subsets" in caught.value.fix
    assert len(check(Fsd50k(root=tmp_path, subsets=("dev",)))) == 4


def test_a_row_that_is_there_twice_counts_once_unless_the_two_differ(tmp_path: Path) -> None:
    assert len(check(fsd50k(tmp_path, [DEV[0], DEV[0]]))) == 1 + len(EVAL)
    with pytest.raises(SourceError, match="two rows on 64760 differ"):
        list(fsd50k(tmp_path, [DEV[0], ("64760", "Music", "", "train")]).refs())


def test_a_wrong_folder_or_file_is_a_source_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="not found"):
        list(Fsd50k(root=tmp_path).refs())
    source = fsd50k(tmp_path)
    path = tmp_path / "FSD50K.metadata" / "dev_clips_info_FSD50K.json"
    path.write_text("{")
    with pytest.raises(SourceError, match="dev_clips_info"):
        list(source.refs())
    path.write_text('{"1": {"license": 5}}')
    with pytest.raises(SourceError, match=r"dev_clips_info.*1\.license"):
        list(source.refs())
    path.unlink()
    with pytest.raises(SourceError, match="metadata of the clips not found"):
        list(source.refs())
    write_csv(tmp_path / "FSD50K.ground_truth" / "dev.csv", ("fname", "labels"), [])
    with pytest.raises(SourceError, match="no column 'split'") as caught:
        list(source.refs())
    assert "FSD50K.ground_truth" in caught.value.fix
    with pytest.raises(ValidationError):
        Fsd50k(root=tmp_path, subsets=())
