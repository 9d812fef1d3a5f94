"""The cache of corpora at URLs: a limit, who goes first, who stays, and two processes at once."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from synth.base.errors import SpecError
from synth.storage import Copies, Remote, StorageError, open_file, open_made, open_mapped, read_at
from synth.storage.copies import CORPORA, cache_folder
from synth.storage.room import CopySpace, limit_bytes
from tests.kit.waiting import PATIENCE_S

SHARD = 1000


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SEGUE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("SEGUE_CACHE_LIMIT", f"{3 * SHARD} B")
    return tmp_path / "cache"


@pytest.fixture
def remote(tmp_path: Path) -> Remote:
    found = Remote(f"file://{tmp_path}/store")
    for name in "abcdef":
        found.write(f"{name}.tar", content(name))
    return found


@pytest.fixture
def copies(remote: Remote) -> Copies:
    return Copies.open(cache_folder() / CORPORA / "file", remote)


def content(name: str, size: int = SHARD) -> bytes:
    return name.encode() * size


def read(copies: Copies, *names: str) -> None:
    for name in names:
        with open_file(copies.path(f"{name}.tar")) as file:
            assert file.read() == content(name)


def there(copies: Copies) -> str:
    return "".join(sorted(path.stem for path in copies.root.glob("*.tar")))


def test_the_limit_is_an_amount_with_its_unit(monkeypatch: pytest.MonkeyPatch) -> None:
    amounts = {"": 64 * 10**9, "1.5 TB": 1_500 * 10**9, "200mb": 2 * 10**8, "none": None}
    for text, wanted in amounts.items():
        monkeypatch.setenv("SEGUE_CACHE_LIMIT", text)
        assert limit_bytes() == wanted
    for text in ("64", "-1 GB", "much", "1 PB"):
        monkeypatch.setenv("SEGUE_CACHE_LIMIT", text)
        with pytest.raises(SpecError, match=f"SEGUE_CACHE_LIMIT: '{text}' is not an amount"):
            limit_bytes()


def test_the_least_recently_used_go_first(copies: Copies, monkeypatch: pytest.MonkeyPatch) -> None:
    read(copies, *"abcab")
    assert there(copies) == "abc"
    read(copies, "d")
    assert there(copies) == "abd"
    read(copies, "c")
    assert there(copies) == "bcd"
    # A limit that was lowered is kept at the next download.
    monkeypatch.setenv("SEGUE_CACHE_LIMIT", f"{SHARD} B")
    read(copies, "a")
    assert there(copies) == "a"
    monkeypatch.setenv("SEGUE_CACHE_LIMIT", "none")
    read(copies, *"abcdef")
    assert there(copies) == "abcdef"
    assert copies.room == CopySpace(cache_folder() / CORPORA, None)


def test_a_stage_is_not_limited(remote: Remote, tmp_path: Path) -> None:
    stage = Copies.open(tmp_path / "stage", remote)
    assert stage.room.limit is None
    read(stage, *"abcdef")
    assert there(stage) == "abcdef"


def test_what_is_open_stays(copies: Copies) -> None:
    with open_file(copies.path("a.tar")) as first, open_file(copies.path("b.tar")):
        for name in "cdef":
            read(copies, name)
            assert there(copies) == f"ab{name}"
        assert first.read() == content("a")
    read(copies, "c")
    assert there(copies) == "bcf"


def test_what_is_mapped_stays_after_its_file_was_closed(copies: Copies) -> None:
    import numpy as np

    with open_mapped(copies.path("a.tar")) as file:
        mapped = np.memmap(file, dtype=np.uint8, mode="r")
    read(copies, *"bcdef")
    assert there(copies) == "aef"
    assert bytes(mapped) == content("a")
    del mapped
    read(copies, "b")
    assert there(copies) == "bef"


def test_what_finds_no_room_is_read_from_the_store(copies: Copies) -> None:
    files = [open_file(copies.path(f"{name}.tar")) for name in "abc"]
    read(copies, "d")
    assert there(copies) == "abc"
    with pytest.raises(StorageError, match=r"d\.tar: .* do not fit .*SEGUE_CACHE_LIMIT"):
        open_mapped(copies.path("d.tar"))
    for file in files:
        file.close()


def test_what_is_larger_than_the_limit_is_read_from_the_store(
    remote: Remote, copies: Copies
) -> None:
    remote.write("large.tar", content("l", 4 * SHARD))
    assert read_at(copies.path("large.tar"), 3999, 5) == b"l"
    with open_file(copies.path("large.tar")) as file:
        assert file.read() == content("l", 4 * SHARD)
        assert (file.seek(-2, 2), file.read(9)) == (3998, b"ll")
        assert (file.seek(0), file.read(1)) == (0, b"l")
    assert there(copies) == ""
    with pytest.raises(StorageError, match=r"more than the .* that copies of stores may take"):
        open_mapped(copies.path("large.tar"))


def test_samples_drawn_at_random_do_not_drive_each_others_shards_out(copies: Copies) -> None:
    read(copies, "a")
    os.utime(copies.path("a.tar"), ns=(1, copies.path("a.tar").stat().st_mtime_ns))  # last week
    for name in "bcdefbcdef":
        assert read_at(copies.path(f"{name}.tar"), 10, 5) == content(name, 5)
    assert there(copies) == "bcd"


def test_manifests_are_not_counted_and_stay(remote: Remote, copies: Copies) -> None:
    remote.write("samples.parquet", bytes(10 * SHARD))
    copies.fetch("samples.parquet")
    read(copies, *"abcd")
    assert copies.path("samples.parquet").is_file()
    assert there(copies) == "bcd"


def test_stores_share_the_room(copies: Copies, tmp_path: Path) -> None:
    other = Remote(f"file://{tmp_path}/other")
    other.write("x.tar", content("x"))
    read(copies, *"abc")
    read(Copies.open(cache_folder() / CORPORA / "s3" / "bucket", other), "x")
    assert there(copies) == "bc"


def receipt(copies: Copies, data: bytes) -> Path:
    path = copies.path("receipts/a.tar.json")
    sha256 = hashlib.sha256(data).hexdigest()
    copies.remote.write("receipts/a.tar.json", json.dumps({"sha256": sha256}).encode())
    return path


def test_what_differs_from_its_receipt_is_an_error_and_not_kept(copies: Copies) -> None:
    with pytest.raises(StorageError, match=r"store/a\.tar: differs from its receipt"):
        read_at(copies.path("a.tar"), 0, 5, receipt(copies, b"something else"))
    assert there(copies) == ""
    copies.path("receipts/a.tar.json").unlink()
    with open_file(copies.path("a.tar"), receipt(copies, content("a"))) as file:
        assert file.read() == content("a")


@pytest.fixture
def broken_off(copies: Copies, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The starts of the blocks that are read of a store; a download broke off after two."""
    starts: list[int] = []
    plain = Remote.read

    def counted(
        remote: Remote, key: str, start: int | None = None, stop: int | None = None
    ) -> bytes | None:
        if start is not None:
            starts.append(start)
            if len(starts) == 3:
                raise StorageError("broken off")
        return plain(remote, key, start, stop)

    monkeypatch.setattr("synth.storage.copies.BLOCK_BYTES", 300)
    monkeypatch.setattr(Remote, "read", counted)
    with pytest.raises(StorageError, match="broken off"):
        read(copies, "a")
    assert there(copies) == ""
    return starts


