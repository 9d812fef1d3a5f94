"""Engines: the same bytes on each, and what becomes of a build whose cluster fails it.

The clusters are real ones: a Dask scheduler and nannies with a worker each, on loopback.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import pipelines.engines.cluster
from pipelines.builder import drafting
from pipelines.builder.build import build
from pipelines.config.spec import Spec
from pipelines.engines.cluster import Passport, WorkerRefusal, facts
from pipelines.engines.engine import Call, Engine, engine, run_in_order
from pipelines.engines.executor import starting_process
from synth.base.errors import CorpusError, SegueError, SpecError
from tests.conftest import missing
from tests.kit.builds import product
from tests.kit.libraries import bells_and_drums
from tests.kit.started import count_receipts
from tests.kit.waiting import PATIENCE_S, wait_for
from tests.kit.worker_calls import (
    FileClock,
    hang,
    meet,
    read_deadline,
    reset_clock,
    set_clock,
    wait_for_file,
    write,
)

Tiny = Callable[..., Spec]
REPO = Path(__file__).resolve().parents[3]
HOUR_S = 3600.0
LIMIT_S = 0.3
"""By a clock that stands still until a test sets it on."""


class OwnCluster:
    """A scheduler and its workers, in processes that end with the test."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes: list[subprocess.Popen[bytes]] = []
        address = folder / "scheduler.json"
        options = "--host 127.0.0.1 --port 0 --no-dashboard --no-show --scheduler-file"
        self.scheduler = self._start("scheduler", *options.split(), address)
        self.address = ""
        assert wait_for(lambda: self._read(address)), self.log()

    def add(self, count: int, **environment: str) -> None:
        """Start workers below one nanny, and wait until they are known."""
        with self.client() as client:
            there = len(client.nthreads())
            self._start(
                "worker",
                *f"{self.address} --nworkers {count} --nthreads 1 --host 127.0.0.1".split(),
                *["--no-dashboard", "--local-directory", str(self.folder)],
                **environment,
            )
            client.wait_for_workers(there + count, timeout=PATIENCE_S)

    @contextmanager
    def client(self) -> Iterator[Any]:
        distributed: Any = importlib.import_module("distributed")
        with distributed.Client(self.address, timeout=PATIENCE_S, set_as_default=False) as client:
            yield client

    def end(self, *, latest: bool = False) -> None:
        """End all processes, or those that were added last."""
        ended = self.processes[-1:] if latest else self.processes[:]
        for process in ended:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        for process in ended:
            process.wait()
            self.processes.remove(process)

    def log(self) -> str:
        return (self.folder / "log").read_text()

    def _start(self, what: str, *arguments: str | Path, **env: str) -> subprocess.Popen[bytes]:
        paths = os.pathsep.join(filter(None, [env.pop("PYTHONPATH", ""), str(REPO)]))
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", f"distributed.cli.dask_{what}", *map(str, arguments)],
                cwd=self.folder,
                env=os.environ | {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1"} | env,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.processes.append(process)
        return process

    def _read(self, path: Path) -> bool:
        with suppress(OSError, ValueError):
            self.address = json.loads(path.read_text())["address"]
        return bool(self.address)


@pytest.fixture(scope="module")
def new_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., OwnCluster]]:
    """Starts clusters; a task may cost one worker, and no more."""
    if importlib.util.find_spec("distributed") is None:
        missing("distributed is not installed")
    started: list[OwnCluster] = []

    def start(count: int) -> OwnCluster:
        cluster = OwnCluster(tmp_path_factory.mktemp("cluster"))
        started.append(cluster)
        if count:
            cluster.add(count)
        return cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "1")
        yield start
    for cluster in started:
        cluster.end()


@pytest.fixture(scope="module")
def cluster(new_cluster: Callable[..., OwnCluster]) -> OwnCluster:
    """Two workers; tests leave as many."""
    return new_cluster(2)


def writers(out: Path) -> list[int]:
    """The processes that are writing a shard now, from the names of its temporary files."""
    partials = (out / "shards").rglob(".*.tar.*.partial")
    return [int(path.name.rsplit(".", 2)[1].split("-")[-2]) for path in partials]


def test_names_of_engines_and_what_is_none() -> None:
    with engine("local:0") as it:
        assert (it.width, it.submit(os.getpid).result()) == (0, os.getpid())
    with engine("local:1") as it:
        assert it.width == 1
        assert it.submit(os.getpid).result() != os.getpid()
    with engine(None) as one, engine("local") as other:
        assert one.width == other.width >= 1
    others = ("dask://host", "http://host:80", "dask://a:1/x")
    for text in ("", "dask", "local:", "local:-1", *others):
        with pytest.raises(SpecError, match="dask://HOST:8786"), engine(text):
            pass


