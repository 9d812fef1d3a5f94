"""A Dask cluster as an engine: plain functions on workers that somebody else started.

Before a worker is given work it must hold what this process holds: the same Python, libraries and
code, and the folder that is built in. Dask gives the calls of a worker that dies to another one.
"""

from __future__ import annotations

import hashlib
import itertools
import logging
import multiprocessing
import os
import platform
import secrets
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from time import monotonic
from typing import Any, Final, ParamSpec, TypeVar

import soundfile

import pipelines
import synth
from pipelines.engines.engine import Call, GivenUpError, OverdueError, settle
from synth.base.errors import SegueError

P = ParamSpec("P")
T = TypeVar("T")

CONNECT_S: Final = 8.0
GRACE_S: Final = 1.0
POLL_S: Final = 5.0
WORKERLESS_S: Final = 120.0
CALLS_PER_CORE: Final = 2
"""Calls under way for each core, so that no worker waits and a cluster that can grow does."""
LEAST_CALLS: Final = 8
MAX_THREADS: Final = 1024
LAST_WORDS_S: Final = 0.5
PROBE: Final = ".probe"


@contextmanager
def cluster(address: str) -> Iterator[Cluster]:
    """The engine of the cluster whose scheduler is at `address`."""
    try:
        distributed: Any = import_module("distributed")
    except ImportError as error:
        raise SegueError(
            f"{address}: distributed, the client of Dask, is not installed",
            fix="pip install 'segue-audio[distributed]'",
        ) from error
    with _silence():
        opened = Cluster(distributed, _connect(distributed, address), address)
        try:
            opened.examine()
            yield opened
        finally:
            opened.close()


def _connect(distributed: Any, address: str) -> Any:
    """A client of the scheduler; its own time limit does not hold where the scheduler is silent."""
    answer: Future[Any] = Future()
    connect = partial(distributed.Client, address, timeout=CONNECT_S, set_as_default=False)
    threading.Thread(target=settle, args=(answer, connect), daemon=True).start()
    try:
        return answer.result(CONNECT_S + GRACE_S)
    except Exception as error:
        raise SegueError(
            f"no Dask scheduler responds at {address}",
            fix="start one with `dask scheduler`, or fix the address; see docs/clusters.md",
        ) from error


