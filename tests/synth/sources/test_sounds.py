"""Labelled sounds: ESC-50, ESC-10, FSD50K and UrbanSound8K, each in its own layout."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from synth.sources import ClipRef
from synth.sources.sounds.esc50 import ESC50_NAMES, Credit, Esc10, Esc50, read_credits
from synth.sources.sounds.fsd50k import Fsd50k
from synth.sources.sounds.urbansound8k import UrbanSound8K
from tests.kit.cases import cases
from tests.kit.libraries import check, refused, sound, write_csv

# ESC-50

ESC50_COLUMNS = ("filename", "fold", "target", "category", "esc10", "src_file", "take")
ESC50_ROWS = [
    ("1-100-A-0.wav", 1, 0, "dog", True, 100, "A"),
    ("1-100-B-0.wav", 1, 0, "dog", True, 100, "B"),
    ("5-7-A-40.wav", 5, 40, "helicopter", False, 7, "A"),
]


def esc50(root: Path) -> Esc50:
    write_csv(root / "meta" / "esc50.csv", ESC50_COLUMNS, ESC50_ROWS)
    (root / "audio").mkdir()
    return Esc50(root=root)


def test_esc50_reads_its_own_layout(tmp_path: Path) -> None:
    refs = check(esc50(tmp_path))
    assert [ref.id for ref in refs] == ["esc50/1-100-A-0", "esc50/1-100-B-0", "esc50/5-7-A-40"]
    assert [ref.labels for ref in refs] == [("dog",), ("dog",), ("helicopter",)]
    assert [ref.split for ref in refs] == ["1", "1", "5"]
    assert [ref.recording for ref in refs] == ["freesound/100", "freesound/100", "freesound/7"]
    assert [ref.licence for ref in refs] == ["CC-BY-3.0", "CC-BY-3.0", "CC-BY-NC-3.0"]
    assert "Piczak" in refs[0].attribution


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
    text = "".join(line + end for line in lines)
    (root / "LICENSE").write_bytes(text.encode(errors="surrogateescape"))
    return root


@cases(
    ("old", "new", "field", "value"),
    [
        ("CC0", "CC0", "licence", "CC0-1.0"),
        # Without a version it is 3.0, as the file's header says.
        ("CC0", "CC-BY", "licence", "CC-BY-3.0"),
        ("CC0", "CC-BY-NC", "licence", "CC-BY-NC-3.0"),
        ("CC0", "CC-Sampling+", "licence", "CC-Sampling-Plus-1.0"),
        ("CC0", "CC-BY-4.0", "licence", "CC-BY-4.0"),
        (" bark.wav ", " Barking (close) [2], again ", "title", "Barking (close) [2], again"),
        (" bark.wav ", "  A  herd ", "title", "A herd"),
        (" bark.wav ", " see (http://a.org/) by me [x] ", "title", "see (http://a.org/) by me [x]"),
        (" bark.wav ", " [DrinkingCan[Norberd]]", "title", "DrinkingCan[Norberd]"),
        (" bark.wav ", " [loud] dog [far] ", "title", "[loud] dog [far]"),
        (" bark.wav ", r" Lampaat m\xe4\xe4kiv\xe4t ", "title", "Lampaat määkivät"),
        (" bark.wav ", r" sea \u200b\u200bon the road ", "title", "sea on the road"),
        (" bark.wav ", r" C:\x00\ud800 ", "title", r"C:\x00\ud800"),
        (" bark.wav ", " ", "title", ""),
        ("nfrae [", "Bobby Beck [", "author", "Bobby Beck"),
        ("nfrae [", "x [y] z [", "author", "x [y] z"),
        ("nfrae [", "soundbyter.com [", "author", "soundbyter.com"),
        ("nfrae [", "by by [", "author", "by by"),
        ("- [", "\N{ZERO WIDTH NO-BREAK SPACE}- [", "author", "nfrae"),
        ("A.ogg", "Ad.ogg", "author", "nfrae"),  # a stray letter
    ],
)
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
    source = esc50(written(tmp_path, *lines))
    error = refused(source, rf"LICENSE: .*{told}")
    assert "cannot be read" not in told or "clip derived from TITLE" in error.fix


def test_esc50_takes_the_files_word_and_else_the_whole_datasets(tmp_path: Path) -> None:
    credited, silent, other = check(esc50(written(tmp_path, ENTRY, ENTRY)))
    licences = [ref.licence for ref in (credited, silent, other)]
    assert licences == ["CC0-1.0", "CC-BY-3.0", "CC-BY-NC-3.0"]
    assert (
        credited.attribution == f'cut from "bark.wav" by nfrae ({PAGE}), in ESC-50 (K. J. Piczak)'
    )
    assert silent.attribution == "ESC-50 (K. J. Piczak), Freesound 100"


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


def fsd50k(root: Path) -> Fsd50k:
    truth = root / "FSD50K.ground_truth"
    write_csv(truth / "dev.csv", ("fname", "labels", "mids", "split"), DEV, "utf-8-sig")
    write_csv(truth / "eval.csv", ("fname", "labels", "mids"), EVAL)
    for subset, clip in (("dev", "64760"), ("eval", "37199")):
        (root / f"FSD50K.{subset}_audio").mkdir()
        path = root / "FSD50K.metadata" / f"{subset}_clips_info_FSD50K.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps({clip: INFO}), "utf-8")
    return Fsd50k(root=root)


def test_fsd50k_is_read_as_it_is_published(tmp_path: Path) -> None:
    refs = {ref.id: ref for ref in check(fsd50k(tmp_path))}
    guitar = refs["fsd50k/64760"]
    assert guitar.location == "FSD50K.dev_audio/64760.wav"
    assert (guitar.recording, guitar.licence) == ("freesound/64760", "CC-Sampling-Plus-1.0")
    assert "casualsamples" in guitar.attribution
    assert "guitarras_63.wav" in guitar.attribution
    assert [ref.split for ref in refs.values()] == ["train", "val", "train", "train"] + ["eval"] * 6
    assert refs["fsd50k/193768"].licence == "unknown"


def test_labels_are_the_most_specific_under_their_display_names(tmp_path: Path) -> None:
    labels = {ref.id.split("/")[1]: ref.labels for ref in check(fsd50k(tmp_path))}
    assert labels == {
        "64760": ("Electric guitar",),
        "193768": ("Electric guitar", "Bass guitar"),
        # A guitar squeaks without a door, so a door that is named was heard; its own parent goes.
        "1": ("Squeak", "Door"),
        "2": ("Dishes, pots, and pans",),
        "37199": ("Chirp, tweet",),
        "251763": ("Electric guitar", "Squeak"),
        # Growling is below cats, dogs and wild animals alike, and always smeared to animals alone.
        "223978": ("Growling", "Bird"),
        "5": ("Growling", "Dog"),
        "6": ("Growling", "Cat"),
        "7": ("Growling",),
    }


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


def urbansound8k(root: Path, **settings: Any) -> UrbanSound8K:
    write_csv(root / "metadata" / "UrbanSound8K.csv", SLICES, ROWS)
    (root / "audio").mkdir(exist_ok=True)
    return UrbanSound8K(root=root, **settings)


def test_urbansound8k_is_read_as_it_is_published(tmp_path: Path) -> None:
    bark, background, children, other = check(urbansound8k(tmp_path))
    assert bark.id == "urbansound8k/100032-3-0-0"
    assert bark.location == "audio/fold5/100032-3-0-0.wav"
    assert (bark.labels, bark.split, bark.licence) == (("dog_bark",), "5", "CC-BY-NC-3.0")
    assert bark.recording == "freesound/100032"
    assert bark.duration_s == pytest.approx(0.317551)
    assert "Salamon" in bark.attribution
    assert children.duration_s == 4.0
    assert children.recording == background.recording == "freesound/100263"
    assert other.location == "audio/fold10/344-3-1-0.wav"


def test_a_slice_in_the_background_is_refused_and_not_dropped(tmp_path: Path) -> None:
    refs = check(urbansound8k(tmp_path))
    assert [bool(ref.refusal) for ref in refs] == [False, True, False, False]
    assert "background" in refs[1].refusal
    assert not any(ref.refusal for ref in check(urbansound8k(tmp_path, background="keep")))
    with pytest.raises(ValidationError):
        urbansound8k(tmp_path, background="drop")
