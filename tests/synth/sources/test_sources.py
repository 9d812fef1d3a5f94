"""All sources: found by name, tables, what is no regular file, and foley."""

from __future__ import annotations

import os
import socket
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile
from pydantic import ValidationError

from pipelines.cli.common.source import parse_source
from pipelines.config.file import read_spec
from synth.base.errors import ClipError, SourceError, SpecError
from synth.sources import SOURCES, source_class, source_names
from synth.sources.own.folder import FolderSource
from synth.sources.procedural.foley.source import Foley
from synth.sources.reading.files import read_recording, suggest_folder
from synth.sources.reading.tables import Columns, read_rows
from tests.kit.cases import cases
from tests.kit.libraries import check, sound

# Tables


@cases(
    ("data", "reason"),
    [
        (b"path,label\na.wav\n", "line 2: expected 2 fields"),
        (b"path,label\na.wav,dog,bark\n", "line 2: expected 2 fields"),
        (b"path,label\nok,x\na.wav,dog, big\n", "line 3: expected 2 fields"),
        (b"file,label\na.wav,dog\n", "line 1: no column 'path'"),
        (b"", "no column 'path'"),
        (b'path,label\n"a"b,dog\n', "expected after"),
        (b"path,label\n\xff\xfe,dog\n", "utf-8"),
    ],
)
def test_a_bad_csv_is_a_source_error_that_names_the_file(
    tmp_path: Path, data: bytes, reason: str
) -> None:
    path = tmp_path / "i.csv"
    path.write_bytes(data)
    with pytest.raises(SourceError, match=reason) as caught:
        list(read_rows(path, Columns(("path",), "fix")))
    assert "i.csv" in str(caught.value)
    assert caught.value.fix


# Foley


def test_foley_lists_takes_in_five_folds_and_makes_the_same_sound_again() -> None:
    source = Foley(classes=("dog", "rain"), takes=6)
    refs = check(source)
    assert Counter(ref.labels[0] for ref in refs) == {"dog": 6, "rain": 6}
    assert [ref.split for ref in refs[:6]] == ["1", "2", "3", "4", "5", "1"]
    one, again, other = source.load(refs[0]), source.load(refs[0]), source.load(refs[1])
    assert one.sha256 == again.sha256 != other.sha256
    assert np.array_equal(one.audio, again.audio)
    more = Foley(classes=("dog",), takes=20)
    assert more.load(next(iter(more.refs()))).sha256 == one.sha256
    assert Foley(classes=("dog",), seed=1).load(refs[0]).sha256 != one.sha256
    assert source.stamp(refs[0]) != Foley(seed=1).stamp(refs[0])
    with pytest.raises(ValidationError):
        Foley(classes=("unicorn",))


# All


def test_sources_are_found_by_name() -> None:
    for name in SOURCES:
        assert source_class(name).name == name  # type: ignore[attr-defined]
    with pytest.raises(SourceError, match="no source 'esc51'") as caught:
        source_class("esc51")
    assert "esc50" in caught.value.fix


def test_channels_are_mixed_down_to_their_mean(tmp_path: Path) -> None:
    path = sound(tmp_path / "x" / "a.wav", channels=8)
    source = FolderSource(root=tmp_path)
    (ref,) = source.refs()
    recording = source.load(ref)
    samples, _ = soundfile.read(path, dtype="float32")
    assert recording.channels == 8
    assert np.allclose(recording.audio, samples.mean(axis=1), atol=1e-6)
    before = source.stamp(ref)
    assert source.stamp(ref) == before
    sound(path, frames=1700)
    assert source.stamp(ref) != before


# What lies among the sounds and is no regular file is refused at once


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    # Opening it waited for a writer until the decoder was killed after 60 s.
    (tmp_path / "dog").mkdir()
    os.mkfifo(tmp_path / "dog" / "pipe.wav")
    source = FolderSource(root=tmp_path)
    (ref,) = source.refs()
    with pytest.raises(ClipError, match="is not a regular file"):
        source.load(ref)


def test_a_socket_and_a_device_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the path of a socket may not be long
    Path("empty.wav").write_bytes(b"")
    for link, target in (("endless", "/dev/zero"), ("link", "empty.wav"), ("gone", "nothing")):
        Path(f"{link}.wav").symlink_to(target)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("dog.wav")
        for name, told in (
            ("dog", "is not a regular file"),
            ("endless", "is not a regular file"),
            ("link", "empty"),
            ("gone", "the file is missing"),
        ):
            with pytest.raises(ClipError, match=told):
                read_recording(Path(f"{name}.wav"))


# Sources of other packages, found by their entry point

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
    spec.write_text("corpus: b\nsource: {birds: {root: x, take: 2}}\nrecipe: triplets\n")
    told = r"spec\.yaml:2:27: source\.birds has no setting 'take'; did you mean 'takes'"
    with pytest.raises(SpecError, match=told):
        read_spec(spec)


@pytest.mark.usefixtures("plugin")
def test_names_of_ours_stay_ours_and_a_broken_one_is_told_where_it_is_used() -> None:
    assert {"birds", "nothing", "gone"} <= set(source_names())
    assert len(source_names()) == len(set(source_names()))
    assert source_class("esc50").__module__ == "synth.sources.sounds.esc50"
    for name, why in (("gone", "cannot be imported"), ("nothing", "subclass")):
        with pytest.raises(SourceError, match=why):
            source_class(name)


# A folder that is not there: what to give in its place


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
        ("ESC-50", "expected NAME:ROOT, got a folder", "give esc50:ESC-50, or folder:ESC-50"),
        ("ESC-50.zip", "expected NAME:ROOT, got a file", "unpack the library"),
        ("https://github.com/x/ESC-50", "expected NAME:ROOT, got a URL", "download and unpack"),
    ):
        with pytest.raises(SpecError, match=told) as caught:
            parse_source(place)
        assert fix in caught.value.fix
    (here / "foley").mkdir()
    assert isinstance(parse_source("foley"), source_class("foley"))
    with pytest.raises(SourceError, match="no source 'fodler'"):
        parse_source("fodler")
