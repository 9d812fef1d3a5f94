"""Files at a store: a real S3 server on loopback, and fsspec's own for what all stores share."""

from __future__ import annotations

import os
import sys
import tomllib
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from synth.base.errors import CorpusError
from synth.corpus.corpus import Corpus
from synth.storage import (
    Copies,
    Remote,
    StorageError,
    fetch,
    filesystems,
    is_url,
    local_place,
    open_file,
    url_of,
)
from synth.storage import remote as remote_module
from tests.kit.cases import cases
from tests.kit.s3_store import SECRET, S3Refusal, S3Request, S3Store, running_store

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def server() -> Iterator[S3Store]:
    with running_store() as store:
        yield store


@pytest.fixture
def s3(server: S3Store, monkeypatch: pytest.MonkeyPatch) -> S3Store:
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(remote_module, "FIRST_WAIT_S", 0.01)
    server.door.fault = None
    return server


@pytest.fixture(params=["s3", "memory", "file"])
def remote(request: pytest.FixtureRequest, tmp_path: Path) -> Remote:
    """A folder that is empty at three kinds of store."""
    if request.param == "s3":
        return Remote(f"s3://{request.getfixturevalue('s3').bucket()}/some/prefix")
    if request.param == "file":
        return Remote(f"file://{tmp_path}/store")
    return Remote(f"memory:/{tmp_path}/some/prefix")


def test_urls_are_told_from_paths_even_after_pathlib(tmp_path: Path) -> None:
    assert url_of("s3://bucket/a/b/") == "s3://bucket/a/b"
    assert url_of(Path("s3://bucket/a/b")) == "s3://bucket/a/b"
    assert url_of(Path("file:///a")) == "file:///a"
    assert url_of(Path("memory://x")) == "memory://x"
    for path in ("data/a", "/data/a", "C:/data", "c:/data", "./s3:x", "esc50:root"):
        assert not is_url(path), path
    assert local_place(tmp_path / "nowhere") == tmp_path / "nowhere"
    (tmp_path / "file").write_bytes(b"here")
    with open_file(tmp_path / "file") as file:
        assert file.read() == b"here"
    with pytest.raises(StorageError, match="unknown kind of store: 'nix'"):
        Remote("nix://bucket").list()


def test_a_url_that_holds_a_password_is_refused_and_not_repeated() -> None:
    with pytest.raises(StorageError) as refused:
        url_of("s3://me:hunter2@bucket/a")
    assert "hunter2" not in str(refused.value)
    assert "environment" in str(refused.value)


def test_objects_are_put_listed_read_and_removed(remote: Remote, tmp_path: Path) -> None:
    local = tmp_path / "local"
    local.write_bytes(b"sound")
    assert remote.list() == {}
    assert remote.find("a/x.bin") is None
    stored = remote.write("a/x.bin", local)
    remote.write("a/b/y.bin", b"12")
    remote.write("z", b"123")
    assert list(remote.list()) == ["a/b/y.bin", "a/x.bin", "z"]
    assert list(remote.list("a", deep=False)) == ["a/x.bin"]
    assert remote.list()["a/x.bin"] == remote.find("a/x.bin") == stored
    with remote.open("a/x.bin") as file:
        assert file.read() == b"sound"
    assert remote.read("z") == b"123"
    remote.copy("z", "copy/of/z")
    assert remote.read("copy/of/z") == b"123"
    remote.remove("z")
    remote.remove("z")
    assert not remote.exists("z")
    assert remote.read("z") is None


def test_only_one_creates_an_object(remote: Remote) -> None:
    assert remote.write_over("lease", b"mine", None)
    before = remote.find("lease")
    assert not remote.write_over("lease", b"theirs", None)
    assert remote.read("lease") == b"mine"
    # Another content has another stamp.
    remote.write("lease", b"ours")
    assert remote.find("lease") != before


def test_a_large_file_goes_in_parts_and_comes_back_the_same(s3: S3Store, tmp_path: Path) -> None:
    remote = Remote(f"s3://{s3.bucket()}")
    large = tmp_path / "large"
    large.write_bytes(os.urandom(18 * 2**20))
    remote.write("large.tar", large)
    assert s3.door.count("PUT", "large.tar?partNumber=") == 3
    assert remote.read("large.tar") == large.read_bytes()