def test_cluster_drafts_and_renders_the_same_bytes_without_prefect(
    cluster: OwnCluster,
    tiny: Tiny,
    tiny_corpus: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(drafting, "LEAST_SHARED", 1)
    monkeypatch.setattr("pipelines.builder.plan.draft_all", drafting.draft_all)
    monkeypatch.chdir(tmp_path)  # workers stand elsewhere, so a relative path must not reach them
    with engine(cluster.address.replace("tcp", "dask")) as it:
        summary = build(tiny(), Path("out"), it)
    assert summary.rendered == 12
    assert product(tmp_path / "out") == product(tiny_corpus)
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        path.name for path in tiny_corpus.iterdir()
    }
    with cluster.client() as client:
        modules = client.run(lambda: set(sys.modules))
    for names in modules.values():
        assert "pipelines.builder.render" in names
        assert "prefect" not in names


def test_worker_killed_in_a_shard_costs_that_shard_alone(
    cluster: OwnCluster, tiny: Tiny, tiny_corpus: Path, tmp_path: Path
) -> None:
    def kill_one() -> bool:
        with suppress(IndexError, OSError):
            os.kill(writers(tmp_path)[0], signal.SIGKILL)
            return True
        return False

    with ThreadPoolExecutor() as threads, engine(cluster.address) as it:
        building = threads.submit(build, tiny(), tmp_path, it)
        assert wait_for(lambda: count_receipts(tmp_path) > 1 and kill_one()), building.result()
        summary = building.result()
    assert summary.rendered == 12
    assert product(tmp_path) == product(tiny_corpus)
    assert not list(tmp_path.rglob("*.partial"))


def test_shard_that_kills_its_workers_is_named(cluster: OwnCluster) -> None:
    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    with (
        engine(cluster.address) as it,
        pytest.raises(SegueError, match=r"train-00007\.tar: 2 workers died while rendering it"),
    ):
        it.submit(Call(die, "train-00007.tar", HOUR_S)).result()


def occupy(it: Engine, gate: Path) -> list[Future[None]]:
    """Have two workers wait until there is a gate."""
    marks = [str(gate.with_name(f"busy-{number}")) for number in range(2)]
    busy = [it.submit(meet, mark, str(gate)) for mark in marks]
    for mark in marks:
        wait_for_file(mark)
    return busy


def test_time_limit_runs_from_when_a_process_of_the_pool_begins(tmp_path: Path) -> None:
    with engine(2) as it:
        busy = occupy(it, tmp_path / "gate")
        calls = [it.submit(Call(read_deadline, "a shard", HOUR_S)) for _ in range(6)]
        opened = time.monotonic()
        (tmp_path / "gate").touch()
        assert all(call.result() >= opened + HOUR_S for call in calls)
        assert [call.result() for call in busy] == [None, None]
        hanging = it.submit(Call(hang, "train-00007.tar", 1.0), str(tmp_path / "begun"))
        with pytest.raises(CorpusError, match=r"train-00007\.tar: not rendered within 1 s"):
            hanging.result()
        with pytest.raises(CorpusError, match=r"train-00007\.tar: not rendered"):
            it.submit(os.getpid)


def test_the_time_limit_begins_with_the_call(cluster: OwnCluster, tmp_path: Path) -> None:
    with cluster.client() as client:

        def processes() -> set[int]:
            return set(client.run(os.getpid, on_error="ignore").values())

        before = processes()
        with clock_of(cluster, tmp_path / "clock"):
            with engine(cluster.address) as it:
                busy = occupy(it, tmp_path / "gate")
                limited = Call(divmod, "a shard", LIMIT_S)
                calls = [it.submit(limited, number, 2) for number in range(6)]
                write(tmp_path / "clock", "1000")
                (tmp_path / "gate").touch()
                assert [call.result() for call in calls] == [divmod(n, 2) for n in range(6)]
                assert [call.result() for call in busy] == [None, None]
                begun = tmp_path / "begun"
                hanging = it.submit(Call(hang, "train-00007.tar", LIMIT_S), str(begun))
                wait_for_file(str(begun))
                write(tmp_path / "clock", "2000")
                with pytest.raises(CorpusError, match=r"train-00007\.tar: not rendered within"):
                    hanging.result()
            assert wait_for(lambda: bool(processes() - before)), "its worker did not end"
            client.wait_for_workers(2, timeout=PATIENCE_S)


