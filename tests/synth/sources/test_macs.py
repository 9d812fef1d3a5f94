"""MACS: annotators' sentences and tags from YAML, audio of TAU Urban Acoustic Scenes 2019."""

from __future__ import annotations

from pathlib import Path

import pytest
from libraries import check, sound

from synth.base.errors import SourceError
from synth.sources import Unheard, open_source
from synth.sources.captioned.macs import Macs

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
AUDIO = "TAU-urban-acoustic-scenes-2019-development"


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


@pytest.mark.parametrize("folder", [f"{AUDIO}/audio", "own"])
def test_audio_is_found_in_the_unpacked_set_or_in_a_folder_of_ones_own(
    tmp_path: Path, folder: str
) -> None:
    macs(tmp_path)
    sound(tmp_path / folder / "airport-barcelona-0-0-a.wav")
    source = Macs(root=tmp_path, audio=None if AUDIO in folder else Path(folder))
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
    with pytest.raises(SourceError, match=reason) as caught:
        list(macs(tmp_path, text).refs())
    assert "MACS.yaml" in str(caught.value)
    assert caught.value.fix


def test_a_wrong_folder_is_a_source_error_that_says_what_to_give(tmp_path: Path) -> None:
    for root in (tmp_path / "none", tmp_path):
        with pytest.raises(SourceError, match="not found") as caught:
            list(Macs(root=root).refs())
        assert "MACS.yaml" in caught.value.fix
