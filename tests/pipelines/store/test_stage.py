"""Stages that a store mirrors, for one machine at a time."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from pipelines.builder.plan import ShardPlan
from pipelines.builder.render import _adopt
from pipelines.store.lease import EXPIRY_S, take_lease
from pipelines.store.places import Places
from pipelines.store.stage import StagedStore, choose_stage, open_store, store_at
from pipelines.store.store import Store
from synth.base.errors import CorpusError, SpecError
from synth.storage import Remote
from tests.kit.forked import KilledError

FOLDER = "data_manifests/c/.lease"


@pytest.fixture
def remote(tmp_path: Path) -> Remote:
    return Remote(f"memory:/{tmp_path}")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEGUE_CACHE", str(tmp_path / "cache"))


def take_over(remote: Remote) -> None:
    """As another machine, when the lease has expired."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pipelines.store.lease._measure_age", lambda *_: EXPIRY_S)
        take_lease(remote, FOLDER, "b")


@contextmanager
def writing(url: str, stage: Path | None = None) -> Iterator[tuple[StagedStore, Places]]:
    with open_store(url, stage).hold_for_writing("c") as store:
        assert isinstance(store, StagedStore)
        assert store_at(store.root, "c") == store
        yield store, Places(store, "c", "v1")


def written(path: Path, content: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content)
    return path


def test_a_path_is_written_as_it_is(tmp_path: Path) -> None:
    assert choose_stage(tmp_path / "out") == tmp_path / "out"
    assert open_store(tmp_path / "out") == Store(tmp_path / "out")
    with pytest.raises(SpecError, match="--stage needs a URL"):
        choose_stage(tmp_path, tmp_path / "stage")


def test_a_shard_goes_up_before_its_receipt_and_leaves_the_disk(remote: Remote) -> None:
    with writing(remote.url) as (store, at):
        shard = written(at.shard_path("train", "a.tar"), "sound")
        certificates = (
            written(at.measurements_path("a.tar"), "m"),
            written(at.receipt_path("a.tar"), "{}"),
        )
        assert store.find_size(shard) is None
        store.certify(shard, *certificates)
        assert not shard.exists()
        assert store.find_size(shard) == 5
        assert store.list_files(at.shards) == [shard]
        assert store.format_path(shard) == f"{remote.url}/shards/c/v1/train/a.tar"
    assert list(remote.list()) == [
        "data_manifests/c/v1/receipts/a.tar.json",
        "data_manifests/c/v1/receipts/a.tar.parquet",
        "shards/c/v1/train/a.tar",
    ], "the lease was given back"


def test_what_the_store_lost_is_not_believed_to_be_there(remote: Remote) -> None:
    with writing(remote.url) as (store, at):
        shard = written(at.shard_path("train", "a.tar"), "sound")
        store.put(shard)
        remote.remove("shards/c/v1/train/a.tar")
        assert store.list_files(at.shards) == []
        assert store.find_size(shard) is None


def test_who_lost_the_lease_certifies_nothing(remote: Remote) -> None:
    with writing(remote.url) as (store, at):
        take_over(remote)
        shard, receipt = (
            written(at.shard_path("train", "a.tar"), "s"),
            written(at.receipt_path("a.tar"), ""),
        )
        with pytest.raises(CorpusError, match="took the lease"):
            store.certify(shard, receipt)
        assert list(remote.list()) == [f"{FOLDER}/000002.json"]


def test_a_second_stage_is_refused(remote: Remote, tmp_path: Path) -> None:
    other = tmp_path / "other"
    with (
        writing(remote.url),
        pytest.raises(CorpusError, match="building this corpus"),
        writing(remote.url, other),
    ):
        pass
    with writing(remote.url, other):
        pass
    with writing(remote.url):
        pass


def test_the_store_is_the_truth_when_a_build_begins(remote: Remote) -> None:
    with writing(remote.url) as (store, at):
        store.put(written(at.manifests / "plan.parquet", "there"))
        store.put(written(at.receipt_path("a.tar"), "of this machine"))
        written(at.receipt_path("b.tar"), "never put")
        written(at.receipt_path("a.tar"), "rewritten here")
    remote.write("data_manifests/c/v0/corpus.json", b"{}")
    with writing(remote.url) as (store, at):
        assert not at.receipt_path("b.tar").exists()
        assert at.receipt_path("a.tar").read_text() == "of this machine"
        assert (at.manifests / "plan.parquet").read_text() == "there"
        assert (at.versions / "v0" / "corpus.json").is_file()