def failing(times: int, status: int, code: str, method: str = "PUT"):  # type: ignore[no-untyped-def]
    left = [times]

    def fault(request: S3Request) -> S3Refusal | None:
        if request.method != method or not left[0]:
            return None
        left[0] -= 1
        return S3Refusal(status, code)

    return fault


@cases(("status", "code"), [(503, "SlowDown"), (500, "InternalError")])
def test_a_busy_store_is_asked_again(s3: S3Store, tmp_path: Path, status: int, code: str) -> None:
    remote = Remote(f"s3://{s3.bucket()}")
    (tmp_path / "local").write_bytes(b"sound")
    s3.door.fault = failing(3, status, code)
    remote.write("a", tmp_path / "local")
    s3.door.fault = failing(3, status, code, "GET")
    assert remote.read("a") == b"sound"


def test_a_part_that_fails_leaves_no_object_and_no_upload(s3: S3Store, tmp_path: Path) -> None:
    remote = Remote(f"s3://{s3.bucket()}")
    large = tmp_path / "large"
    large.write_bytes(bytes(17 * 2**20))

    def fault(request: S3Request) -> S3Refusal | None:
        return S3Refusal(503, "SlowDown") if "partNumber=2" in request.path else None

    s3.door.fault = fault
    with pytest.raises(StorageError, match="SlowDown"):
        remote.write("large", large)
    s3.door.fault = None
    assert not remote.exists("large")
    assert s3.door.count("DELETE", "large?uploadId=") == remote_module.ATTEMPTS


@cases(
    ("status", "code", "words"),
    [
        (403, "AccessDenied", "access denied"),
        (403, "InvalidAccessKeyId", "access denied"),
        (404, "NoSuchBucket", "no bucket"),
    ],
)
def test_what_cannot_pass_is_told_at_once(s3: S3Store, status: int, code: str, words: str) -> None:
    remote = Remote(f"s3://{s3.bucket()}/corpora")
    s3.door.fault = lambda _: S3Refusal(status, code)
    before = len(s3.door.refused)
    with pytest.raises(StorageError, match=words) as told:
        remote.write("a", b"1")
    assert len(s3.door.refused) == before + 1, "asked again although it cannot pass"
    assert told.value.fix
    assert SECRET not in str(told.value)
    assert remote.url in str(told.value)
    s3.door.fault = None
    with pytest.raises(StorageError, match="no bucket 'nowhere' at http://127"):
        Remote("s3://nowhere/a").list()


