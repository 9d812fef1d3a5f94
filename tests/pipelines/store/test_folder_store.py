"""A folder as a store, `file:///FOLDER`: what a killed writer leaves there is whole or nothing."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipelines.store.stage import choose_stage, hold_corpus
from synth.storage import Remote


@pytest.fixture
def remote(tmp_path: Path) -> Remote:
    return Remote(f"file://{tmp_path}/store")


class KilledError(BaseException):
    """The process is gone; nothing of it runs on."""


@pytest.mark.parametrize("way", ["put", "put_over", "copy"])
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
        "put": lambda: remote.put(tmp_path / "local", "a"),
        "put_over": lambda: remote.put_over(tmp_path / "local", "a", remote.find("a")),
        "copy": lambda: remote.copy("b", "a"),
    }
    monkeypatch.setattr(shutil, "copyfile", copy_half)
    with pytest.raises(KilledError):
        ways[way]()
    assert remote.read("a") == b"before"


def test_what_was_being_written_goes_when_the_corpus_is_held_again(
    remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEGUE_CACHE", str(tmp_path / "cache"))
    left = tmp_path / "store/data_manifests/c/v1/.plan.parquet.machine-1-1.partial"
    left.parent.mkdir(parents=True)
    left.touch()
    with hold_corpus(choose_stage(remote.url), "c"):
        assert not left.exists()
