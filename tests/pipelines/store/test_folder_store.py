"""A folder as a store, `file:///FOLDER`: what a killed writer leaves there is whole or nothing."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipelines.store.stage import open_store
from synth.storage import Remote
from tests.kit.forked import KilledError


@pytest.fixture
def remote(tmp_path: Path) -> Remote:
    return Remote(f"file://{tmp_path}/store")


@pytest.mark.parametrize("way", ["write", "write_over", "copy"])
def test_an_object_that_was_being_written_is_what_it_was(
    remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    remote.write("a", b"before")
    (tmp_path / "local").write_bytes(b"afterwards")
    remote.write("b", b"afterwards")

    def copy_half(source: Any, target: Any, **_: Any) -> None:
        Path(target).write_bytes(Path(source).read_bytes()[:5])
        raise KilledError

    ways: dict[str, Callable[[], object]] = {
        "write": lambda: remote.write("a", tmp_path / "local"),
        "write_over": lambda: remote.write_over("a", tmp_path / "local", remote.find("a")),
        "copy": lambda: remote.copy("b", "a"),
    }
    monkeypatch.setattr(shutil, "copyfile", copy_half)
    with pytest.raises(KilledError):
        ways[way]()
    assert remote.read("a") == b"before"


def test_an_object_that_was_being_created_is_not_there(
    remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: Any) -> None:
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(os, "link", killed)
        with pytest.raises(KilledError):
            remote.write_over("a/lease.json", b"whole", None)
    assert list(remote.list()) == []
    assert remote.write_over("a/lease.json", b"whole", None)
    assert not remote.write_over("a/lease.json", b"another", None)
    assert remote.read("a/lease.json") == b"whole"
    assert [path.name for path in (tmp_path / "store/a").iterdir()] == ["lease.json"]


def test_a_disk_without_links_holds_leases_too(
    remote: Remote, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refuse)
    assert remote.write_over("a", b"first", None)
    assert not remote.write_over("a", b"second", None)
    assert remote.read("a") == b"first"


@pytest.mark.parametrize("held", [True, False])
def test_a_local_file_that_is_gone_is_not_taken_for_a_lost_race(
    remote: Remote, tmp_path: Path, held: bool
) -> None:
    if held:
        remote.write("a", b"before")
    with pytest.raises(FileNotFoundError, match="gone"):
        remote.write_over("a", tmp_path / "gone", remote.find("a"))


def test_what_was_being_written_goes_when_the_corpus_is_held_again(
    remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEGUE_CACHE", str(tmp_path / "cache"))
    left = tmp_path / "store/data_manifests/c/v1/.plan.parquet.machine-1-1.partial"
    left.parent.mkdir(parents=True)
    left.touch()
    with open_store(remote.url).hold_corpus("c"):
        assert not left.exists()
