"""What is measured of a contender: speeds, waiting for data and memory."""

from __future__ import annotations

import os
import platform
import resource
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final, Protocol

import torch
from torch import Tensor, nn

from benchmarks.trainer.setting import WARM_STEPS, Setup
from train.engine.log import Meter

MIB: Final = 2**20


@dataclass(frozen=True, slots=True)
class Turn:
    """What one turn of one contender gave."""

    contender: str
    repeat: int
    step_samples_per_s: float
    samples_per_s: float
    data_wait: float
    peak_mib: float
    texts: int
    parameters: int
    losses: list[float]


class Contender(Protocol):
    """Learns from a corpus."""

    parameters: int
    texts: int

    def feed(self) -> Iterator[Any]:
        """Batches as they come from the corpus."""

    def learn(self, batch: Any) -> float | Tensor:
        """One whole step; gives the loss."""

    def held(self) -> Callable[[], float | Tensor]:
        """One whole step on a batch whose features and texts are on the device already."""


def learning(model: nn.Module) -> int:
    """Number of parameters that learn."""
    return sum(one.numel() for one in model.parameters() if one.requires_grad)


def wait_for(device: str) -> None:
    """Wait until the device has done all it was given."""
    if device.startswith("cuda"):
        torch.cuda.synchronize(device)


def peak_mib(device: str) -> float:
    """Most memory so far: of tensors on a GPU, else of this process (workers not counted)."""
    if device.startswith("cuda"):
        return torch.cuda.max_memory_allocated(device) / MIB
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (MIB if sys.platform == "darwin" else 1024)


def end_to_end(contender: Contender, setup: Setup) -> tuple[float, float, list[float]]:
    """Learn from the corpus; samples a second, share of time waiting for data, and the losses."""
    batches = contender.feed()
    losses = [contender.learn(batch) for batch in islice(batches, setup.warm)]
    wait_for(setup.device)
    meter = Meter()
    for batch in islice(meter.time_waits(batches), setup.steps):
        losses.append(contender.learn(batch))
        meter.samples += setup.batch
    wait_for(setup.device)
    rate, wait = meter.samples_per_s, meter.data_wait
    return rate, wait, [float(loss) for loss in losses]


def step_only(contender: Contender, setup: Setup) -> float:
    """Samples a second where data are on the device."""
    step = contender.held()
    for _ in range(WARM_STEPS):
        step()
    wait_for(setup.device)
    begun = time.perf_counter()
    for _ in range(setup.steps):
        step()
    wait_for(setup.device)
    return setup.steps * setup.batch / (time.perf_counter() - begun)


def device_name(device: str) -> str:
    """The card's name, or the processor's."""
    if device.startswith("cuda"):
        return torch.cuda.get_device_name(device)
    facts = Path("/proc/cpuinfo")
    lines = facts.read_text(encoding="utf-8").splitlines() if facts.is_file() else []
    names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    found = names[0] if names else platform.processor() or platform.machine()
    return f"{found}, {os.cpu_count()} cores"
