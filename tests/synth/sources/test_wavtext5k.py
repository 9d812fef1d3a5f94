"""WavText5K: descriptions of BigSoundBank and SoundBible, keywords in a Python list."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from libraries import check, sound, write_csv

from synth.base.errors import SourceError
from synth.labels.lexicon import Tag
from synth.sources import Unheard, open_source
from synth.sources.captioned.wavtext5k import WavText5K

COLUMNS = ("view_link", "download_link", "title", "description", "fname", "tags")
BIG = "https://bigsoundbank.com/detail-0100-forest.html"
BIBLE = "https://soundbible.com/925-Bone-Crushing.html"
FOREST = (BIG, "https://bigsoundbank.com/UPLOAD/wav/0100.wav", "Forest", "Birds, fly.", "0100.wav")
BONE = (BIBLE, "https://soundbible.com/grab.php?id=925&type=wav", "Bone\nCrushing")
TAGS = r"""['bone', "cat's", 'a, b', <li><i></i> <a href="t.html">a bow</a></li>, 'bone']"""


def wavtext5k(
    root: Path, tags: str = TAGS, rows: Sequence[Sequence[str]] = (), **settings: bool
) -> WavText5K:
    write_csv(
        root / "WavText5K.csv",
        COLUMNS,
        [
            (*FOREST, ""),
            (*BONE, ' A "bone"\n crushes. ', "bone crushing_1256.wav", tags),
            ("https://bigsoundbank.com/detail-7-x.html", "", "Wind", "", "0007.wav", ""),
            *rows,
        ],
        "utf-8-sig",
    )
    return WavText5K(root=root, **settings)


def test_its_own_layout_is_read(tmp_path: Path) -> None:
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
    with pytest.raises(SourceError, match=r"WavText5K\.csv: line 5: tags: .* is not a list"):
        list(wavtext5k(tmp_path, tags).refs())


@pytest.mark.parametrize("tags", ["[]", r"['don\'t']", '["a"]'])
def test_any_list_of_texts_is_read(tmp_path: Path, tags: str) -> None:
    _, bone, _ = wavtext5k(tmp_path, tags, keywords=True).refs()
    assert [tag.name for tag in bone.tags] in ([], ["don't"], ["a"])


@pytest.mark.parametrize("folder", ["Webcrawl/download", "Webcrawl/44100/audios", "Webcrawl"])
def test_audio_is_found_where_its_script_puts_it(tmp_path: Path, folder: str) -> None:
    source = wavtext5k(tmp_path)
    sound(tmp_path / folder / "0100.wav")
    forest, gone, _ = check(source)
    assert len(source.load(forest).audio) == 1600
    assert source.stamp(gone) == "missing"


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


def test_a_row_that_is_there_twice_counts_once_unless_the_two_differ(tmp_path: Path) -> None:
    assert len(check(wavtext5k(tmp_path, rows=[(*FOREST, "")]))) == 3
    with pytest.raises(SourceError, match=r"0100\.wav differ"):
        list(wavtext5k(tmp_path, rows=[(*FOREST, "['x']")]).refs())


def test_a_wrong_folder_or_page_is_a_source_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="not found"):
        list(WavText5K(root=tmp_path / "none").refs())
    with pytest.raises(SourceError, match=r"no WavText5K\.csv") as caught:
        list(WavText5K(root=tmp_path).refs())
    assert "WavText5K.csv" in caught.value.fix
    elsewhere = ("https://example.org/1-x", "", "", "", "1.wav", "")
    with pytest.raises(SourceError, match=r"line \d+: view_link is 'https://example\.org"):
        list(wavtext5k(tmp_path, rows=[elsewhere]).refs())
