"""What a loss sees of a batch, and of the processes that share it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Ragged:
    """Values of the rows of a batch, where each row may have none, one or several.

    The loader fills it with numbers of texts, and the training step puts the embeddings of those
    texts in their place.

    Args:
        values: The values of all rows, in any order.
        owner: Row of this process's batch that each value belongs to.
    """

    values: Shaped[Tensor, "values ..."]
    owner: Int[Tensor, " values"]

    @classmethod
    def of_rows(cls, rows: Iterable[Sequence[int]]) -> Ragged:
        """The numbers of each row, row after row."""
        pairs = [(value, row) for row, values in enumerate(rows) for value in values]
        values = torch.tensor([value for value, _ in pairs], dtype=torch.long)
        return cls(values, torch.tensor([row for _, row in pairs], dtype=torch.long))

    def map(self, change: Callable[[Tensor], Tensor]) -> Ragged:
        """The same, both of its tensors changed."""
        return Ragged(change(self.values), change(self.owner))

    def embed(self, texts: Float[Tensor, "texts dim"]) -> Ragged:
        """The embeddings of the texts that the values number."""
        return Ragged(texts[self.values], self.owner)


@dataclass(frozen=True, slots=True)
class Embedded:
    """A batch after the towers: the rows of this process.

    Args:
        audio: Unit-length embeddings.
        captions: Of one true caption a row.
        positives: Unit-length embeddings of further true captions, "texts dim".
        negatives: Likewise of false captions.
        denied: Likewise of fully negated captions, at most one a row.
        texts: Number of each caption's text, equal where texts are equal, on every process.
        meanings: Number of what each caption claims, equal where claims are equal.
        views: Composition of each row: forward, reversed and overlay are 0, 1 and 2 in a corpus of
            triplets; single and combined 0 and 1 in one of its stage A; -1 in any other.
        groups: Number of each row's minimal-pair group, equal where groups are, on every process.
        classes: Numbers of the first and the last label heard in each row, equal where labels are,
            on every process; twice the same for a single sound.
        unrefuted: Which caption (column) may be true of which other sound (row) of its group, too.
        scale: Factor from cosine to logit, one over the temperature.
        bias: Added to every logit of the sigmoid loss.
        step: Of the stage.
        uniform: Numbers in [0, 1), evenly drawn, rows of this process against those of all; None
            for losses that do not ask for them.
    """

    audio: Float[Tensor, "batch dim"]
    captions: Float[Tensor, "batch dim"]
    positives: Ragged
    negatives: Ragged
    denied: Ragged
    texts: Int[Tensor, " batch"]
    meanings: Int[Tensor, " batch"]
    views: Int[Tensor, " batch"]
    groups: Int[Tensor, " batch"]
    classes: Int[Tensor, "batch 2"]
    unrefuted: Bool[Tensor, "batch batch"]
    scale: Float[Tensor, ""]
    bias: Float[Tensor, ""]
    step: int = 0
    uniform: Float[Tensor, "batch candidates"] | None = None


class World:
    """The processes that share a batch, each holding some of its rows; by default one holds all.

    Every process must call the same methods in the same order, also where it holds no row.

    Args:
        counts: How many rows of the batch each holds, in order of rank. They are known from the
            order of the samples: asking for them would wait for the device.
    """

    def __init__(self, counts: Sequence[int] = (), rank: int = 0) -> None:
        self._counts = tuple(counts)
        self._is_shared = len(self._counts) > 1
        self.first = sum(self._counts[:rank])
        """Where this process's rows of the batch begin among all."""

    def gather(self, rows: Tensor) -> Tensor:
        """The rows of all processes, in order; gradients of floats flow back to their owners.

        Args:
            rows: One a row of this process's batch. Processes may hold unequally many, alike in
                all else.
        """
        if not self._is_shared:
            return rows
        gathered: Tensor = _Gather.apply(rows, self._counts, self.first)  # type: ignore[no-untyped-call]
        return gathered

    def mean(self, rows: Float[Tensor, " rows"]) -> Float[Tensor, ""]:
        """This process's part of the mean over the rows of all processes, of the batch or of some.

        The average of the parts over the processes, which is what DDP makes of gradients, is the
        mean: rows may be spread unequally. Without any row anywhere it is 0.
        """
        if not self._is_shared:
            return rows.sum() / max(len(rows), 1)
        total = torch.full((), len(rows), dtype=torch.float64, device=rows.device)
        dist.all_reduce(total)
        return rows.sum() * (len(self._counts) / total.clamp(min=1)).to(rows.dtype)


class _Gather(torch.autograd.Function):
    """all_gather of unequally many rows, padded to the most."""

    @staticmethod
    def forward(ctx: Any, rows: Tensor, counts: tuple[int, ...], first: int) -> Tensor:
        ctx.mine = slice(first, first + len(rows))
        padded = rows.new_zeros(max(counts), *rows.shape[1:])
        padded[: len(rows)] = rows
        parts = [torch.empty_like(padded) for _ in counts]
        dist.all_gather(parts, padded)
        return torch.cat([part[:count] for part, count in zip(parts, counts, strict=True)])

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        """Own rows' share of what all processes' parts say of them."""
        total = gradient.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(total)
        return total[ctx.mine], None, None
