"""Builds that are killed or meet a full disk: nothing torn, lost, made twice, or left behind."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import DEVNULL
from typing import Any

import pytest
import yaml

from pipelines.builder.build import build
from pipelines.builder.claim import CLAIM_FILE
from pipelines.config.file import read_spec
from pipelines.config.spec import Spec
from pipelines.export import export_corpus
from pipelines.flows.holder import HOME
from pipelines.store.store import record
from synth.base.atomic import PARTIAL_SUFFIX, replacing, write_bytes
from synth.base.errors import DiskFullError
from synth.corpus.corpus import Corpus
from synth.corpus.receipt import RECEIPT_FILE
from tests.kit.builds import TINY, ingested, product, segue
from tests.kit.pools import pool_workers
from tests.kit.prefect_database import lend_database
from tests.kit.started import count_receipts, interrupt, kill, marked, start_segue
from tests.kit.waiting import PATIENCE_S, wait_for

KILLS = {False: 2, True: 1}
"""Over the build without and with Prefect; `make soak` kills a hundred times."""


def start(
    spec: Path, out: Path, flag: str = "--no-prefect", **options: Any
) -> subprocess.Popen[str]:
    words = ("build", spec, "--out", out, "--workers", "2", flag)
    return start_segue(*words, mark=out, **options)


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc").is_dir(), reason="needs /proc to look for orphans")
@pytest.mark.parametrize("prefect", [False, True], ids=["bare", "prefect"])
def test_kills_then_the_same_bytes(
    tiny_file: Callable[..., Path],
    tiny_corpus: Path,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    prefect: bool,
) -> None:
    spec = tiny_file(recipe={"triplets": {"repeats": 4}})
    out = ingested(tiny_corpus, tmp_path)
    if prefect:
        lend_database(out / HOME, tmp_path_factory)
    flag = "--prefect" if prefect else "--no-prefect"
    for _ in range(KILLS[prefect]):
        before = count_receipts(out)
        process = start(spec, out, flag, stdout=DEVNULL, stderr=DEVNULL)
        assert wait_for(lambda before=before: count_receipts(out) > before)
        kill(process)
    assert wait_for(lambda: not marked(out), 0.2), marked(out)
    kept = count_receipts(out)
    assert kept >= KILLS[prefect]

    last = build(read_spec(spec), out, 0)
    assert last.skipped == kept
    assert last.rendered + last.skipped == last.shards
    build(read_spec(spec), tmp_path / "undisturbed", 0)
    assert product(out) == product(tmp_path / "undisturbed")
    assert not list(out.rglob("*.partial"))

    journal = Path(last.paths["manifests"]) / "journal.jsonl"
    events = [json.loads(line) for line in journal.read_text().splitlines()]
    rendered = Counter(event["shard"] for event in events if event["event"] == "rendered")
    assert max(rendered.values()) == 1, "a finished shard was rendered again"


@pytest.mark.slow
def test_interrupt_ends_cleanly_and_says_how_to_go_on(
    tiny_file: Callable[..., Path], tiny_corpus: Path, tmp_path: Path
) -> None:
    spec = tiny_file(recipe={"triplets": {"repeats": 8}}, shards={"samples": 6})
    out = ingested(tiny_corpus, tmp_path)
    process = start(spec, out)
    assert wait_for(lambda: count_receipts(out) > 1)
    ended = r"^stopped; run the same command again: \d+ of 96 shards are done$"
    assert re.search(ended, interrupt(process), re.M)
    assert build(read_spec(spec), out, 0).skipped > 1


@pytest.mark.slow
def test_killed_worker_is_a_clear_error_and_costs_no_finished_shard(
    tiny_file: Callable[..., Path], tiny_corpus: Path, tmp_path: Path
) -> None:
    spec = tiny_file(recipe={"triplets": {"repeats": 8}}, shards={"samples": 6})
    out = ingested(tiny_corpus, tmp_path)
    process = start(spec, out)
    assert wait_for(lambda: count_receipts(out) > 1)
    workers = pool_workers(process.pid)
    assert len(workers) == 2
    os.kill(workers[-1], signal.SIGKILL)
    _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 1
    assert "a worker process was killed" in errors
    assert "Traceback" not in errors
    kept = count_receipts(out)
    assert build(read_spec(spec), out, 0).skipped == kept


# A full disk: one clear error, nothing half-written, and the same command goes on after it.


if sys.platform != "win32":
    import resource

PAGE = 4096
WIDE = 64 << 20


class Disk:
    """A file system in memory, whose size can be changed."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def leave(self, free: int) -> None:
        """Let so many bytes be free."""
        self._resize(self._used() + free // PAGE * PAGE)

    def widen(self) -> None:
        self._resize(WIDE)

    def partials(self) -> list[Path]:
        return list(self.root.rglob(f".*{PARTIAL_SUFFIX}"))

    def _used(self) -> int:
        found = os.statvfs(self.root)
        return (found.f_blocks - found.f_bfree) * found.f_frsize

    def _resize(self, size: int) -> None:
        options = f"remount,size={size}"
        subprocess.run(["mount", "-o", options, str(self.root)], check=True)


def mounted(root: Path) -> bool:
    command = ["mount", "-t", "tmpfs", "-o", f"size={WIDE}", "tmpfs", str(root)]
    return (
        bool(shutil.which("mount"))
        and not subprocess.run(command, capture_output=True, check=False).returncode
    )


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Disk]:
    """A small disk; where none may be mounted, `test_..._in_a_namespace` runs these tests."""
    root = tmp_path / "disk"
    root.mkdir()
    if not mounted(root):
        pytest.skip("may not mount a file system here; see the test in a namespace of its own")
    yield Disk(root)
    subprocess.run(["umount", "--lazy", str(root)], check=True)