def test_a_download_goes_on_where_it_was_broken_off(copies: Copies, broken_off: list[int]) -> None:
    read(copies, "a")
    assert broken_off == [0, 300, 600, 600, 900]


def test_of_an_object_that_changed_meanwhile_nothing_is_used(
    copies: Copies, remote: Remote, broken_off: list[int]
) -> None:
    remote.write("a.tar", content("z"))
    with open_file(copies.path("a.tar")) as file:
        assert file.read() == content("z")
    assert broken_off == [0, 300, 600, 0, 300, 600, 900]


def test_what_was_broken_off_goes_when_room_is_needed(
    copies: Copies, broken_off: list[int]
) -> None:
    read(copies, *"bcd")
    assert there(copies) == "bcd"
    assert not list(copies.root.rglob("*.parts/*"))


READER = """
import sys
from pathlib import Path
from synth.storage import Copies, Remote, open_file, read_at
from synth.storage.copies import CORPORA, cache_folder

copies = Copies.open(cache_folder() / CORPORA / "file", Remote(sys.argv[1]))
for turn in range(int(sys.argv[3])):
    name = "abcdef"[(turn * int(sys.argv[2])) % 6]
    path = copies.path(f"{name}.tar")
    if turn % 2:
        found = read_at(path, 7, 20)
        assert found == name.encode() * 20, (turn, found)
    else:
        with open_file(path) as file:
            assert file.read() == name.encode() * 1000, turn
"""


