from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from experiments.changes import compare, render
from synth.base.errors import SegueError

MLP = "MLP, Original"


def write(folder: Path, bat: float, **metrics: float) -> Path:
    folder.mkdir()
    told = {"test.bat": bat, **metrics}
    found: dict[str, Any] = {
        name: {"value": value, "low": value - 0.01, "high": value + 0.01}
        for name, value in told.items()
    }
    page = {"experiment": "acba", "scale": "tiny", "metrics": {MLP: found}}
    (folder / "acba-tiny-foley.json").write_text(json.dumps(page), encoding="utf-8")
    return folder


def test_what_claims_rest_on_is_shown_before_and_now(tmp_path: Path) -> None:
    before = write(tmp_path / "before", 0.5, **{"test.text_to_audio_r1": 0.9})
    now = write(tmp_path / "now", 0.52, **{"test.text_to_audio_r10": 0.8})
    assert list(compare(before, now)) == [
        ("acba-tiny-foley", "BAT", MLP, "50.0 % (49.0 to 51.0)", "52.0 % (51.0 to 53.0)"),
        ("acba-tiny-foley", "R@10, text to audio", MLP, "-", "80.0 % (79.0 to 81.0)"),
    ]
    page = render(before, now, "the command")
    assert "    the command\n" in page
    assert "| acba-tiny-foley | BAT | MLP, Original | 50.0 % (49.0 to 51.0) |" in page


def test_a_page_that_is_alike_is_left_out(tmp_path: Path) -> None:
    before, now = write(tmp_path / "before", 0.5), write(tmp_path / "now", 0.5)
    assert list(compare(before, now)) == []


def test_arms_that_only_another_library_has_are_compared(tmp_path: Path) -> None:
    before, now = write(tmp_path / "before", 0.5), write(tmp_path / "now", 0.6)
    page = now / "acba-tiny-foley.json"
    page.write_text(page.read_text("utf-8").replace(MLP, "MLP, elsewhere"), encoding="utf-8")
    assert list(compare(before, now)) == [
        ("acba-tiny-foley", "BAT", "MLP, elsewhere", "-", "60.0 % (59.0 to 61.0)")
    ]


def test_a_page_is_compared_with_that_of_some_of_its_arms(tmp_path: Path) -> None:
    before, now = write(tmp_path / "before", 0.5), write(tmp_path / "now", 0.6)
    page = before / "acba-tiny-foley.json"
    page.rename(page.with_stem(f"{page.stem}-some-arms"))
    assert list(compare(before, now)) == [
        ("acba-tiny-foley", "BAT", MLP, "50.0 % (49.0 to 51.0)", "60.0 % (59.0 to 61.0)")
    ]


def test_folders_without_a_common_page_are_refused(tmp_path: Path) -> None:
    now = write(tmp_path / "now", 0.5)
    with pytest.raises(SegueError, match="no page in common"):
        list(compare(tmp_path, now))
    (tmp_path / "acba-tiny-foley.json").write_text("{}", encoding="utf-8")
    with pytest.raises(SegueError, match=r"acba-tiny-foley\.json: no results of an experiment"):
        list(compare(tmp_path, now))
