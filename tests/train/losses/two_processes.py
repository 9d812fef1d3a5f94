"""Two processes that share a batch: `two_processes.py FOLDER` (see test_world.py).

Reads FOLDER/batch.pt, whose embeddings are features here; encodes its share of the rows; and writes
what each loss and its gradients are in FOLDER/RANK.pt, with what they are in one process.
"""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.functional import normalize
from torch.nn.parallel import DistributedDataParallel

from tests.kit.forked import fork_ranks
from tests.kit.loss_batches import LOSSES, map_extras, take
from train.losses.batch import Embedded, Ragged, World
from train.losses.captions import apply_loss, dissimilarity
from train.losses.frames import Localised, frame_loss


class LinearEncoder(nn.Module):
    """A linear map, shared by sounds and texts."""

    def __init__(self) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(0)
        self.weight = nn.Parameter(torch.randn(5, 4, generator=generator, dtype=torch.float64))
        self.scale = nn.Parameter(torch.tensor(4.0, dtype=torch.float64))
        self.bias = nn.Parameter(torch.tensor(-2.0, dtype=torch.float64))

    def forward(self, batch: Embedded) -> Embedded:
        def encoded(features: Tensor) -> Tensor:
            return normalize(features @ self.weight, dim=1)

        return dataclasses.replace(
            map_extras(batch, lambda flat: Ragged(encoded(flat.values), flat.owner)),
            audio=encoded(batch.audio),
            captions=encoded(batch.captions),
            scale=self.scale,
            bias=self.bias,
        )


def part(batch: Embedded, start: int, stop: int) -> Embedded:
    """The rows `start` to `stop - 1`, whose numbers are of the rows of all."""
    uniform = None if batch.uniform is None else batch.uniform[start:stop]
    return dataclasses.replace(take(batch, torch.arange(start, stop)), uniform=uniform)


class Learner(nn.Module):
    """An encoder and its loss.

    DDP is told of the loss alone: it would wait for ever for the gradient of a parameter that it
    sees in an output, and that the loss has no use for, as most have none for the bias.
    """

    def __init__(self, encoder: LinearEncoder, name: str, world: World) -> None:
        super().__init__()
        self.encoder = encoder
        self.name, self.world = name, world

    def forward(self, batch: Embedded) -> Tensor:
        batch = self.encoder(batch)
        if self.name == "frames":
            return self._frame_loss(batch)
        if self.name == "dissimilarity":
            return dissimilarity(batch, self.world)
        if self.name == "teminal_a":
            batch = dataclasses.replace(batch, views=batch.views % 2)
        return apply_loss(LOSSES[self.name], batch, self.world)

    def _frame_loss(self, batch: Embedded) -> Tensor:
        """Sounds and captions as two tokens of a row, against sounds that all processes know."""
        generator = torch.Generator().manual_seed(1)
        sounds = torch.randn(3, 5, generator=generator, dtype=torch.float64)
        said = normalize(sounds @ self.encoder.weight, dim=1)
        frames = torch.stack([batch.audio, batch.captions], dim=1)
        places = torch.arange(6).reshape(1, 3, 2)
        states = ((batch.texts[:, None, None] + places) * 5 // 2 % 3).to(torch.int8)
        return frame_loss(Localised(frames, said, states, batch.scale), self.world)


def gradients(learner: nn.Module) -> list[Tensor]:
    return [
        torch.zeros_like(value) if value.grad is None else value.grad.clone()
        for value in learner.parameters()
    ]


def compared(name: str, whole: Embedded, rank: int, cut: int) -> dict[str, Any]:
    """The loss and gradients of a batch cut in two, and of the batch in one process."""
    start, stop = (0, cut) if rank == 0 else (cut, len(whole.audio))
    # A group lies whole in one process, and a row knows of its own group only.
    second = torch.arange(len(whole.audio)) >= cut
    known = whole.unrefuted & (second[:, None] == second[None, :])
    whole = dataclasses.replace(whole, unrefuted=known)
    learner = Learner(LinearEncoder(), name, World((cut, len(whole.audio) - cut), rank))
    shared = DistributedDataParallel(learner, find_unused_parameters=True)
    loss = shared(part(whole, start, stop))
    loss.backward()
    average = loss.detach().clone()
    dist.all_reduce(average)
    alone = Learner(LinearEncoder(), name, World())
    joint = alone(whole)
    joint.backward()
    return {
        "loss": (average / 2, joint.detach()),
        "gradients": (gradients(shared), gradients(alone)),
    }


def gathered(rank: int) -> dict[str, Any]:
    """What the processes say of unequally many rows."""
    world = World((2, 3), rank)
    numbers = torch.arange(2 + rank) + 10 * rank
    return {
        "integers": world.gather(numbers),
        "pairs": world.gather(torch.stack([numbers, -numbers], dim=1)),
        "truths": world.gather(numbers > 0),
        "nothing": World((0, 0), rank).gather(torch.zeros(0, 3)),
        "first": world.first,
        "mean": world.mean(numbers.double()),
        "mean_of_none": world.mean(torch.zeros(0)),
    }


def main(rank: int, folder: Path) -> None:
    torch.set_num_threads(1)
    dist.init_process_group(
        "gloo", init_method=f"file://{folder / 'meeting'}", rank=rank, world_size=2
    )
    given = torch.load(folder / "batch.pt", weights_only=False)
    whole = given["batch"]
    results: dict[str, Any] = {"gathered": gathered(rank)}
    for cut in given["cuts"]:
        for name in (*LOSSES, "dissimilarity", "frames"):
            results[f"{name} {cut}"] = compared(name, whole, rank, cut)
    torch.save(results, folder / f"{rank}.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    fork_ranks(lambda rank: main(rank, Path(sys.argv[1])))
