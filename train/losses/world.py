"""The processes of torch.distributed that share a batch."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from jaxtyping import Float
from torch import Tensor


class Ranks:
    """The processes of the default process group; may hold unequally many rows.

    Args:
        device: Where this process computes. NCCL moves nothing that lies elsewhere.
    """

    def __init__(self, device: torch.device) -> None:
        self._device = device

    def gather(self, rows: Tensor) -> Tensor:
        """The rows of all processes, in order of rank; gradients of floats flow back."""
        counts = self._counts(len(rows))
        gathered: Tensor = _Gather.apply(rows, counts)  # type: ignore[no-untyped-call]
        return gathered

    def first(self, rows: int) -> int:
        """How many rows the lower ranks hold."""
        return sum(self._counts(rows)[: dist.get_rank()])

    def mean(self, rows: Float[Tensor, " rows"]) -> Float[Tensor, ""]:
        """The part: the rows' sum over the mean number of rows a process holds; 0 of none."""
        counts = self._counts(len(rows))
        return rows.sum() * (len(counts) / max(sum(counts), 1))

    def _counts(self, rows: int) -> list[int]:
        """How many rows each rank holds."""
        mine = torch.tensor([rows], device=self._device)
        all_of = [torch.zeros_like(mine) for _ in range(dist.get_world_size())]
        dist.all_gather(all_of, mine)
        return [int(count) for count in torch.cat(all_of).tolist()]


class _Gather(torch.autograd.Function):
    """all_gather of unequally many rows, padded to the most."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, counts: list[int]) -> Tensor:
        ctx.counts = counts
        padded = rows.new_zeros(max(counts), *rows.shape[1:])
        padded[: len(rows)] = rows
        parts = [torch.empty_like(padded) for _ in counts]
        dist.all_gather(parts, padded)
        return torch.cat([part[:count] for part, count in zip(parts, counts, strict=True)])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        """Own rows' share of what all processes' parts say of them."""
        total = gradient.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(total)
        first = sum(ctx.counts[: dist.get_rank()])
        return total[first : first + ctx.counts[dist.get_rank()]], None
