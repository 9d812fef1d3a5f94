"""One turn of a contender: speeds, waiting for data and memory, in a fresh process."""

from __future__ import annotations

import gc
import os
import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final, Protocol

import torch
from torch import Tensor
from transformers.utils.logging import disable_progress_bar

from benchmarks.core.turn import MIB, Done, Job, Stopwatch, Work, peak_mib
from benchmarks.trainer.peer import Peer
from benchmarks.trainer.segue import Segue
from benchmarks.trainer.setting import SEED, WARM_STEPS, Setup
from train.config.loss import HardNegatives, InfoNce
from train.config.run import AudioMode
from train.engine.log import Meter


class StepContender(Protocol):
    """Learns from a corpus."""

    parameters: int
    texts: int

    def feed(self) -> Iterator[Any]:
        """Batches as they come from the corpus."""

    def learn(self, batch: Any) -> float | Tensor:
        """One whole step; gives the loss."""

    def held(self) -> Callable[[], float | Tensor]:
        """One whole step on a batch whose features and texts are on the device already."""


LEARNERS: Final[dict[str, Callable[[Setup], StepContender]]] = {
    "segue, info_nce, shards": lambda setup: Segue(setup, AudioMode.SHARDS, InfoNce()),
    "segue, info_nce, virtual": lambda setup: Segue(setup, AudioMode.VIRTUAL, InfoNce()),
    "segue, hard_negatives, shards": lambda setup: Segue(setup, AudioMode.SHARDS, HardNegatives()),
    "open_clip step, log-mel on the device": lambda setup: Peer(setup, on_device=True),
    "open_clip step, log-mel in the DataLoader": lambda setup: Peer(setup, on_device=False),
}


def prepare(job: Job) -> Work:
    disable_progress_bar()
    setup = Setup(**job["setup"])
    # A core to each worker: threads that wait for a core that is taken take seconds a step.
    cores = os.cpu_count() or 1
    torch.set_num_threads(max(cores - setup.workers, 1) if setup.device == "cpu" else cores)
    torch.manual_seed(SEED)
    learner = LEARNERS[job["learner"]](setup)

    def work(watch: Stopwatch) -> Done:
        facts = _learn_all(learner, setup, watch)
        gc.collect()  # ends the workers of the feed
        facts["step_samples_per_s"] = _repeat_step(learner, setup)
        facts |= {"texts": learner.texts, "parameters": learner.parameters}
        return Done(setup.steps * setup.batch, facts=facts)

    return work


def _learn_all(learner: StepContender, setup: Setup, watch: Stopwatch) -> dict[str, Any]:
    """Learn from the corpus; clocks run in a steady state, `prefetch` batches made ahead."""
    batches = learner.feed()
    losses = [learner.learn(batch) for batch in islice(batches, setup.warm)]
    _wait_for(setup.device)
    meter = Meter()
    with watch:
        for batch in islice(meter.time_waits(batches), setup.steps):
            losses.append(learner.learn(batch))
            meter.samples += setup.batch
        _wait_for(setup.device)
    rates = {"samples_per_s": meter.samples_per_s, "data_wait": meter.data_wait}
    on_gpu = setup.device.startswith("cuda")
    # Of tensors on a GPU, else of this process; workers are not counted.
    most = torch.cuda.max_memory_allocated(setup.device) / MIB if on_gpu else peak_mib()
    return {**rates, "peak_mib": most, "losses": [float(loss) for loss in losses]}


def _repeat_step(learner: StepContender, setup: Setup) -> float:
    """Samples a second where data are on the device."""
    step = learner.held()
    for _ in range(WARM_STEPS):
        step()
    _wait_for(setup.device)
    begun = time.perf_counter()
    for _ in range(setup.steps):
        step()
    _wait_for(setup.device)
    return setup.steps * setup.batch / (time.perf_counter() - begun)


def _wait_for(device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)