def test_journals_of_two_machines_are_joined(remote: Remote, tmp_path: Path) -> None:
    with writing(remote.url) as (_, at):
        written(at.journal, "one\n")
    with writing(remote.url, tmp_path / "other") as (_, at):
        assert at.journal.read_text() == "one\n"
        at.journal.write_text("one\ntwo\n")
    with suppress(RuntimeError), writing(remote.url) as (_, at):
        assert at.journal.read_text() == "one\ntwo\n"
        at.journal.write_text("one\ntwo\nthree\n")
        raise RuntimeError
    assert remote.read("data_manifests/c/v1/journal.jsonl") == b"one\ntwo\nthree\n"


def test_who_loses_the_lease_stops_soon(remote: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"{number:03}.tar" for number in range(200)]
    with writing(remote.url) as (store, at):
        paths = [at.shard_path("train", name) for name in names]
        for path in paths:
            remote.write(store.copies.key(path), b"s")
        remove = Remote.remove

        def remove_slowly(self: Remote, key: str) -> None:
            remove(self, key)
            if key.endswith("/010.tar"):
                take_over(remote)

        monkeypatch.setattr(Remote, "remove", remove_slowly)
        with pytest.raises(CorpusError, match="took the lease"):
            store.remove(paths)
        assert len(store.list_files(at.shards)) == 150


def test_who_adopts_keeps_the_receipt_away(remote: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
    """A former holder put the shard and sleeps; his heir dies when he has copied another one."""
    with writing(remote.url) as (store, at):
        shard = ShardPlan("a.tar", "train", 1, 0, "digest")
        twin = at.locate_sibling("v0")
        written(twin.measurements_path("a.tar"), "m")
        written(twin.receipt_path("a.tar"), "{}")
        for place, sound in ((twin, b"ours"), (at, b"his")):
            remote.write(store.copies.key(place.shard_path("train", "a.tar")), sound)

        def die(*_: object) -> None:
            raise RuntimeError

        with monkeypatch.context() as patch:
            patch.setattr(StagedStore, "put", die)
            with pytest.raises(RuntimeError):
                _adopt(twin, at, shard)
        receipt = at.receipt_path("a.tar")
        key = store.copies.key(receipt)
        assert remote.write_over(key, receipt, None) is None
        _adopt(twin, at, shard)
        assert remote.read(key) == b"{}"


# A folder as a store, `file:///FOLDER`: what a killed writer leaves there is whole or nothing.


@pytest.fixture
def folder(tmp_path: Path) -> Remote:
    return Remote(f"file://{tmp_path}/store")


@pytest.mark.parametrize("way", ["write", "write_over", "copy"])
def test_an_object_that_was_being_written_is_what_it_was(
    folder: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    folder.write("a", b"before")
    (tmp_path / "local").write_bytes(b"afterwards")
    folder.write("b", b"afterwards")

    def copy_half(source: Any, target: Any, **_: Any) -> None:
        Path(target).write_bytes(Path(source).read_bytes()[:5])
        raise KilledError

    ways: dict[str, Callable[[], object]] = {
        "write": lambda: folder.write("a", tmp_path / "local"),
        "write_over": lambda: folder.write_over("a", tmp_path / "local", folder.find("a")),
        "copy": lambda: folder.copy("b", "a"),
    }
    monkeypatch.setattr(shutil, "copyfile", copy_half)
    with pytest.raises(KilledError):
        ways[way]()
    assert folder.read("a") == b"before"


def test_an_object_that_was_being_created_is_not_there(
    folder: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: Any) -> None:
        raise KilledError

    with monkeypatch.context() as patch:
        patch.setattr(os, "link", killed)
        with pytest.raises(KilledError):
            folder.write_over("a/lease.json", b"whole", None)
    assert list(folder.list()) == []
    assert folder.write_over("a/lease.json", b"whole", None)
    assert not folder.write_over("a/lease.json", b"another", None)
    assert folder.read("a/lease.json") == b"whole"
    assert [path.name for path in (tmp_path / "store/a").iterdir()] == ["lease.json"]


def test_a_disk_without_links_holds_leases(folder: Remote, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", refuse)
    assert folder.write_over("a", b"first", None)
    assert not folder.write_over("a", b"second", None)
    assert folder.read("a") == b"first"


@pytest.mark.parametrize("held", [True, False])
def test_a_lost_local_file_is_no_lost_race(folder: Remote, tmp_path: Path, held: bool) -> None:
    if held:
        folder.write("a", b"before")
    with pytest.raises(FileNotFoundError, match="gone"):
        folder.write_over("a", tmp_path / "gone", folder.find("a"))


def test_what_was_being_written_goes_when_the_corpus_is_held_again(
    folder: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEGUE_CACHE", str(tmp_path / "cache"))
    left = tmp_path / "store/data_manifests/c/v1/.plan.parquet.machine-1-1.partial"
    left.parent.mkdir(parents=True)
    left.touch()
    with open_store(folder.url).hold_corpus("c"):
        assert not left.exists()
