"""Who contends, and in which order: turn by turn, each in a process of its own."""

from __future__ import annotations

import gc
import multiprocessing
import os
import sys
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from typing import Any, Final, TypeVar

import torch

from benchmarks.trainer.measure import Contender, Turn, end_to_end, peak_mib, step_only
from benchmarks.trainer.ours import Ours
from benchmarks.trainer.peer import Peer
from benchmarks.trainer.setting import SEED, Setup
from train.config.loss import HardNegatives, InfoNce
from train.config.run import AudioMode

Result = TypeVar("Result")
CONTENDERS: Final[dict[str, Callable[[Setup], Contender]]] = {
    "segue, info_nce, shards": lambda setup: Ours(setup, AudioMode.SHARDS, InfoNce()),
    "segue, info_nce, virtual": lambda setup: Ours(setup, AudioMode.VIRTUAL, InfoNce()),
    "segue, hard_negatives, shards": lambda setup: Ours(setup, AudioMode.SHARDS, HardNegatives()),
    "open_clip step, log-mel on the device": lambda setup: Peer(setup, on_device=True),
    "open_clip step, log-mel in the DataLoader": lambda setup: Peer(setup, on_device=False),
}
PEERS: Final = tuple(name for name in CONTENDERS if name.startswith("open_clip"))


def take_turn(name: str, repeat: int, setup: Setup) -> Turn:
    """One turn of one contender, in a fresh process."""
    if setup.device == "cpu":
        # A core to each worker: threads that wait for a core that is taken take seconds a step.
        torch.set_num_threads(max((os.cpu_count() or 1) - setup.workers, 1))
    torch.manual_seed(SEED)
    contender = CONTENDERS[name](setup)
    rate, wait, losses = end_to_end(contender, setup)
    peak = peak_mib(setup.device)
    gc.collect()  # ends the workers of the feed
    step = step_only(contender, setup)
    return Turn(name, repeat, step, rate, wait, peak, contender.texts, contender.parameters, losses)


def apart(task: Callable[..., Result], *given: Any) -> Result:
    """What a task gives, run in a process of its own.

    It is forked from one that has imported everything and computed nothing, on no device: it starts
    at once, and what it holds at its peak is its own.
    """
    with ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as pool:
        return pool.submit(task, *given).result()


def take_turns(setup: Setup, repeats: int) -> list[Turn]:
    """All contenders in turn, each repeat beginning with another one."""
    names, turns = list(CONTENDERS), []
    for repeat in range(repeats):
        first = repeat % len(names)
        for name in names[first:] + names[:first]:
            turn = apart(take_turn, name, repeat, setup)
            turns.append(turn)
            shown = f"{turn.step_samples_per_s:.1f} | {turn.samples_per_s:.1f} samples/s"
            print(f"{repeat + 1}/{repeats} {name}: {shown}", file=sys.stderr)
    return turns
