"""ESC-50's LICENSE: the published file whole, its oddities, and lines that cannot be read."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from libraries import check, sound, write_csv

from synth.base.errors import SourceError
from synth.sources.sounds.esc10 import Esc10
from synth.sources.sounds.esc50 import Credit, Esc50, read_credits

PAGE = "http://www.freesound.org/people/nfrae/sounds/100/"
ENTRY = f"- [1-100-A.ogg]: clip derived from bark.wav ({PAGE}) by nfrae [CC0]"


def written(root: Path, *lines: str, end: str = "\n") -> Path:
    root.mkdir(exist_ok=True)
    (root / "LICENSE").write_bytes("".join(line + end for line in lines).encode())
    return root


def read(root: Path, *lines: str) -> Credit:
    (credit,) = read_credits(written(root, *lines)).values()
    return credit


def esc50(root: Path) -> Esc50:
    write_csv(
        root / "meta" / "esc50.csv",
        ("filename", "fold", "target", "category", "esc10", "src_file", "take"),
        [
            ("1-100-A-0.wav", 1, 0, "dog", True, 100, "A"),
            ("1-101-A-0.wav", 1, 0, "dog", True, 101, "A"),
            ("5-7-A-40.wav", 5, 40, "helicopter", False, 7, "A"),
        ],
    )
    sound(root / "audio" / "1-100-A-0.wav")
    return Esc50(root=root)


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
    assert silent.attribution == "ESC-50 (K. J. Piczak), Freesound 101"


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