@contextmanager
def clock_of(cluster: OwnCluster, clock: Path) -> Iterator[None]:
    """Time limits run by the number in a file, here and on a cluster's workers."""
    write(clock, "0")
    set_clock(str(clock))
    with cluster.client() as client:
        client.wait_for_workers(2, timeout=PATIENCE_S)
        client.register_plugin(FileClock(str(clock)), name="clock")
        try:
            yield
        finally:
            reset_clock()
            client.unregister_worker_plugin("clock")


def test_module_is_run_with_its_words_and_status(tmp_path: Path) -> None:
    (tmp_path / "said").mkdir()
    (tmp_path / "said/__main__.py").write_text("import sys\nsys.exit(' '.join(sys.argv[1:]))\n")
    words = [sys.executable, "-m", "pipelines.engines.executor", str(os.getpid())]
    paths = os.pathsep.join([str(REPO), str(tmp_path)])
    done = subprocess.run(
        [*words, "said", "train", "--steps", "2"],
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, "train --steps 2\n")


def test_module_ends_when_the_process_that_is_named_does(tmp_path: Path) -> None:
    (tmp_path / "idle.py").write_text("import time\ntime.sleep(3600)\n")
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    words = [sys.executable, "-m", "pipelines.engines.executor", str(ended.pid), "idle"]
    paths = os.pathsep.join([str(REPO), str(tmp_path)])
    child = subprocess.Popen(words, env=os.environ | {"PYTHONPATH": paths})
    assert child.wait() == 1


@pytest.mark.parametrize("count", [0, 1])
def test_call_hands_on_what_its_function_raises(count: int) -> None:
    with engine(count) as it, pytest.raises(FileNotFoundError):
        it.submit(Call(os.stat, "a shard", HOUR_S), "/nowhere").result()


def test_lost_scheduler_is_one_error_and_the_build_goes_on_here(
    new_cluster: Callable[..., OwnCluster], tiny: Tiny, tiny_corpus: Path, tmp_path: Path
) -> None:
    doomed = new_cluster(1)
    with ThreadPoolExecutor() as threads, engine(doomed.address) as it:
        building = threads.submit(build, tiny(), tmp_path, it)
        assert wait_for(lambda: count_receipts(tmp_path) > 1), building.result()
        doomed.scheduler.kill()
        with pytest.raises(SegueError, match=r"the Dask scheduler at .* was lost"):
            building.result()
    doomed.end()
    kept = count_receipts(tmp_path)
    summary = build(tiny(), tmp_path, 0)
    assert (summary.skipped, summary.rendered) == (kept, 12 - kept)
    assert product(tmp_path) == product(tiny_corpus)


def test_worker_with_another_library_is_refused(cluster: OwnCluster, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.metadata as metadata\n"
        "real = metadata.version\n"
        "metadata.version = lambda name: '0.0.1' if name == 'soxr' else real(name)\n"
    )
    cluster.add(1, PYTHONPATH=str(tmp_path))
    try:
        with (
            pytest.raises(SegueError, match=r"different output: \S+: soxr 0\.0\.1 \(here") as error,
            engine(cluster.address),
        ):
            pass
    finally:
        cluster.end(latest=True)
    assert error.value.message.count("soxr") == 1  # the others are as they should be
    assert "more" not in error.value.message


def test_worker_that_joins_late_shows_its_passport_too() -> None:
    found = facts()
    passport = Passport(tuple((found | {"soxr": "9"}).items()), ())
    answer = passport.call(os.getpid, (), {})
    assert isinstance(answer, WorkerRefusal)
    assert f"joined late cannot be used: soxr {found['soxr']} (here 9)" in str(answer.error)
    assert Passport(tuple(found.items()), ()).call(os.getpid, (), {}) == os.getpid()


