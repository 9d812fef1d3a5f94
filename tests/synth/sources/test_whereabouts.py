"""A folder that is not there: what to give in its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.cli.common.source import parse_source
from synth.base.errors import SourceError, SpecError
from synth.sources import source_class
from synth.sources.reading.files import suggest_folder


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder with a library, and an archive of it."""
    (tmp_path / "ESC-50" / "audio").mkdir(parents=True)
    (tmp_path / "ESC-50" / "meta").mkdir()
    (tmp_path / "ESC-50.zip").touch()
    return tmp_path


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("ESC-5O", "did you mean HERE/ESC-50?"),
        ("ESC-50.zip", "HERE/ESC-50.zip is a file: unpack it and give the folder"),
        ("", "did you mean HERE/ESC-50?"),
        ("ESC-50/audio", "did you mean HERE/ESC-50?"),
        ("ESC-50/meta", "did you mean HERE/ESC-50?"),
        ("quite/another", "give the folder"),
    ],
)
def test_what_was_meant_is_told(here: Path, given: str, told: str) -> None:
    found = suggest_folder(here / given / "audio", "give the folder")
    assert found == told.replace("HERE", str(here))


@pytest.mark.parametrize(
    ("given", "told", "fix"),
    [
        ("ESC-50", "is a folder; expected NAME:ROOT", "give esc50:ESC-50, or folder:ESC-50"),
        ("ESC-50.zip", "is a file; expected NAME:ROOT", "unpack the library"),
        ("https://github.com/x/ESC-50", "is a URL; expected NAME:ROOT", "download and unpack"),
    ],
)
def test_a_library_without_its_name_is_told_with_the_form(
    here: Path, monkeypatch: pytest.MonkeyPatch, given: str, told: str, fix: str
) -> None:
    monkeypatch.chdir(here)
    with pytest.raises(SpecError, match=told) as caught:
        parse_source(given)
    assert fix in caught.value.fix


def test_a_name_that_is_also_a_folder_stays_a_name(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(here)
    (here / "foley").mkdir()
    assert isinstance(parse_source("foley"), source_class("foley"))
    with pytest.raises(SourceError, match="no source 'fodler'"):
        parse_source("fodler")
