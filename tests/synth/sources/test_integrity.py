"""A library on disk against its index, in mirdata's manner."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from synth.base.errors import SourceError
from synth.sources.reading.collected import check_files, read_index, write_index
from tests.kit.cases import cases
from tests.kit.libraries import sound


def library(root: Path) -> list[str]:
    for seed, name in enumerate(["a.wav", "deep/b.wav"]):
        sound(root / name, seed)
    (root / ".hidden.wav").write_bytes(b"x")
    (root / "meta.csv").write_text("path\n")
    return ["a.wav", "deep/b.wav#t=0.000,0.050", "deep/b.wav#t=0.050,0.100"]


def test_a_whole_library_is_whole(tmp_path: Path) -> None:
    locations = library(tmp_path / "root")
    index = tmp_path / "index.json"
    assert write_index(tmp_path / "root", index) == 3
    found = check_files(tmp_path / "root", locations, read_index(index))
    assert found.is_whole
    assert (found.listed, found.checked, found.unlisted) == (3, 3, ())


def test_missing_changed_and_unlisted_files_are_named(tmp_path: Path) -> None:
    root = tmp_path / "root"
    locations = library(root)
    write_index(root, tmp_path / "index.json")
    sound(root / "a.wav", seed=9)
    (root / "deep" / "b.wav").unlink()
    sound(root / "new.flac")
    found = check_files(root, [*locations, "gone.wav"], read_index(tmp_path / "index.json"))
    assert not found.is_whole
    assert found.changed == ("a.wav",)
    assert found.missing == ("deep/b.wav", "gone.wav")
    assert found.unlisted == ("new.flac",)
    assert found.to_json()["examples"]["changed"] == ["a.wav"]


def test_an_index_of_soundata_is_read(tmp_path: Path) -> None:
    root = tmp_path / "root"
    library(root)
    md5 = {name: hashlib.md5((root / name).read_bytes()).hexdigest() for name in ("a.wav",)}
    index = tmp_path / "index.json"
    value = {
        "version": "1.0",
        "clips": {"a": {"audio": ["a.wav", md5["a.wav"]]}, "b": {"audio": [None, None]}},
        "metadata": {"meta": ["meta.csv", "0" * 32]},
    }
    index.write_text(json.dumps(value))
    found = check_files(root, [], read_index(index))
    assert (found.listed, found.checked, found.changed) == (2, 2, ("meta.csv",))


@cases(
    "text", ["[1]", "{}", "no json", '{"files": {"a": "rot13:00"}}', '{"files": {"a": 3}}', None]
)
def test_another_file_is_no_index(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "x.json").write_text(text)
    with pytest.raises(SourceError, match=r"x\.json" if text else "cannot be read"):
        read_index(tmp_path / "x.json")
