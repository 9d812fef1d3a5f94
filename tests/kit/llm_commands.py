"""`segue llm run` in processes that can be killed: forks of one that has imported it."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import typer

from pipelines.cli.app import present
from pipelines.engines.executor import PRELOADED
from tests.kit.llm_server import LlmServer
from tests.kit.llm_tasks import KEY_VARIABLE, PRICES
from tests.kit.waiting import PATIENCE_S

_CONTEXT = multiprocessing.get_context("forkserver")
_CONTEXT.set_forkserver_preload(["pipelines.cli.texts.llm", "pipelines.llm.batches", *PRELOADED])


def start(
    folder: Path,
    server: LlmServer,
    task: str,
    source: Path,
    *more: str,
    out: str = "out",
    patch: str = "",
) -> Command:
    """`segue llm run` with its files in one folder; `patch` is that of `Command`."""
    (folder / "prices.yaml").write_text(PRICES)
    given = {
        "--out": folder / f"{out}.parquet",
        "--model": "tiny",
        "--base-url": server.base_url,
        "--key-variable": KEY_VARIABLE,
        "--budget": "10",
        "--prices": folder / "prices.yaml",
        "--store": folder / "store.sqlite",
        **({"--poll": "0.02"} if "--batch" in more else {}),
    }
    options = [str(part) for pair in given.items() for part in pair]
    printed = Path(tempfile.mkdtemp(dir=folder))
    return Command(printed, [task, str(source), *options, "--json", *more], patch)


class Command:
    """A process that runs the command.

    Args:
        folder: Where what it prints is kept; another for every process.
        arguments: The command's.
        patch: Python by which it dies; see `_run`.
    """

    def __init__(self, folder: Path, arguments: list[str], patch: str = "") -> None:
        self._printed = folder / "stdout", folder / "stderr"
        given = (arguments, patch, dict(os.environ), self._printed)
        self._process = _CONTEXT.Process(target=_run, args=given)
        self._process.start()

    def send_signal(self, number: int) -> None:
        assert self._process.pid is not None
        os.kill(self._process.pid, number)

    def end(self) -> tuple[int | None, str, str]:
        """Its exit status, and what it printed, when it has ended."""
        self._process.join(PATIENCE_S)
        out, err = (path.read_text() for path in self._printed)
        return self._process.exitcode, out, err


def _run(arguments: list[str], patch: str, env: dict[str, str], printed: tuple[Path, Path]) -> None:
    if hasattr(signal, "pthread_sigmask"):
        # What it is a fork of may have been started for another test's decoders, deaf to Ctrl-C.
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    from pipelines.cli.texts import llm
    from pipelines.llm import batches, runner
    from pipelines.llm.money.ledger import Ledger

    for number, path in enumerate(printed, 1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT), number)
    os.environ.update(env)
    sys.argv = ["segue", *arguments]
    exec(patch, {"dies": _dies, "runner": runner, "batches": batches, "Ledger": Ledger})
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(present(llm.llm_run_command))
    app()


def _dies(function: Callable[..., Any], after: int) -> Callable[..., Any]:
    """The function, by which the process dies when it was called so many times."""
    left = [after]

    def dying(*args: Any, **kwargs: Any) -> Any:
        left[0] -= 1
        if left[0] < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return function(*args, **kwargs)

    return dying
