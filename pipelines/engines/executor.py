"""Worker processes: how they are started, and how they end.

`python -m pipelines.engines.executor PARENT MODULE [WORD ...]` runs a module as `python -m` does,
in a process that ends when the one with the number PARENT does.

They import no Prefect, leave Ctrl-C to the parent and die with it. On Linux they are forks of
one small process that has imported what they need, and nothing else: seconds of imports are paid
once, not by every worker. Elsewhere they are spawned.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import runpy
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Final

PARENT_POLL_S = 1.0
FEWER_PROCESSES: Final = (
    "end other programs, raise the limit of processes (ulimit -u), or use fewer --workers, then "
    "run the same command again; finished work is kept"
)

PRELOADED: Final = ("pipelines.builder.render", "pipelines.ingest.decoding", "pandas", "pyloudnorm")
"""What processes share on Linux. None of it starts a thread of Python's; OpenBLAS and jemalloc end
theirs as they are forked. Most is SciPy, behind the meter, and pandas, behind Arrow.
"""


_MALLOC: Final = {-1: 1 << 27, -3: 1 << 25}
"""Of the GNU library, in bytes: M_TRIM_THRESHOLD, free memory that is kept, and M_MMAP_THRESHOLD,
the size from which on memory is given back at once."""

_ONE_AT_A_TIME: Final = threading.Lock()


@cache
def make_context() -> Any:
    """How processes are started; on Linux the one that they are forks of is told its imports."""
    if sys.platform != "linux":
        return multiprocessing.get_context("spawn")
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(PRELOADED))
    return context


def end_pool(pool: Executor) -> None:
    """Shut a pool down; the workers of one that did not start are ended: none is to wait for it."""
    try:
        pool.shutdown(wait=True, cancel_futures=True)
    except RuntimeError:
        for child in multiprocessing.active_children():
            if not child.daemon:
                child.kill()


@contextmanager
def starting_process() -> Iterator[None]:
    """What starts a process within it gets one that knows our modules, and runs nothing else.

    By itself it would run the script once more that this process runs, to know what it defines,
    and one that is not guarded by `__main__` would begin its work again. What workers are forks of
    would look for modules in the folder that it is started in, before all others: a `train.py`
    there is not ours.
    """
    places = os.pathsep.join(place or str(Path.cwd()) for place in sys.path)
    paths = {"PYTHONPATH": places, "PYTHONSAFEPATH": "1"}
    with _ONE_AT_A_TIME, hold_interrupts():
        main, before = sys.modules["__main__"], {name: os.environ.get(name) for name in paths}
        sys.modules["__main__"] = ModuleType("__main__")
        os.environ.update(paths)
        try:
            yield
        finally:
            sys.modules["__main__"] = main
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


@contextmanager
def hold_interrupts() -> Iterator[None]:
    """Ctrl-C waits; a worker started meanwhile inherits this until it can ignore it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    waiting: list[int] = []
    handler = signal.getsignal(signal.SIGINT)
    # Where another thread takes the signal, Python still runs the handler in the main one.
    replaced = callable(handler) and threading.current_thread() is threading.main_thread()
    if replaced:
        signal.signal(signal.SIGINT, lambda number, _: waiting.append(number))
    try:
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            yield
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
    finally:
        if replaced:
            signal.signal(signal.SIGINT, handler)
        if waiting:
            signal.raise_signal(signal.SIGINT)


def start_worker(environment: Mapping[str, str]) -> None:
    """What a worker process begins with."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.environ.clear()
    os.environ.update(environment)
    # Have the memory of one sound kept for the next; to take it anew is a third of the work.
    if mallopt := getattr(ctypes.CDLL(None), "mallopt", None) if sys.platform == "linux" else None:
        for option, most in _MALLOC.items():
            mallopt(option, most)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """End this process when the one that asked for it has ended, and what it leads."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
    if hasattr(os, "killpg") and os.getpgrp() == os.getpid():
        os.killpg(0, signal.SIGKILL)
    os._exit(1)


def watch_parent(parent: int) -> None:
    """End this process within a second or two of its parent's end, however that came."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(PARENT_POLL_S)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


if __name__ == "__main__":
    watch_parent(int(sys.argv[1]))
    del sys.argv[:2]  # its own name and PARENT; the module's name makes room for its path
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
