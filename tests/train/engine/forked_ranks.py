"""A run of two processes that are killed, and resumed: `forked_ranks.py CONFIG PORT`.

The processes are forks of this one, which has imported what they need.
"""

from __future__ import annotations

import os
import signal
import sys
import traceback
from pathlib import Path

import torch
from waiting import wait_for

from train.config.run import TrainConfig
from train.engine.loop import train

RANKS = 2
LINES = 9
"""So many lines of the log, and the processes are killed."""


def start(config: TrainConfig, port: str, resume: bool) -> list[int]:
    return [_fork(config, port, resume, rank) for rank in range(RANKS)]


def _fork(config: TrainConfig, port: str, resume: bool, rank: int) -> int:
    child = os.fork()
    if child:
        return child
    status = 1
    try:
        os.environ |= {
            **{"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(RANKS)},
            **{"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port},
        }
        train(config, resume=resume)
        status = 0
    except BaseException:
        traceback.print_exc()
    finally:
        os._exit(status)


def main(file: Path, ports: list[str]) -> None:
    torch.set_num_threads(1)
    config = TrainConfig.model_validate_json(file.read_text())
    log = config.out / "log.jsonl"
    processes = start(config, ports[0], resume=False)
    assert wait_for(lambda: log.is_file() and len(log.read_text().splitlines()) > LINES)
    for process in processes:
        os.kill(process, signal.SIGKILL)
    ended = [os.waitpid(process, 0)[1] for process in processes]
    assert ended == [signal.SIGKILL] * RANKS, "the run ended before it could be killed"
    processes = start(config, ports[1], resume=True)
    assert [os.waitpid(process, 0)[1] for process in processes] == [0] * RANKS


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
