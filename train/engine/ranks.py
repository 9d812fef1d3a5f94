"""Several processes that train one model, as torchrun starts them."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

import torch
from jaxtyping import Float
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel

from synth.base.errors import SpecError
from train.model.device import torch_device

_RENDEZVOUS: Final = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT")
"""By which the processes that torchrun starts find each other; all or none of it is there."""
_LAUNCHERS: Final = ("SLURM_STEP_NUM_TASKS", "OMPI_COMM_WORLD_SIZE")
"""In which srun and mpirun say how many processes they started."""


@dataclass(frozen=True, slots=True)
class RankProcess:
    """This process among those of a run."""

    rank: int
    ranks: int
    device: torch.device

    @property
    def is_leader(self) -> bool:
        """Whether it is the process that writes files and shows progress."""
        return self.rank == 0

    def wrap(self, encoder: nn.Module) -> nn.Module:
        """The encoder, so that its gradients are averaged over the processes."""
        if self.ranks == 1:
            return encoder
        ids = [self.device] if self.device.type == "cuda" else None
        return DistributedDataParallel(encoder, device_ids=ids)

    def any(self, flag: bool) -> bool:
        """Whether the flag is up on any process."""
        if self.ranks == 1:
            return flag
        # Between processors: a GPU would first do all that it has been given.
        value = torch.tensor(int(flag))
        distributed.all_reduce(value, distributed.ReduceOp.MAX)
        return bool(value.item())

    def mean(self, values: Float[Tensor, " numbers"]) -> Float[Tensor, " numbers"]:
        """The mean of each number over the processes, in float64; its own if there is only one."""
        if self.ranks == 1:
            return values
        total = values.double()
        distributed.all_reduce(total)
        return total / self.ranks

    def sum(self, values: Float[Tensor, " numbers"]) -> Float[Tensor, " numbers"]:
        """The sum of float64 numbers over the processes, each number by itself, on the CPU."""
        if self.ranks == 1:
            return values.cpu()
        total = values.to(self.device)
        distributed.all_reduce(total)
        return total.cpu()

    def share_statistics(self, model: nn.Module) -> None:
        """Give the model the first process's statistics of batch norms, and its other buffers."""
        if self.ranks > 1:
            for buffer in model.buffers():
                distributed.broadcast(buffer, 0)

    def gather(self, value: Tensor) -> list[Tensor]:
        """A small tensor of every process, on the CPU, in order of rank; all of one shape."""
        if self.ranks == 1:
            return [value.cpu()]
        tensors: list[Tensor | None] = [None] * self.ranks
        distributed.all_gather_object(tensors, value.cpu())
        return [tensor for tensor in tensors if tensor is not None]

    def wait(self) -> None:
        """Wait until all processes are here."""
        if self.ranks > 1:
            distributed.barrier()


def is_leader() -> bool:
    """Whether this process is the first that torchrun started, or the only one."""
    return os.environ.get("RANK", "0") == "0"


def count_ranks() -> int:
    """How many processes train together, 1 where this one is alone."""
    rendezvous = {name: os.environ[name] for name in _RENDEZVOUS if name in os.environ}
    missing = ", ".join(name for name in _RENDEZVOUS if name not in rendezvous)
    rank, ranks = rendezvous.get("RANK"), rendezvous.get("WORLD_SIZE")
    if (rank, ranks) in ((None, None), (None, "1"), ("0", "1")):
        others = {name: os.environ.get(name, "") for name in _LAUNCHERS}
        variables = {name: value for name, value in others.items() if _to_number(value) > 1}
        if not variables or not missing:
            return 1
    else:
        if not missing and 0 <= _to_number(rank) < _to_number(ranks):
            return _to_number(ranks)
        variables = {name: rendezvous[name] for name in _RENDEZVOUS[:2] if name in rendezvous}
    shown = ", ".join(f"{name}={value}" for name, value in variables.items())
    raise SpecError(
        f"{shown}: this process is one of several, but cannot find the others"
        + (f" without {missing}" if missing else ""),
        fix="start it with torchrun; to train in this process alone, unset " + " ".join(variables),
    )


def _to_number(value: str | None) -> int:
    return int(value) if value is not None and value.isdecimal() else -1


@contextmanager
def join_processes(device: str) -> Iterator[RankProcess]:
    """Join the processes that torchrun started; without it, this process is alone."""
    if count_ranks() == 1:
        yield RankProcess(0, 1, torch_device(device))
        return
    if device == "cuda":
        device = f"cuda:{os.environ['LOCAL_RANK']}"
    elif device.startswith("cuda"):
        raise SpecError(
            f"device {device!r}: every process needs its own GPU", fix="use device: cuda"
        )
    place = torch_device(device)
    if place.type == "cuda":
        torch.cuda.set_device(place)
    distributed.init_process_group("cpu:gloo,cuda:nccl" if place.type == "cuda" else "gloo")
    try:
        yield RankProcess(distributed.get_rank(), distributed.get_world_size(), place)
    finally:
        distributed.destroy_process_group()