def pages(paths: Iterator[Path]) -> int:
    """Bytes that files take in whole pages."""
    return sum(-(-path.stat().st_size // PAGE) * PAGE for path in paths)


def test_a_full_disk_at_any_stage_only_stops_a_build(disk: Disk, tiny_corpus: Path) -> None:
    spec, out = Spec.model_validate(TINY), disk.root / "out"

    def refused(free: int, workers: int) -> str:
        disk.leave(free)
        with pytest.raises(DiskFullError, match="the disk is full") as caught:
            build(spec, out, workers)
        assert not disk.partials()
        assert "run the same command again" in caught.value.fix
        return caught.value.message

    assert ".pcm: " in refused(300_000, 0)
    assert not list(out.rglob("*.pcm"))
    disk.widen()
    shutil.copytree(tiny_corpus / "banks", out / "banks", dirs_exist_ok=True)
    assert "/plan.parquet: " in refused(18 * PAGE, 0)
    assert not list(out.rglob("plan.parquet"))
    told = refused(pages(tiny_corpus.rglob("*.tar")) // 2, 2)
    finished = {path: path.stat().st_mtime_ns for path in out.rglob("receipts/*.json")}
    assert 0 < len(finished) < 12
    assert re.search(r"about .* needed for the \d+ shards left to render", told)
    begun = (CLAIM_FILE, RECEIPT_FILE)  # the receipt is still that of the plan
    there = {path: sha for path, sha in product(out).items() if Path(path).name not in begun}
    assert set(there.items()) <= set(product(tiny_corpus).items())

    rest = pages(tiny_corpus.rglob("*.tar")) - pages(out.rglob("*.tar"))
    rest += pages(tiny_corpus.rglob("receipts/*")) - pages(out.rglob("receipts/*"))
    # The library's rows lie on the disk, too, for as long as a build runs.
    assert ".tar: " not in refused(rest + 10 * PAGE, 0)
    assert len(list(out.rglob("receipts/*.json"))) == 12
    assert not list(out.rglob("corpus.json"))

    disk.widen()
    summary = build(spec, out, 0)
    assert (summary.rendered, summary.skipped) == (0, 12)
    assert product(out) == product(tiny_corpus)
    assert all(path.stat().st_mtime_ns == made for path, made in finished.items())
    (journal,) = out.rglob("journal.jsonl")
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    shards = [line["shard"] for line in lines if line["event"] == "rendered"]
    assert len(shards) == len(set(shards)) == 12


def test_an_export_goes_on_after_a_full_disk(disk: Disk, tiny_corpus: Path, tmp_path: Path) -> None:
    corpus, out = Corpus.open(tiny_corpus / "data_manifests" / "tiny"), disk.root / "exported"
    disk.leave(pages(tiny_corpus.rglob("*.tar")) // 2)
    with pytest.raises(DiskFullError, match="the disk is full"):
        export_corpus(corpus, "hf", out)
    assert not disk.partials()
    disk.widen()
    again = export_corpus(corpus, "hf", out)
    assert 0 < again.skipped < again.parts
    export_corpus(corpus, "hf", tmp_path / "whole")
    files = [path.relative_to(out) for path in sorted(out.rglob("*")) if path.is_file()]
    assert all(
        (out / each).read_bytes() == (tmp_path / "whole" / each).read_bytes() for each in files
    )


@pytest.mark.slow
def test_a_disk_without_room_for_prefects_own_server_is_one_clear_error(
    disk: Disk, tiny_corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    spec = tmp_path / "tiny.yaml"
    spec.write_text(yaml.safe_dump(TINY))
    shutil.copytree(tiny_corpus / "banks", disk.root / "banks")
    disk.leave(50 * PAGE)
    done = segue("build", spec, "--out", disk.root, "--workers", "0", "--prefect", "--json")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    told = json.loads(done.stdout.splitlines()[-1])
    assert "the disk is full: Prefect's server keeps its database there" in told["error"]
    assert "--no-prefect" in told["fix"]


@pytest.mark.skipif(not shutil.which("unshare"), reason="unshare is not installed")
def test_full_disks_of_who_is_not_root_in_a_namespace(tmp_path: Path) -> None:
    """Runs the tests above where mounting is allowed to everyone, if it is not allowed here."""
    if mounted(tmp_path):
        subprocess.run(["umount", "--lazy", str(tmp_path)], check=True)
        return  # mounting is allowed here, so nothing above was skipped
    probe = ["mount", "-t", "tmpfs", "tmpfs", str(tmp_path)]
    if subprocess.run(["unshare", "-rm", *probe], capture_output=True, check=False).returncode:
        pytest.skip("neither root nor user namespaces: no small disk can be made here")
    chosen = ["-p", "no:cacheprovider", "-k", "disk and not namespace", str(Path(__file__))]
    done = subprocess.run(
        ["unshare", "-rm", sys.executable, "-m", "pytest", *chosen],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "skipped" not in done.stdout
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed
    assert int(passed[1]) >= 6, done.stdout


@pytest.mark.parametrize(
    ("number", "told"),
    [(errno.EDQUOT, "the disk quota is used up"), (errno.ENOSPC, "the disk is full")],
)
def test_quota_and_full_disk_are_told_of_the_file(tmp_path: Path, number: int, told: str) -> None:
    path = tmp_path / "plan.parquet"
    path.write_text("before")

    def write() -> None:
        with replacing(path) as partial:
            partial.write_text("half")
            raise OSError(number, os.strerror(number), str(partial))

    with pytest.raises(DiskFullError, match=rf"/plan\.parquet: {told}"):
        write()
    assert [each.name for each in tmp_path.iterdir()] == ["plan.parquet"]
    assert path.read_text() == "before"


def test_other_faults_of_the_file_system_stay_what_they_are(tmp_path: Path) -> None:
    with pytest.raises(PermissionError), replacing(tmp_path / "a"):
        raise PermissionError(errno.EACCES, "Permission denied")


@pytest.mark.skipif(sys.platform == "win32", reason="needs limits of POSIX")
def test_file_larger_than_the_process_may_write_is_told(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (PAGE, hard))
    try:
        with pytest.raises(DiskFullError, match="a: exceeds the file size limit") as caught:
            write_bytes(tmp_path / "a", bytes(2 * PAGE))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert "ulimit" in caught.value.fix
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs Linux's /dev/full")
def test_journal_that_does_not_fit_is_told(tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    journal.symlink_to("/dev/full")
    with pytest.raises(DiskFullError, match=r"journal\.jsonl: the disk is full"):
        record(journal, "rendered", shard="a")


def test_line_that_a_full_disk_tore_does_not_spoil_the_next(tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    journal.write_text('{"event": "rend')
    record(journal, "rendered", shard="a")
    record(journal, "rendered", shard="b")
    torn, *whole = journal.read_text().splitlines()
    assert torn == '{"event": "rend'
    assert [json.loads(line)["shard"] for line in whole] == ["a", "b"]