@pytest.mark.skipif(not Path("/proc/self/cwd").exists(), reason="needs a path private to a process")
def test_folder_that_workers_do_not_share_is_refused(
    cluster: OwnCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with engine(cluster.address) as it:
        it.share(tmp_path)
        with pytest.raises(SegueError, match=r"do not share /proc/self/cwd: .*No such file"):
            it.share(Path("/proc/self/cwd"))
    assert not list(tmp_path.iterdir())


def test_scheduler_that_does_not_answer_is_refused(
    new_cluster: Callable[..., OwnCluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipelines.engines.cluster, "CONNECT_S", 0.5)
    monkeypatch.setattr(pipelines.engines.cluster, "GRACE_S", 0.2)
    with socket.socket() as deaf:
        deaf.bind(("127.0.0.1", 0))
        address = f"dask://127.0.0.1:{deaf.getsockname()[1]}"
        with pytest.raises(SegueError, match="no Dask scheduler responds"), engine(address):
            pass
        deaf.listen()  # it connects, and then says nothing
        with pytest.raises(SegueError, match="no Dask scheduler responds"), engine(address):
            pass


def test_cluster_without_workers_is_not_waited_for_endlessly(
    new_cluster: Callable[..., OwnCluster], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipelines.engines.cluster, "POLL_S", 0.1)
    monkeypatch.setattr(pipelines.engines.cluster, "WORKERLESS_S", 0.3)
    with (
        pytest.raises(SegueError, match="has had no worker"),
        engine(new_cluster(0).address),
    ):
        pass


def count_queued(client: Any) -> int:
    """Calls that the scheduler or a worker has still to begin."""
    known = client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))
    ready = client.run(lambda dask_worker: len(dask_worker.state.ready))
    return int(known + sum(ready.values()))


def test_cancelled_calls_are_not_begun(cluster: OwnCluster, tmp_path: Path) -> None:
    gate, marks = tmp_path / "gate", tmp_path / "marks"
    marks.mkdir()
    with engine(cluster.address) as it:
        calls = [it.submit(meet, str(marks / str(number)), str(gate)) for number in range(6)]
        assert wait_for(lambda: len(list(marks.iterdir())) > 1)
        it.cancel()
        with cluster.client() as client:
            assert wait_for(lambda: not count_queued(client))
        gate.touch()
        for call in calls:
            with pytest.raises(SegueError, match="given up"):
                call.result()
        with pytest.raises(SegueError, match="given up"):
            it.submit(os.getpid).result()
    with engine(cluster.address) as it:
        list(run_in_order(it, divmod, range(1, 5), 2))  # after all that had been queued
    assert len(list(marks.iterdir())) == 2


def test_workers_read_files_as_here(cluster: OwnCluster, tmp_path: Path, tiny: Tiny) -> None:
    """Decoders start below a nanny, too."""
    spec = tiny(source=bells_and_drums(tmp_path / "lib"), splits={"train": 1.0})
    (tmp_path / "lib" / "bell" / "b.wav").write_bytes(b"no sound")
    with engine(cluster.address) as it:
        build(spec, tmp_path / "there", it)
    build(spec, tmp_path / "here", 0)
    assert product(tmp_path / "there") == product(tmp_path / "here")


def test_worker_that_sees_other_files_is_an_error(
    cluster: OwnCluster, tmp_path: Path, tiny: Tiny, monkeypatch: pytest.MonkeyPatch
) -> None:
    bells_and_drums(tmp_path / "lib")
    monkeypatch.chdir(tmp_path)
    source = {"folder": {"root": "/proc/self/cwd/lib", "licence": "CC0-1.0"}}
    with (
        engine(cluster.address) as it,
        pytest.raises(SegueError, match="a worker sees different files of source folder"),
    ):
        build(tiny(source=source, splits={"train": 1.0}), tmp_path / "out", it)


def test_a_worker_keeps_nothing_of_a_build(cluster: OwnCluster, tmp_path: Path, tiny: Tiny) -> None:
    source = bells_and_drums(tmp_path / "lib")
    for licence in ("CC0-1.0", "CC-BY-4.0"):
        source["folder"]["licence"] = licence
        spec = tiny(version="v1", source=source, splits={"train": 1.0})
        for folder in ("data_manifests", "shards"):  # the version is another spec's
            shutil.rmtree(tmp_path / "there" / folder, ignore_errors=True)
        with engine(cluster.address) as it:
            build(spec, tmp_path / "there", it)
    build(spec, tmp_path / "here", 0)
    shards = [sorted((tmp_path / where / "shards").rglob("*.tar")) for where in ("here", "there")]
    assert [path.read_bytes() for path in shards[0]] == [path.read_bytes() for path in shards[1]]


def test_ctrl_c_waits_until_a_process_has_started_whichever_thread_takes_it() -> None:
    ended, steps = threading.Event(), []

    def start() -> None:
        with starting_process():
            os.kill(os.getpid(), signal.SIGINT)
            assert wait_for(lambda: signal.SIGINT not in signal.sigpending())
            steps.append("started")

    threading.Thread(target=ended.wait).start()
    try:
        with pytest.raises(KeyboardInterrupt):
            start()
    finally:
        ended.set()
    assert steps == ["started"]