def test_missing_credentials_are_told(s3: S3Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", "/nonexistent")
    with pytest.raises(StorageError, match="AWS_ACCESS_KEY_ID"):
        Remote("s3://bucket-1").list()


def test_a_store_that_is_gone_is_told_and_read_again_when_it_is_back(s3: S3Store) -> None:
    remote = Remote(f"s3://{s3.bucket()}")
    remote.write("a", b"1")
    s3.door.shut()
    try:
        with pytest.raises(StorageError, match="cannot be reached at http://127"):
            remote.read("a")
    finally:
        s3.door.start()
    assert remote.read("a") == b"1"


def test_without_s3fs_the_install_line_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    known = import_module("fsspec.registry")._registry  # `fsspec.registry` is a view of it
    monkeypatch.delitem(known, "s3", raising=False)
    filesystems._open_filesystem.cache_clear()
    with pytest.raises(StorageError, match=r"pip install 'segue-audio\[s3\]'"):
        Remote("s3://bucket").list()


def test_a_copy_is_fetched_once_and_again_when_the_object_changes(
    remote: Remote, tmp_path: Path
) -> None:
    remote.write("data/a", b"1")
    copies = Copies.open(tmp_path / "copies", remote)
    stored = remote.find("data/a")
    assert stored is not None
    path = copies.fetch("data/a", stored)
    inode = path.stat().st_ino
    assert copies.fetch("data/a", stored).stat().st_ino == inode
    # What was written over here is no copy.
    path.write_bytes(b"22")
    assert not copies.has("data/a", stored)
    assert copies.fetch("data/a", stored).read_bytes() == b"1"
    remote.write("data/a", b"2")
    assert not copies.has("data/a", remote.list()["data/a"])
    assert copies.fetch("data/a", remote.find("data/a")).read_bytes() == b"2"


def test_a_folder_of_other_files_is_not_taken_for_copies(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("x")
    with pytest.raises(Exception, match="choose a new or empty folder"):
        Copies.open(tmp_path / "mine", Remote("memory://a"))
    Copies.open(tmp_path / "copies", Remote("memory://a"))
    with pytest.raises(Exception, match="holds copies of memory://a"):
        Copies.open(tmp_path / "copies", Remote("memory://b"))


def test_a_missing_file_of_a_copied_folder_comes_when_it_is_asked_for(tmp_path: Path) -> None:
    remote = Remote(f"file://{tmp_path}/store")
    remote.write("shards/a.tar", b"1")
    copies = Copies.open(tmp_path / "copies", remote)
    assert fetch(copies.path("shards/a.tar")).read_bytes() == b"1"
    absent = copies.path("shards/b.tar")
    assert fetch(absent) == absent
    assert fetch(tmp_path / "elsewhere") == tmp_path / "elsewhere"


def put_corpus(remote: Remote, name: str, shard: bytes) -> None:
    remote.write(f"data_manifests/{name}/latest", b"v1\n")
    remote.write(f"data_manifests/{name}/v1/corpus.json", b'{"shards": "../../../shards/c/v1"}')
    remote.write(f"data_manifests/{name}/v1/samples.parquet", b"rows")
    remote.write(f"data_manifests/{name}/v1/receipts/a.tar.json", b"{}")
    remote.write("shards/c/v1/train/a.tar", shard)


def test_a_corpus_is_read_from_a_url_through_the_cache(
    remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEGUE_CACHE", str(tmp_path / "cache"))
    put_corpus(remote, "c", b"first")
    folder = local_place(f"{remote.url}/data_manifests/c")
    assert (folder / "latest").read_text() == "v1\n"
    assert (folder / "v1" / "samples.parquet").read_bytes() == b"rows"
    assert not (folder / "v1" / "receipts").exists(), "receipts come when they are asked for"
    assert fetch(folder / "v1" / "receipts" / "a.tar.json").read_bytes() == b"{}"
    shard = (folder / "v1" / "../../../shards/c/v1/train/a.tar").resolve()
    assert not shard.exists()
    assert fetch(shard).read_bytes() == b"first"

    put_corpus(remote, "c", b"other")  # built anew under the same name
    remote.remove("data_manifests/c/v1/samples.parquet")
    assert local_place(Path(f"{remote.url}/data_manifests/c")) == folder
    assert fetch(shard).read_bytes() == b"other"
    assert not (folder / "v1" / "samples.parquet").exists()
    version = local_place(f"{remote.url}/data_manifests/c/v1")
    assert version == folder / "v1"


@cases("text", [b"../other", b"v1/../../other", b"/etc", b"a\0b", b"\xff\xfe", b""])
def test_latest_at_a_url_that_is_no_plain_name_is_not_followed(
    remote: Remote, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: bytes
) -> None:
    monkeypatch.setenv("SEGUE_CACHE", str(tmp_path / "cache"))
    put_corpus(remote, "c", b"first")
    remote.write("data_manifests/other/corpus.json", b"{}")
    remote.write("data_manifests/c/latest", text)
    folder = local_place(f"{remote.url}/data_manifests/c")
    assert [path.name for path in folder.parent.rglob("*.*")] == []
    with pytest.raises(CorpusError, match="latest: expected the name of a version"):
        Corpus.open(Path(f"{remote.url}/data_manifests/c"))


def test_the_declared_client_of_s3_knows_the_conditions() -> None:
    """Arguments that it does not know are dropped on the way: a put would be unconditional."""
    from botocore.session import Session

    model = Session().get_service_model("s3")
    for name in ("PutObject", "CompleteMultipartUpload"):
        assert {"IfMatch", "IfNoneMatch"} <= set(model.operation_model(name).input_shape.members)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert "botocore>=1.36" in project["optional-dependencies"]["s3"]
