"""Labelled sounds: ESC-50, ESC-10, FSD50K and UrbanSound8K, each in its own layout."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from synth.base.errors import ClipError, SourceError
from synth.sources import ClipRef
from synth.sources.sounds.esc50 import ESC50_NAMES, Credit, Esc10, Esc50, read_credits
from synth.sources.sounds.fsd50k import Fsd50k
from synth.sources.sounds.urbansound8k import UrbanSound8K
from tests.kit.libraries import RATE, check, refused, sound, write_csv

# ESC-50

ESC50_COLUMNS = ("filename", "fold", "target", "category", "esc10", "src_file", "take")
ESC50_ROWS = [
    ("1-100-A-0.wav", 1, 0, "dog", True, 100, "A"),
    ("1-100-B-0.wav", 1, 0, "dog", True, 100, "B"),
    ("5-7-A-40.wav", 5, 40, "helicopter", False, 7, "A"),
]


def esc50(root: Path, rows: Iterable[Sequence[object]] = ESC50_ROWS, **settings: Any) -> Esc50:
    write_csv(root / "meta" / "esc50.csv", ESC50_COLUMNS, rows, **settings)
    for seed, name in enumerate(["1-100-A-0.wav", "5-7-A-40.wav"]):
        sound(root / "audio" / name, seed)
    return Esc50(root=root)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_esc50_reads_its_own_layout(tmp_path: Path, encoding: str) -> None:
    refs = check(esc50(tmp_path, encoding=encoding))
    assert [ref.id for ref in refs] == ["esc50/1-100-A-0", "esc50/1-100-B-0", "esc50/5-7-A-40"]
    assert [ref.labels for ref in refs] == [("dog",), ("dog",), ("helicopter",)]
    assert [ref.split for ref in refs] == ["1", "1", "5"]
    assert [ref.recording for ref in refs] == ["freesound/100", "freesound/100", "freesound/7"]
    assert [ref.licence for ref in refs] == ["CC-BY-3.0", "CC-BY-3.0", "CC-BY-NC-3.0"]
    assert "Piczak" in refs[0].attribution


def test_esc50_loads_and_a_listed_file_that_is_gone_is_a_clip_error(tmp_path: Path) -> None:
    source = esc50(tmp_path)
    here, gone, _ = source.refs()
    recording = source.load(here)
    assert (len(recording.audio), recording.rate, recording.channels) == (1600, RATE, 1)
    with pytest.raises(ClipError, match="cannot be read"):
        source.load(gone)
    assert source.stamp(gone) == "missing"
    assert source.stamp(here) != "missing"


def test_the_real_esc50(shared_data: Callable[[str], Path]) -> None:
    source = Esc50(root=shared_data("ESC-50"))
    refs = check(source)
    assert len(refs) == 229
    assert len({ref.labels for ref in refs}) == 49
    assert {ref.split for ref in refs} == {"4"}
    for ref in refs[::60]:
        recording = source.load(ref)
        assert (len(recording.audio), recording.rate) == (220_500, 44_100)


# ESC-10


def test_esc10_reads_its_own_layout(tmp_path: Path) -> None:
    for folder, name in (("001 - Dog bark", "1-100-A"), ("010 - Fire crackling", "3-7-B")):
        sound(tmp_path / folder / f"{name}.ogg")
    (tmp_path / "LICENSE").write_text("CC BY")
    (tmp_path / "001 - Dog bark" / "notes.txt").write_text("no sound")
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
    assert (fire.labels, fire.split) == (("crackling_fire",), "3")


def test_esc10_with_a_stray_file_is_a_source_error(tmp_path: Path) -> None:
    stray = sound(tmp_path / "002 - Rain" / "my rain.ogg")
    refused(Esc10(root=tmp_path), "", stray.name)


def test_the_real_esc10(shared_data: Callable[[str], Path]) -> None:
    source = Esc10(root=shared_data("ESC-10"))
    refs = check(source)
    assert len(refs) == 320
    assert Counter(ref.labels[0] for ref in refs) == dict.fromkeys(ESC50_NAMES.values(), 32)
    assert Counter(ref.split for ref in refs) == dict.fromkeys("1234", 80)
    assert source.load(refs[0]).rate == 44_100


# ESC-50's LICENSE: the published file whole, its oddities, lines that cannot be read

PAGE = "http://www.freesound.org/people/nfrae/sounds/100/"
ENTRY = f"- [1-100-A.ogg]: clip derived from bark.wav ({PAGE}) by nfrae [CC0]"


def written(root: Path, *lines: str, end: str = "\n") -> Path:
    root.mkdir(exist_ok=True)
    (root / "LICENSE").write_bytes("".join(line + end for line in lines).encode())
    return root


def read(root: Path, *lines: str) -> Credit:
    (credit,) = read_credits(written(root, *lines)).values()
    return credit


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_header_and_headings_are_passed_over(tmp_path: Path, end: str) -> None:
    lines = ("# ESC-50", "Attribution license (http://x.org/).", "", "101 - Dog:", ENTRY, "")
    credits = read_credits(written(tmp_path, *lines, end=end))
    assert credits == {"1-100-A": Credit("CC0-1.0", "bark.wav", "nfrae", PAGE)}


def test_a_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    assert read(tmp_path, "\N{ZERO WIDTH NO-BREAK SPACE}" + ENTRY).author == "nfrae"


@pytest.mark.parametrize(
    ("written_licence", "licence"),
    [
        ("CC0", "CC0-1.0"),
        ("CC-BY", "CC-BY-3.0"),
        ("CC-BY-NC", "CC-BY-NC-3.0"),
        ("CC-Sampling+", "CC-Sampling-Plus-1.0"),
        ("CC-BY-4.0", "CC-BY-4.0"),
    ],
)
def test_a_licence_without_version_is_3_0_as_the_header_says(
    tmp_path: Path, written_licence: str, licence: str
) -> None:
    assert read(tmp_path, ENTRY.replace("CC0", written_licence)).licence == licence


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (" Barking (close) [2], again ", "Barking (close) [2], again"),
        ("  A  herd ", "A herd"),
        (" see (http://a.org/) by me [x] ", "see (http://a.org/) by me [x]"),
        (" [DrinkingCan[Norberd]]", "DrinkingCan[Norberd]"),
        (" [loud] dog [far] ", "[loud] dog [far]"),
        (r" Lampaat m\xe4\xe4kiv\xe4t ", "Lampaat määkivät"),
        (r" sea \u200b\u200bon the road ", "sea on the road"),
        (r" C:\x00\ud800 ", r"C:\x00\ud800"),
        (" ", ""),
    ],
)
def test_titles_are_read_as_freesound_shows_them(tmp_path: Path, text: str, title: str) -> None:
    credit = read(tmp_path, ENTRY.replace(" bark.wav ", text))
    assert (credit.title, credit.author, credit.url) == (title, "nfrae", PAGE)


def test_users_with_spaces_and_signs_are_read(tmp_path: Path) -> None:
    for author in ("Bobby Beck", "x [y] z", "soundbyter.com", "by by"):
        assert read(tmp_path, ENTRY.replace("nfrae [", f"{author} [")).author == author


def test_a_stray_letter_in_a_name_is_left_out(tmp_path: Path) -> None:
    assert list(read_credits(written(tmp_path, ENTRY.replace("A.ogg", "Ad.ogg")))) == ["1-100-A"]


@pytest.mark.parametrize(
    "line",
    [
        "- [1-100-A.ogg]: clip derived from bark.wav by nfrae [CC0]",
        f"- [1-100-A.ogg]: clip derived from bark.wav ({PAGE}) by nfrae",
        f"- [1-100-A.ogg]: clip derived from bark.wav ({PAGE}) [CC0]",
        f"- [bark.ogg]: clip derived from bark.wav ({PAGE}) by nfrae [CC0]",
        "clip derived from bark.wav",
        ENTRY + " and more",
    ],
)
def test_an_entry_that_cannot_be_read_is_an_error_with_its_line(tmp_path: Path, line: str) -> None:
    with pytest.raises(SourceError, match=r"LICENSE: line 3: .*cannot be read") as caught:
        read_credits(written(tmp_path, "# ESC-50", "", line))
    assert "clip derived from TITLE" in caught.value.fix


def test_a_licence_that_is_not_known_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"line 1: the licence \[free\] is not known"):
        read(tmp_path, ENTRY.replace("CC0", "free"))


def test_a_clip_may_be_listed_twice_but_not_in_two_ways(tmp_path: Path) -> None:
    assert read(tmp_path, ENTRY, ENTRY).licence == "CC0-1.0"
    with pytest.raises(SourceError, match="line 3: says other things of 1-100-A than line 1"):
        read(tmp_path, ENTRY, "", ENTRY.replace("CC0", "CC-BY"))


def test_a_file_that_is_no_text_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "LICENSE").write_bytes(b"\xff\xfe")
    with pytest.raises(SourceError, match="LICENSE"):
        read_credits(tmp_path)


def test_esc50_takes_the_files_word_and_else_the_whole_datasets(tmp_path: Path) -> None:
    source = esc50(tmp_path)
    assert [ref.licence for ref in check(source)] == ["CC-BY-3.0", "CC-BY-3.0", "CC-BY-NC-3.0"]
    written(tmp_path, ENTRY)
    credited, silent, other = check(source)
    assert (credited.licence, silent.licence, other.licence) == (
        "CC0-1.0",
        "CC-BY-3.0",
        "CC-BY-NC-3.0",
    )
    assert (
        credited.attribution == f'cut from "bark.wav" by nfrae ({PAGE}), in ESC-50 (K. J. Piczak)'
    )
    assert silent.attribution == "ESC-50 (K. J. Piczak), Freesound 100"


def test_esc50_with_a_broken_licence_file_is_refused(tmp_path: Path) -> None:
    source = esc50(tmp_path)
    written(tmp_path, "- [1-100-A.ogg]: bark")
    with pytest.raises(SourceError, match="LICENSE: line 1"):
        list(source.refs())


def test_esc10_takes_the_word_of_a_file_beside_it(tmp_path: Path) -> None:
    for name in ("1-100-A", "1-101-A"):
        sound(tmp_path / "001 - Dog bark" / f"{name}.ogg")
    written(tmp_path, ENTRY)
    credited, silent = check(Esc10(root=tmp_path))
    assert (credited.licence, silent.licence) == ("CC0-1.0", "CC-BY-3.0")
    assert credited.attribution.endswith("in ESC-10 (K. J. Piczak)")


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


# FSD50K: smeared labels become the most specific ones, each clip has its own licence

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


def test_fsd50k_is_read_as_it_is_published(tmp_path: Path) -> None:
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
    assert "subsets" in refused(Fsd50k(root=tmp_path), r"FSD50K\.eval_audio.*not found").fix
    assert len(check(Fsd50k(root=tmp_path, subsets=("dev",)))) == 4


def test_a_wrong_folder_or_file_is_a_source_error(tmp_path: Path) -> None:
    source = fsd50k(tmp_path)
    path = tmp_path / "FSD50K.metadata" / "dev_clips_info_FSD50K.json"
    path.write_text("{")
    refused(source, "dev_clips_info")
    path.write_text('{"1": {"license": 5}}')
    refused(source, r"dev_clips_info.*1\.license")
    path.unlink()
    refused(source, "metadata of the clips not found")
    write_csv(tmp_path / "FSD50K.ground_truth" / "dev.csv", ("fname", "labels"), [])
    assert "FSD50K.ground_truth" in refused(source, "no column 'split'").fix
    with pytest.raises(ValidationError):
        Fsd50k(root=tmp_path, subsets=())


# UrbanSound8K: slices with their fold, original and salience

SLICES = ("slice_file_name", "fsID", "start", "end", "salience", "fold", "classID", "class")
ROWS: list[Sequence[object]] = [
    ("100032-3-0-0.wav", 100032, 0.0, 0.317551, 1, 5, 3, "dog_bark"),
    ("100263-2-0-117.wav", 100263, 58.5, 62.5, 2, 5, 2, "children_playing"),
    ("100263-2-0-121.wav", 100263, 60.5, 64.5, 1, 5, 2, "children_playing"),
    ("344-3-1-0.wav", 344, 14.1, 18.1, 1, 10, 3, "dog_bark"),
]


def urbansound8k(
    root: Path, rows: Iterable[Sequence[object]] = ROWS, encoding: str = "utf-8"
) -> UrbanSound8K:
    write_csv(root / "metadata" / "UrbanSound8K.csv", SLICES, rows, encoding)
    sound(root / "audio" / "fold5" / "100032-3-0-0.wav")
    return UrbanSound8K(root=root)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_urbansound8k_is_read_as_it_is_published(tmp_path: Path, encoding: str) -> None:
    source = urbansound8k(tmp_path, encoding=encoding)
    bark, _, children, other = check(source)
    assert bark.id == "urbansound8k/100032-3-0-0"
    assert bark.location == "audio/fold5/100032-3-0-0.wav"
    assert (bark.labels, bark.split, bark.licence) == (("dog_bark",), "5", "CC-BY-NC-3.0")
    assert bark.recording == "freesound/100032"
    assert bark.duration_s == pytest.approx(0.317551)
    assert "Salamon" in bark.attribution
    assert children.duration_s == 4.0
    assert other.location == "audio/fold10/344-3-1-0.wav"
    recording = source.load(bark)
    assert (len(recording.audio), recording.rate) == (1600, RATE)


def test_slices_of_one_recording_are_kept_together(tmp_path: Path) -> None:
    rows = [*ROWS, ("100263-2-0-3.wav", 100263, 1, 5, 1, 6, 2, "children_playing")]
    refs = check(urbansound8k(tmp_path, rows))
    assert [ref.recording for ref in refs].count("freesound/100263") == 3


def test_a_slice_in_the_background_is_refused_and_not_dropped(tmp_path: Path) -> None:
    refs = check(urbansound8k(tmp_path))
    assert [bool(ref.refusal) for ref in refs] == [False, True, False, False]
    assert "background" in refs[1].refusal
    kept = check(UrbanSound8K(root=tmp_path, background="keep"))
    assert not any(ref.refusal for ref in kept)
    with pytest.raises(ValidationError):
        UrbanSound8K(root=tmp_path, background="drop")


def test_missing_and_empty_files_are_clip_errors(tmp_path: Path) -> None:
    source = urbansound8k(tmp_path)
    (tmp_path / "audio" / "fold10").mkdir()
    (tmp_path / "audio" / "fold10" / "344-3-1-0.wav").touch()
    _, gone, _, empty = source.refs()
    with pytest.raises(ClipError, match="cannot be read"):
        source.load(gone)
    with pytest.raises(ClipError, match="empty"):
        source.load(empty)
