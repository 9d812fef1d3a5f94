"""Where plain functions run: in this process, or in a pool of worker processes.

Workers import no Prefect, leave Ctrl-C to the parent and die with it. On Linux they are forks of
one small process that has imported what they need, and nothing else: seconds of imports are paid
once, not by every worker. Elsewhere they are spawned.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final, ParamSpec, Protocol, TypeVar, runtime_checkable

from synth.base.errors import MachineError, SegueError

P = ParamSpec("P")
T = TypeVar("T")

PARENT_POLL_S = 1.0
FEWER_PROCESSES: Final = (
    "end other programs, raise the limit of processes (ulimit -u), or use fewer --workers, then "
    "run the same command again; finished work is kept"
)

PRELOADED: Final = ("pipelines.builder.render", "pipelines.ingest.decoding", "pandas", "pyloudnorm")
"""What processes share on Linux. None of it starts a thread of Python's; OpenBLAS and jemalloc end
theirs as they are forked. Most is SciPy, behind the meter, and pandas, behind Arrow.
"""


class Runner(Protocol):
    """Runs a picklable function somewhere and returns its result."""

    def __call__(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """The function's result; what it raises is raised here."""
        ...


@runtime_checkable
class RemoteRunner(Runner, Protocol):
    """Runs functions on other machines, which must see the files that this one sees."""

    def share(self, folder: Path, holder: str = "") -> None:
        """Have every worker, present and to come, prove that it reads and writes `folder`.

        Args:
            folder: Is made if it is not there.
            holder: Name under which one process at a time does this; what a killed one left there
                is removed.
        """
        ...


@cache
def make_context() -> Any:
    """How processes are started; on Linux the one that they are forks of is told its imports."""
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(PRELOADED))
    return context


@contextmanager
def workers(count: int) -> Iterator[Runner]:
    """A runner over `count` worker processes; 0 runs everything in this process.

    The runner may be called from several threads at once; each call waits for its own result.
    """
    script = sys.modules.get("__mp_main__")
    if script is not None and script is not sys.modules["__main__"]:  # it is being run
        raise SegueError("a script started its work again in a child process")
    if count == 0:
        yield _run_here
        return
    # What they are forks of may be older than a variable.
    given = (dict(os.environ),)
    pool = ProcessPoolExecutor(count, make_context(), _start_worker, given)
    try:
        yield _PoolRunner(pool)
    finally:
        _end(pool)


def is_here(run: Runner) -> bool:
    """Whether a runner runs everything in this process."""
    return run is _run_here


def _run_here(function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
    return function(*args, **kwargs)


class _PoolRunner:
    def __init__(self, pool: Executor) -> None:
        self._pool = pool
        self._lock = threading.Lock()
        self._unstarted: MachineError | None = None

    def __call__(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return self._submit(function, *args, **kwargs).result()
        except BrokenProcessPool as error:
            raise MachineError(
                "a worker process was killed",
                fix=suggest_guard()
                or "free some memory or use fewer --workers, then run the same command again; "
                "finished shards are kept",
            ) from error

    def _submit(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> Future[T]:
        # Nothing answers for a pool that could not start, so no call may wait for it.
        with self._lock, hold_interrupts():
            if self._unstarted is not None:
                raise self._unstarted
            try:
                return self._pool.submit(function, *args, **kwargs)
            except BrokenProcessPool:
                raise
            except (RuntimeError, OSError, EOFError) as error:
                self._unstarted = MachineError(
                    f"a worker process could not be started: {error}", fix=FEWER_PROCESSES
                )
                raise self._unstarted from error


def _end(pool: Executor) -> None:
    """Shut a pool down; the workers of one that did not start are ended: none is to wait for it."""
    try:
        pool.shutdown(wait=True, cancel_futures=True)
    except RuntimeError:
        for child in multiprocessing.active_children():
            if not child.daemon:
                child.kill()


def suggest_guard() -> str:
    """What to do where a process failed that the script which is run now keeps from starting.

    A new process runs the script once more, to know what it defines: an unguarded one begins its
    work again there. Returns "" where the script says `__main__`, or where there is none.
    """
    script = getattr(sys.modules["__main__"], "__file__", None)
    try:
        text = Path(script).read_text("utf-8", errors="replace") if script else "__main__"
    except OSError:
        return ""
    if "__main__" in text:
        return ""
    return (
        f"{script} is run again by every process that it starts: put its work under "
        '`if __name__ == "__main__":`'
    )


@contextmanager
def hold_interrupts() -> Iterator[None]:
    """Ctrl-C waits; a worker started meanwhile inherits this until it can ignore it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _start_worker(environment: Mapping[str, str]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.clear()
    os.environ.update(environment)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    os._exit(1)


def watch_parent(parent: int) -> None:
    """End this process within a second or two of its parent's end, however that came."""
    threading.Thread(target=_exit_with, args=(parent,), daemon=True).start()


def _exit_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(PARENT_POLL_S)
    os._exit(1)