class Cluster:
    """A `RemoteEngine`: its width follows the workers as they come and go.

    A call waits for its answer in a thread of this process; a worker works after it has shown its
    passport.
    """

    def __init__(self, distributed: Any, client: Any, address: str) -> None:
        self.cancelled = threading.Event()
        self._distributed = distributed
        self._client = client
        self._address = address
        self._numbers = itertools.count()
        self._lock = threading.Lock()
        self._waiting: set[Any] = set()
        self._threads = ThreadPoolExecutor(MAX_THREADS)
        self._passport = Passport(tuple(facts().items()), ())

    @property
    def width(self) -> int:
        """Calls worth having under way at once now."""
        return max(LEAST_CALLS, CALLS_PER_CORE * self.cores())

    def submit(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        """Begin a call; one with a limit has it from when a worker begins."""
        return self._threads.submit(self._call, function, args, kwargs)

    def _call(self, function: Any, args: Any, kwargs: Any) -> Any:
        label = function.label if isinstance(function, Call) else function.__name__
        future = self._send(function, args, kwargs, label)
        try:
            answer = self._answer(future, label)
        finally:
            with self._lock:
                self._waiting.discard(future)
            future.release()
        if isinstance(answer, WorkerRefusal):
            if answer.worker:  # its nanny starts another one
                with suppress(Exception):  # it may have gone by itself
                    self._client.run(end_soon, workers=[answer.worker])
            raise answer.error
        return answer

    def examine(self) -> None:
        """Compare every worker's Python, libraries and code with this process's own."""
        if not self.cores():
            self._call(facts, (), {})  # a cluster that grows on demand is shown one
        self._ask_everybody(
            "would produce different output",
            "install the same versions there, in one environment or container image, and restart "
            "the workers",
        )

    def share(self, folder: Path, holder: str = "") -> None:
        """Have every worker, present and to come, prove that it reads and writes `folder`."""
        folder.mkdir(parents=True, exist_ok=True)
        token = secrets.token_hex(16)
        if holder:
            _remove(folder.glob(f"{PROBE}.{holder}.*"))
        probe = folder / f"{PROBE}.{holder}.{token}"
        probe.write_text(token)
        probes = (*self._passport.probes, (probe, token))
        self._passport = replace(self._passport, probes=probes)
        self._ask_everybody(
            f"do not share {folder}", "build in a folder that all workers mount at the same path"
        )

    def cores(self) -> int:
        """Threads of all workers now; 0 also where the scheduler does not answer."""
        try:
            return sum(self._client.nthreads().values())
        except (OSError, TimeoutError, CancelledError, AttributeError):
            return 0

    def cancel(self) -> None:
        """Give up all calls; a worker ends the one that it is at, and starts no other."""
        with self._lock:
            self.cancelled.set()
            waiting = list(self._waiting)
        with suppress(Exception):  # the scheduler may be gone, and with it what was queued
            self._client.cancel(waiting, force=True)

    def close(self) -> None:
        """Give up what is still under way, and leave nothing behind."""
        self.cancel()
        with suppress(Exception):
            self._client.close(timeout=CONNECT_S)
        self._threads.shutdown()
        for probe, _ in self._passport.probes:
            _remove(probe.parent.glob(f"{probe.name}*"))  # with the replies of killed workers

    def _send(self, function: Any, args: Any, kwargs: Any, label: str) -> Any:
        plain = function.function if isinstance(function, Call) else function
        key = f"{plain.__name__}-{self._client.id}-{next(self._numbers)}"
        with self._lock:
            if self.cancelled.is_set() or self._client.status != "running":
                raise self._explain_loss(label)
            call = self._passport.call
            future = self._client.submit(call, function, args, kwargs, key=key, pure=False)
            self._waiting.add(future)
        return future

    def _answer(self, future: Any, about: str) -> Any:
        workerless = 0.0
        try:
            while True:
                ended = future.done()
                try:
                    if not ended:  # a limit of `result` may cut off the fetching of an answer
                        future.exception(POLL_S)
                    return future.result()
                except TimeoutError:
                    if ended:  # the function itself raised it
                        raise
                workerless = 0.0 if self.cores() else workerless + POLL_S
                if workerless >= WORKERLESS_S:
                    raise SegueError(
                        f"{self._address} has had no worker for {workerless:g} s",
                        fix="start workers, then run the same command again; "
                        "finished shards are kept",
                    )
        except self._distributed.KilledWorker as error:
            raise SegueError(
                f"{about}: {error.allowed_failures + 1} workers died while rendering it",
                fix="see the workers' logs, give them more memory, then run the same command "
                "again; finished shards are kept",
            ) from error
        except (CancelledError, self._distributed.comm.CommClosedError) as error:
            raise self._explain_loss(about) from error

    def _explain_loss(self, about: str) -> SegueError:
        if self.cancelled.is_set():
            return GivenUpError(f"{about}: given up")
        return SegueError(
            f"the Dask scheduler at {self._address} was lost",
            fix="run the same command again, with any engine; finished shards are kept",
        )

    def _ask_everybody(self, refusal: str, fix: str) -> None:
        """Check that every worker may work under the passport."""
        try:
            replies = self._client.run(find_fault, self._passport, on_error="return")
        except (OSError, CancelledError) as error:
            raise self._explain_loss(find_fault.__name__) from error
        # A worker that went away meanwhile is no matter; one that comes is asked by its first call.
        answers = {
            worker: reply
            for worker, reply in replies.items()
            if reply and not isinstance(reply, OSError)
        }
        if failed := {worker: str(e) for worker, e in answers.items() if isinstance(e, Exception)}:
            raise SegueError(
                f"{self._address}: these workers cannot run Segue: {_list_reasons(failed)}",
                fix="install segue there: one environment, or one container image",
            )
        if answers:
            reasons = _list_reasons(answers)
            raise SegueError(f"{self._address}: workers {refusal}: {reasons}", fix=fix)


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        path.unlink(missing_ok=True)


def _list_reasons(reasons: Mapping[str, str]) -> str:
    """Reasons, each with the workers it holds for; of many workers the first is named."""
    by_reason: dict[str, list[str]] = {}
    for worker, reason in sorted(reasons.items()):
        by_reason.setdefault(reason, []).append(worker)
    return "; ".join(
        f"{who[0]}{f' and {len(who) - 1} more' if len(who) > 1 else ''}: {reason}"
        for reason, who in by_reason.items()
    )


@contextmanager
def _silence() -> Iterator[None]:
    """What Dask logs and warns of is told here in one clear error."""
    loggers = [logging.getLogger(name) for name in ("distributed", "distributed.client")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module=r"distributed(\..*)?")
            yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


# What a worker must show before it works: the client's own versions and code, and its folders.


PACKAGE: Final = "segue-audio"
LIBRARIES: Final = ("numpy", "soundfile", "soxr", "librosa", "pyarrow")
FURTHER: Final = ("scipy", "pyloudnorm", "dask", "distributed")
CODE_LETTERS: Final = 12


@dataclass(frozen=True, slots=True)
class WorkerRefusal:
    """A clear error as a worker's answer: trying again would not fix it.

    Args:
        worker: Where a call is overdue and to be ended, Dask's address; else empty.
    """

    error: SegueError
    worker: str = ""


@dataclass(frozen=True, slots=True)
class Passport:
    """What a worker must agree with.

    Args:
        probes: Files that the client wrote, and what is in each.
    """

    facts: tuple[tuple[str, str], ...]
    probes: tuple[tuple[Path, str], ...]

    def call(
        self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """On a worker: the function's result, or a refusal."""
        # A nanny's worker may by default start no process. Ours end with their parent.
        multiprocessing.current_process().daemon = False
        try:
            if refused := find_fault(self):
                raise SegueError(
                    f"a worker that joined late cannot be used: {refused}",
                    fix="give it the same environment and folders as the others, then run "
                    "the same command again; finished shards are kept",
                )
            if isinstance(function, Call):
                return _call_in_time(function, args, kwargs)
            return function(*args, **kwargs)
        except OverdueError as error:
            return WorkerRefusal(error, import_module("distributed").get_worker().address)
        except SegueError as error:
            return WorkerRefusal(error)


def _call_in_time(call: Call[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call in a thread of its own: a nanny's worker is in one itself, where no alarm rings."""
    outcome: Future[Any] = Future()
    deadline = monotonic() + call.limit_s
    work = partial(settle, outcome, partial(call.function, *args, **kwargs))
    threading.Thread(target=work, daemon=True).start()
    while not outcome.done() and (rest_s := deadline - monotonic()) > 0:
        wait([outcome], rest_s)
    if not outcome.done():
        raise call.overdue
    return outcome.result()


def end_soon() -> None:
    """End this process, and with it an overdue call, once it has answered."""
    timer = threading.Timer(LAST_WORDS_S, os._exit, (1,))
    timer.daemon = True
    timer.start()


def find_fault(passport: Passport) -> str:
    """Why this process may not work under a passport; empty if it may."""
    try:
        _verify(passport)
    except SegueError as error:
        return error.message
    return ""


@lru_cache(maxsize=8)
def _verify(passport: Passport) -> None:
    if different := differences(dict(passport.facts), facts()):
        raise SegueError(different)
    for path, content in passport.probes:
        reply = path.with_name(f"{path.name}-{platform.node()}-{os.getpid()}")
        try:
            if path.read_text() != content:
                raise SegueError(f"{path} is a different file there")
            reply.write_text(content)
            reply.unlink(missing_ok=True)
        except OSError as error:
            raise SegueError(f"{type(error).__name__}: {error}") from error


@lru_cache(maxsize=1)
def facts() -> dict[str, str]:
    """Everything that could change a byte: Python, processor family, libraries, our own code."""
    return {
        "python": platform.python_version(),
        "machine": platform.machine(),
        **{name: _version(name) for name in FURTHER},
        **library_versions(),
        PACKAGE: _version(PACKAGE),
        "code": _code(),
    }


def differences(expected: Mapping[str, str], actual: Mapping[str, str]) -> str:
    """What differs, in words; empty if nothing does."""
    return ", ".join(
        f"{name} {actual.get(name, 'missing')} (here {expected.get(name, 'missing')})"
        for name in sorted(expected.keys() | actual.keys())
        if expected.get(name) != actual.get(name)
    )


@lru_cache(maxsize=1)
def library_versions() -> dict[str, str]:
    """Versions of the libraries that make the bytes, read from files once a process."""
    versions = {name: version(name) for name in LIBRARIES}
    return versions | {"libsndfile": soundfile.__libsndfile_version__}


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "missing"


def _code() -> str:
    """Digest of our packages' source: two checkouts may bear one version."""
    digest = hashlib.sha256()
    for package in (synth, pipelines):
        root = Path(package.__path__[0])
        for path in sorted(root.rglob("*.py")):
            digest.update(f"{package.__name__}/{path.relative_to(root).as_posix()}\n".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:CODE_LETTERS]
