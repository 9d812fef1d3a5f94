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


def test_what_was_meant_is_told(here: Path) -> None:
    fixes = {
        place: suggest_folder(here / place / "audio", "give the folder").replace(str(here), "HERE")
        for place in ("ESC-5O", "ESC-50.zip", "", "ESC-50/audio", "ESC-50/meta", "quite/another")
    }
    assert fixes == dict.fromkeys(fixes, "did you mean HERE/ESC-50?") | {
        "ESC-50.zip": "HERE/ESC-50.zip is a file: unpack it and give the folder",
        "quite/another": "give the folder",
    }


def test_a_library_without_its_name_is_told_with_the_form(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(here)
    for place, told, fix in (
        ("ESC-50", "is a folder; expected NAME:ROOT", "give esc50:ESC-50, or folder:ESC-50"),
        ("ESC-50.zip", "is a file; expected NAME:ROOT", "unpack the library"),
        ("https://github.com/x/ESC-50", "is a URL; expected NAME:ROOT", "download and unpack"),
    ):
        with pytest.raises(SpecError, match=told) as caught:
            parse_source(place)
        assert fix in caught.value.fix
    (here / "foley").mkdir()
    assert isinstance(parse_source("foley"), source_class("foley"))
    with pytest.raises(SourceError, match="no source 'fodler'"):
        parse_source("fodler")
