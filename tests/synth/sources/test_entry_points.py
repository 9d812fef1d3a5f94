"""Sources of other packages, found by their entry point."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.config.file import read_spec
from synth.base.errors import SourceError, SpecError
from synth.sources import SOURCES, source_class, source_names

PLUGIN = """
from typing import ClassVar
from synth.sources.reading.base import ClipRef
from synth.sources.reading.files import FileSource

class Birds(FileSource):
    name: ClassVar[str] = "birds"
    takes: int = 1

    def refs(self):
        for take in range(self.takes):
            yield ClipRef(f"birds/{take}", f"{take}.wav", ("bird",))

NOT_ONE = 3
"""


@pytest.fixture
def plugin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "bird_sounds.py").write_text(PLUGIN)
    info = tmp_path / "bird_sounds-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: bird-sounds\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[segue.sources]\nbirds = bird_sounds:Birds\nnothing = bird_sounds:NOT_ONE\n"
        "gone = no_such_module:X\nesc50 = bird_sounds:Birds\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("bird_sounds", None)


@pytest.mark.usefixtures("plugin")
def test_a_spec_names_another_packages_source(tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text("corpus: b\nsource: {birds: {root: x, takes: 2}}\nrecipe: triplets\n")
    source = read_spec(spec).make_source()
    assert [ref.id for ref in source.refs()] == ["birds/0", "birds/1"]
    assert source.root == tmp_path / "x"  # type: ignore[union-attr]


@pytest.mark.usefixtures("plugin")
def test_its_settings_are_checked_with_line_and_key(tmp_path: Path) -> None:
    spec = tmp_path / "spec.yaml"
    spec.write_text("corpus: b\nsource: {birds: {root: x, take: 2}}\nrecipe: triplets\n")
    told = r"spec\.yaml:2:27: source\.birds has no setting 'take'; did you mean 'takes'"
    with pytest.raises(SpecError, match=told):
        read_spec(spec)


@pytest.mark.usefixtures("plugin")
def test_names_of_ours_stay_ours() -> None:
    assert {"birds", "nothing", "gone"} <= set(source_names())
    assert len(source_names()) == len(set(source_names()))
    assert source_class("esc50").__module__ == "synth.sources.sounds.esc50"


@pytest.mark.usefixtures("plugin")
@pytest.mark.parametrize(("name", "why"), [("gone", "cannot be imported"), ("nothing", "subclass")])
def test_a_broken_one_is_told_only_where_it_is_used(name: str, why: str) -> None:
    assert source_class("folder")
    with pytest.raises(SourceError, match=why):
        source_class(name)


def test_every_source_of_ours_is_there() -> None:
    for name in SOURCES:
        assert source_class(name).name == name  # type: ignore[attr-defined]
