"""`segue sources`: one line a source, and all that is known of one."""

from __future__ import annotations

import json
from importlib.metadata import EntryPoint

import pytest
from click.testing import Result

import synth.base.entry_points as registry
from pipelines.cli.make.ingest import _read_intake
from pipelines.cli.make.sources import sources_command
from synth.base.errors import SourceError
from synth.sources import SOURCES, source_class
from tests.kit.builds import invoke


def sources(*arguments: str) -> Result:
    done = invoke(sources_command, *arguments)
    assert done.exception is None or isinstance(done.exception, SourceError)
    return done


def test_the_list_has_one_line_a_source() -> None:
    lines = sources().stdout.splitlines()
    listed = [line.split()[0] for line in lines[: len(SOURCES)]]
    assert listed == list(SOURCES)
    assert all(len(line) <= 110 for line in lines)


def test_every_setting_of_a_source_is_told_with_its_meaning() -> None:
    listed = json.loads(sources("--json").stdout)
    assert list(listed) == list(SOURCES)
    assert listed["esc50"]["settings"]["root"] == "required"
    assert listed["esc50"]["origin"]["licence"]
    assert "tracks.csv" in listed["fma"]["layout"]
    for name in SOURCES:
        told = json.loads(sources(name, "--json").stdout)[name]
        assert set(told["settings"]) == set(source_class(name).model_fields)
        assert all(told["about"][key] for key in told["settings"])
        shown = " ".join(sources(name).stdout.split())
        parts = [*told["about"].values(), *(told["origin"] or {}).values()]
        parts += [f"{key} (" for key in told["about"]]
        assert [part for part in parts if part not in shown] == []


def test_the_nearest_name_is_told() -> None:
    for name, fix in (
        ("ESC50", "did you mean 'esc50'?"),
        ("esc-50", "did you mean 'esc50'?"),
        ("AudioCap", "did you mean 'audiocaps'?"),
        ("qqq", "there are audiocaps, audioset_strong, "),
    ):
        error = sources(name).exception
        assert isinstance(error, SourceError)
        assert error.fix.startswith(fix)
    for library in ("ESC50:/data/ESC-50", "esc51", "Folder:"):  # no missing specs
        with pytest.raises(SourceError, match="did you mean"):
            _read_intake(library)


def test_one_broken_package_spoils_no_list(monkeypatch: pytest.MonkeyPatch) -> None:
    # The whole list was an error.
    point = EntryPoint("birds", "no_such_package:Birds", "segue.sources")
    monkeypatch.setattr(registry, "list_installed", lambda group, path: (point,))
    assert "birds" in sources().stdout
    assert "cannot be used" in sources().stdout
    assert isinstance(sources("birds").exception, SourceError)
