"""The shipped phrases are what their sources make; `benchmarks.lexicon` makes them again."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from benchmarks.lexicon import lexicon_folder, make_lexicon
from synth.base.errors import LexiconError


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A copy of the lexicons."""
    return Path(shutil.copytree(lexicon_folder(), tmp_path / "lexicons"))


def test_what_ships_passes_the_check() -> None:
    labels = make_lexicon(lexicon_folder(), check=True)
    assert labels == {"audioset.csv": 527, "esc50.csv": 50, "urbansound8k.csv": 8}


def test_the_check_tells_the_first_difference_and_writes_nothing(copied: Path) -> None:
    phrases = copied / "phrases.csv"
    stale = phrases.read_text(encoding="utf-8").replace("a dog barks", "a dog yaps")
    phrases.write_text(stale, encoding="utf-8")
    with pytest.raises(LexiconError, match=r"is not what its sources make: line .*a dog yaps"):
        make_lexicon(copied, check=True)
    assert phrases.read_text(encoding="utf-8") == stale


@pytest.mark.parametrize("stale", [None, "", "label\n", "\r\n"])
def test_stale_phrases_fail_the_check_and_are_built_again(copied: Path, stale: str | None) -> None:
    phrases = copied / "phrases.csv"
    shipped = phrases.read_bytes()
    if stale is None:
        phrases.unlink()
    elif stale == "\r\n":
        phrases.write_bytes(shipped.replace(b"\n", b"\r\n"))
    else:
        phrases.write_text(stale, encoding="utf-8")
    with pytest.raises(LexiconError):
        make_lexicon(copied, check=True)
    make_lexicon(copied)
    assert phrases.read_bytes() == shipped


def test_a_bad_source_is_told_and_the_phrases_are_kept(copied: Path) -> None:
    source = copied / "sources" / "esc50.csv"
    text = source.read_text(encoding="utf-8")
    source.write_text(text.replace("a dog,a dog,bark", "a dog,a dog or two,bark"), encoding="utf-8")
    kept = (copied / "phrases.csv").read_bytes()
    with pytest.raises(LexiconError, match=r"\('dog'\): the clause 'a dog or two barks' holds"):
        make_lexicon(copied)
    assert (copied / "phrases.csv").read_bytes() == kept