@pytest.mark.slow
def test_processes_that_fight_for_a_small_cache_never_exceed_it(
    remote: Remote, cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of them is killed; what it was bringing goes, or is brought by another."""
    monkeypatch.setenv("SEGUE_CACHE_LIMIT", f"{2 * SHARD} B")
    space = CopySpace(cache / CORPORA, 2 * SHARD)
    space.root.mkdir(parents=True)
    commands = [(step, "60") for step in ("1", "5", "7")] + [("11", "100000")]
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", READER, remote.url, *command], stderr=subprocess.PIPE, text=True
        )
        for command in commands
    ]
    endless = processes.pop()
    while any(process.poll() is None for process in processes):
        with space.lock():
            copies = sum(path.stat().st_size for path in space.root.rglob("*.tar"))
            coming = len(list(space.root.rglob("*.parts/*"))) * SHARD
        assert copies + coming <= 2 * SHARD + SHARD * (endless.poll() is not None)
        if coming:
            endless.kill()
    for process in processes:
        _, errors = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, errors
    endless.communicate()
    read(Copies.open(cache_folder() / CORPORA / "file", remote), "a")
    files = [*space.root.rglob("*.tar"), *space.root.rglob("*.parts/*")]
    assert sum(path.stat().st_size for path in files) <= 2 * SHARD


def leave_free(
    monkeypatch: pytest.MonkeyPatch, folder: Path, pattern: str, room_bytes: int
) -> None:
    """As if a disk had so much room to spare for the files of a folder."""
    from shutil import _ntuple_diskusage as usage  # type: ignore[attr-defined]

    from synth.storage import room

    def free(_: Path) -> object:
        used = sum(path.stat().st_size for path in folder.rglob(pattern))
        return usage(10 * SHARD, 0, room.SPARE_BYTES + room_bytes - used)

    monkeypatch.setenv("SEGUE_CACHE_LIMIT", "1 GB")
    monkeypatch.setattr(room, "disk_usage", free)


def test_copies_go_before_the_disk_is_full(copies: Copies, monkeypatch: pytest.MonkeyPatch) -> None:
    leave_free(monkeypatch, copies.root, "*.tar", 2 * SHARD)
    read(copies, *"abcd")
    assert there(copies) == "cd"


def test_a_file_made_here_is_kept_and_goes_like_a_copy(copies: Copies) -> None:
    made: list[Path] = []

    def make(path: Path) -> None:
        made.append(path)
        path.write_bytes(b"rows" * (SHARD // 4))

    for _ in range(2):
        with open_made("rows.arrow", make) as held:
            assert held.read() == b"rows" * (SHARD // 4)
            read(copies, *"abc")
            assert there(copies) == "bc"  # what is open stays
    assert len(made) == 1
    read(copies, *"abc")
    assert there(copies) == "abc"
    with open_made("rows.arrow", make):
        pass
    assert len(made) == 2


def test_a_file_made_here_takes_its_room_once(
    copies: Copies, monkeypatch: pytest.MonkeyPatch, cache: Path
) -> None:
    """One and a half times its size is free before it is written."""
    left = copies.path("a.tar").parents[1] / "made" / ".rows.arrow.host-1-2.partial"

    def make(path: Path) -> None:
        assert not left.exists()
        path.write_bytes(b"r" * SHARD)

    left.parent.mkdir(parents=True)
    left.write_bytes(b"of a killed maker")
    leave_free(monkeypatch, cache, "*rows.arrow*", 3 * SHARD // 2)
    with open_made("rows.arrow", make) as held:
        assert held.read() == b"r" * SHARD
        with pytest.raises(StorageError, match="do not fit next to") as told:
            open_made("other-rows.arrow", make)
    assert "free disk space" in str(told.value.fix)
    assert not list(cache.rglob("*.partial"))


def test_a_file_that_could_not_be_made_leaves_nothing(cache: Path) -> None:
    def fail(path: Path) -> None:
        path.write_bytes(b"half")
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        open_made("rows.arrow", fail)
    assert not [path for path in cache.rglob("*rows.arrow*") if path.suffix != ".lock"]
