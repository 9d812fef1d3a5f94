"""torchrun whose ranks are forks of it: `forked_ranks.py FILE`, a JSON list of (command, dies).

Each command is torchrun's own: it is read by torchrun, and its agent brings the ranks together,
watches and ends them. The ranks run Segue's command line, which is imported here, once. Where
`dies` names a run's log, its ranks kill themselves when some of it is written.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path

import pandas  # noqa: F401  # as pyarrow does for the rows of a corpus
import torch
import torch._dynamo  # as the first optimizer does
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.launcher.api import elastic_launch
from torch.distributed.run import config_from_args, parse_args

import train.bench.evaluate
import train.engine.loop  # noqa: F401
from pipelines.cli.app import main as segue
from tests.kit.waiting import wait_for

LINES = 9


def torchrun(command: list[str], dies: str | None) -> None:
    config, program, arguments = config_from_args(parse_args(command))
    assert program == "segue"
    config.start_method = "fork"
    try:
        elastic_launch(config, run_rank)(arguments, dies)
    except ChildFailedError:
        assert dies is not None
    else:
        assert dies is None, "the run ended before it could be killed"


def run_rank(arguments: list[str], dies: str | None) -> None:
    torch.set_num_threads(1)
    if dies is not None:
        threading.Thread(target=die, args=(Path(dies),), daemon=True).start()
    sys.argv = ["segue", *arguments]
    try:
        segue()
    except SystemExit as end:
        if end.code:
            raise RuntimeError(f"exit status {end.code}") from end


def die(log: Path) -> None:
    assert wait_for(lambda: log.is_file() and len(log.read_text().splitlines()) > LINES)
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    for each in json.loads(Path(sys.argv[1]).read_text()):
        torchrun(*each)
