"""Corpora at a store: a real S3 server on loopback, builds that it or the machine lets down."""

from __future__ import annotations

import asyncio
import gc
import hashlib
import json
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pipelines.builder.build import build
from pipelines.checks.audit import audit
from pipelines.config.spec import Spec
from pipelines.export import export_corpus
from pipelines.store.lease import sole_writer
from synth.base.errors import CorpusError, SpecError
from synth.corpus.corpus import Corpus
from synth.storage import Remote
from synth.storage.filesystems import filesystem_of
from tests.kit.builds import BESIDE, TINY, merged, product, segue_here
from tests.kit.corpora import built
from tests.kit.s3_store import SECRET, S3Refusal, S3Request, S3Store, running_store
from tests.kit.started import kill, start_segue
from tests.kit.waiting import PATIENCE_S, wait_for

FEW: dict[str, Any] = {"recipe": {"triplets": {"repeats": 1}}, "shards": {"samples": 18}}
"""Four small shards: at a store a shard takes a dozen requests."""


@pytest.fixture(scope="module")
def server() -> Iterator[S3Store]:
    with running_store() as store:
        yield store


@pytest.fixture
def s3(server: S3Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> S3Store:
    for name, value in server.environment().items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("SEGUE_CACHE", str(tmp_path / "cache"))
    server.door.fault = None
    server.door.requests.clear()
    return server


@pytest.fixture
def out(s3: S3Store) -> Remote:
    """Where to build to."""
    return Remote(f"s3://{s3.bucket()}/segue")


@pytest.fixture
def tiny() -> Callable[..., Spec]:
    """A small corpus of few shards, with changes."""
    return lambda **changes: Spec.model_validate(merged(merged(TINY, FEW), changes))


@pytest.fixture(scope="session")
def few_shards(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What it is made of when it is built in a folder."""
    return product(built(merged(TINY, FEW), tmp_path_factory))


def stored(remote: Remote) -> dict[str, str]:
    """As `builds.product`, of what is at a store."""
    return {
        key: hashlib.sha256(remote.read(key) or b"").hexdigest()
        for key in remote.list()
        if not key.startswith("banks/") and key.rpartition("/")[2] not in BESIDE
    }


def shards_put(s3: S3Store) -> Counter[str]:
    """How often each shard was put."""
    return Counter(
        each.path.rpartition("/")[2]
        for each in s3.door.requests
        if each.method == "PUT" and each.path.endswith(".tar")
    )


def certified(s3: S3Store) -> int:
    return sum(
        each.method == "PUT" and each.path.endswith(".tar.json") for each in s3.door.requests
    )


def finished_shards(out: Remote) -> set[str]:
    """Those with a receipt; what only keeps a place at its key certifies nothing."""
    keys = [key for key in out.list() if key.endswith(".tar.json")]
    return {
        key.rpartition("/")[2][:-5]
        for key in keys
        if "sha256" in json.loads(out.read(key) or b"{}")
    }


def wait_while_it_runs(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    assert wait_for(lambda: process.poll() is not None or condition())
    assert process.poll() is None, process.communicate()


def last_line(output: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(output.splitlines()[-1])
    return found


def test_at_a_url_the_same_bytes_are_built_and_nothing_twice(
    s3: S3Store, out: Remote, tiny: Callable[..., Spec], few_shards: dict[str, str], tmp_path: Path
) -> None:
    summary = build(tiny(), Path(out.url), 0)
    assert stored(out) == few_shards
    assert set(shards_put(s3).values()) == {1}
    assert summary.paths["manifests"].startswith(f"{out.url}/data_manifests/tiny/")
    assert not list((tmp_path / "cache").rglob("*.tar")), "shards are not kept twice"
    puts = [each.path for each in s3.door.requests if each.method == "PUT"]
    name = "tiny-train-000000.tar"
    order = [path.rpartition("/")[2] for path in puts if f"/{name}" in path]
    # The index belongs to the whole, which corpus.json certifies.
    assert order == [name, f"{name}.parquet", f"{name}.json", f"{name}.idx"]
    last = [path.rpartition("/")[2] for path in puts if "/.lease/" not in path]
    assert [name for name in last if not name.endswith("jsonl")][-2:] == ["corpus.json", "latest"]

    s3.door.requests.clear()
    again = build(tiny(), Path(out.url), 0)
    assert (again.rendered, again.skipped) == (0, summary.shards)
    assert not shards_put(s3)
    assert not s3.door.count("GET", ".tar"), "nothing of what is there came down again"


def test_another_machine_decodes_nothing_again_and_renders_what_changed(
    s3: S3Store, out: Remote, tiny: Callable[..., Spec], tmp_path: Path
) -> None:
    build(tiny(), Path(out.url), 0)
    shutil.rmtree(tmp_path / "cache")  # a machine that was never here
    s3.door.requests.clear()
    more = tiny(recipe={"triplets": {"repeats": 2}})
    summary = build(more, Path(out.url), 0)
    assert not [each for each in s3.door.requests if "/part-" in each.path and each.method == "PUT"]
    assert summary.rendered + summary.skipped == summary.shards
    plain = tmp_path / "plain"
    build(tiny(), plain, 0)
    build(more, plain, 0)
    assert stored(out) == product(plain)


def test_a_changed_split_is_copied(s3: S3Store, out: Remote, tiny: Callable[..., Spec]) -> None:
    first = build(tiny(version="one"), Path(out.url), 0)
    s3.door.requests.clear()
    second = build(tiny(version="two"), Path(out.url), 0)
    assert (second.rendered, second.skipped) == (0, first.shards)
    assert not s3.door.count("GET", ".tar?"), "copied by the store"
    names = [key.rpartition("/")[2] for key in out.list("shards/tiny/two") if key.endswith(".tar")]
    assert len(names) == first.shards


def test_killed_and_then_let_down_by_the_store_it_goes_on_and_puts_no_finished_shard_again(
    s3: S3Store, out: Remote, tiny_file: Callable[..., Path], tiny_corpus: Path
) -> None:
    command = (tiny_file(), "--out", out.url, "--workers", "2", "--no-prefect", "--json")
    process = start_segue("build", *command)
    wait_while_it_runs(lambda: certified(s3) > 3, process)
    kill(process)
    survived, put = finished_shards(out), shards_put(s3)
    assert 3 < len(survived) < 12
    assert all(put[name] == 1 for name in survived)

    process = start_segue("build", *command)
    wait_while_it_runs(lambda: certified(s3) > len(survived) + 1, process)
    s3.door.shut()
    try:
        output, errors = process.communicate(timeout=PATIENCE_S)
    finally:
        s3.door.start()
    assert process.returncode == 1
    assert "cannot be reached at http://127.0.0.1" in " ".join(errors.split())
    assert "run the same command again" in last_line(output)["fix"]
    assert "Traceback" not in errors
    assert SECRET not in errors + output
    kept = finished_shards(out)
    assert survived < kept
    assert all(shards_put(s3)[name] == 1 for name in survived)

    put = shards_put(s3)  # one that was put but not certified when it was killed was put again
    ended = segue_here("build", *command[:3], "--workers", "0", *command[5:])
    assert ended.returncode == 0, ended.stderr
    assert last_line(ended.stdout)["skipped"] == len(kept)
    assert stored(out) == product(tiny_corpus)
    assert all(shards_put(s3)[name] == put[name] for name in kept)


def test_a_broken_connection_is_told_once(out: Remote, caplog: pytest.LogCaptureFixture) -> None:
    loop = filesystem_of(out.url).loop

    async def fail(error: Exception) -> None:
        raise error

    async def forget() -> None:
        for error in (ConnectionResetError("lost"), ValueError("wrong")):
            asyncio.ensure_future(fail(error))  # noqa: RUF006
        await asyncio.sleep(0)

    asyncio.run_coroutine_threadsafe(forget(), loop).result()
    assert wait_for(lambda: gc.collect() >= 0 and "wrong" in caplog.text)
    assert "lost" not in caplog.text


def test_a_store_that_is_busy_for_a_while_is_waited_for(
    s3: S3Store, out: Remote, tiny: Callable[..., Spec], few_shards: dict[str, str]
) -> None:
    seen: Counter[S3Request] = Counter()

    def fault(request: S3Request) -> S3Refusal | None:
        """Some objects are refused twice."""
        seen[request] += 1
        refused = seen[request] < 3 and "/tiny-test-000000.tar" in request.path
        return S3Refusal(503, "SlowDown") if refused and request.method == "PUT" else None

    s3.door.fault, before = fault, len(s3.door.refused)
    build(tiny(), Path(out.url), 0)
    s3.door.fault = None
    assert len(s3.door.refused) == before + 8
    assert stored(out) == few_shards


@pytest.mark.parametrize("wrong", ["bucket", "rights"])
def test_what_cannot_work_is_told_before_any_work(
    s3: S3Store, tiny_file: Callable[..., Path], tmp_path: Path, wrong: str
) -> None:
    url = "s3://nowhere/segue" if wrong == "bucket" else f"s3://{s3.bucket()}/segue"
    if wrong == "rights":
        s3.door.fault = lambda each: (
            S3Refusal(403, "AccessDenied") if each.method == "PUT" else None
        )
    stage = tmp_path / "stage"
    found = segue_here(
        "build", tiny_file(), "--out", url, "--stage", stage, "--no-prefect", "--json"
    )
    assert found.returncode == 1
    words = "no bucket 'nowhere' at" if wrong == "bucket" else "access denied"
    assert words in last_line(found.stdout)["error"]
    assert found.stderr.count("error:") == 1
    assert "Traceback" not in found.stderr
    assert SECRET not in found.stderr + found.stdout
    assert not (stage / "banks").exists(), "no clip was read"


def test_a_version_begun_at_the_store_is_refused_to_another_spec(
    s3: S3Store, out: Remote, tiny: Callable[..., Spec], tmp_path: Path
) -> None:
    """Shards of WAV are as long whatever they hold: a stale receipt would vouch for any."""
    first, second = (tiny(version="v", seed=seed, audio={"format": "wav"}) for seed in (1, 2))
    stop = [0]

    def fault(request: S3Request) -> S3Refusal | None:
        """The store refuses what comes after some shards."""
        stop[0] += request.method == "PUT" and request.path.endswith(".tar")
        return S3Refusal(403, "AccessDenied") if stop[0] > 3 else None

    s3.door.fault = fault
    with pytest.raises(Exception, match="access denied"):
        build(first, Path(out.url), 0)
    s3.door.fault = None
    with pytest.raises(CorpusError, match="version 'v' was started with another spec"):
        build(second, Path(out.url), 0)
    build(first, Path(out.url), 0)
    build(first, tmp_path / "plain", 0)
    assert stored(out) == product(tmp_path / "plain")


def test_a_corpus_at_a_url_is_inspected_audited_exported_and_trained_on(
    s3: S3Store, out: Remote, tiny: Callable[..., Spec], tmp_path: Path
) -> None:
    build(tiny(), Path(out.url), 0)
    shutil.rmtree(tmp_path / "cache")
    s3.door.requests.clear()
    corpus = f"{out.url}/data_manifests/tiny"
    assert not audit(Path(corpus)).violations
    assert not s3.door.count("GET", ".tar"), "an audit reads no sound"
    exported = export_corpus(Corpus.open(Path(corpus)), "laion", tmp_path / "exported")
    assert exported.written == exported.parts == 4
    trained = segue_here("train", corpus, "--steps", "2", "--out", tmp_path / "run", "--json")
    assert trained.returncode == 0, trained.stderr
    shown = segue_here("check", corpus, "--samples", "2", "--json")
    assert shown.returncode == 0, shown.stderr
    assert last_line(shown.stdout)["checks"]["shards as certified"] == 4
    gets = Counter(
        each.path.partition("?")[0]
        for each in s3.door.requests
        if each.method == "GET" and each.path.partition("?")[0].endswith(".tar")
    )
    assert set(gets.values()) == {1}, "every shard came once"


def test_what_writes_to_folders_alone_says_so(tiny_corpus: Path, tmp_path: Path) -> None:
    corpus = tiny_corpus / "data_manifests" / "tiny"
    with pytest.raises(SpecError, match="exports are written to folders"):
        export_corpus(Corpus.open(corpus), "laion", Path("s3://bucket/export"))
    with (
        pytest.raises(SpecError, match="this command works only on folders"),
        sole_writer(Path("s3://bucket/corpus")),
    ):
        pass
