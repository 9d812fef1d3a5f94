"""The loss of a batch, and its gradients."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor, nn

from synth.base.rng import digest
from train.config.loss import TextSwap
from train.config.run import Stage, TrainConfig
from train.data.loader import Batch
from train.engine.forward import (
    Inputs,
    Outputs,
    embedded,
    encode,
    unsynchronised,
    without_statistics,
)
from train.engine.random_state import RandomState
from train.losses.batch import Embedded, World
from train.losses.choice import loss_of
from train.losses.dissimilarity import dissimilarity
from train.schedule import place


@dataclass(frozen=True, slots=True)
class Objective:
    """What a run minimises.

    Args:
        config: The run.
        world: The processes that share a batch.
    """

    config: TrainConfig
    world: World

    def loss(self, outputs: Outputs, batch: Batch) -> Float[Tensor, ""]:
        """The loss of a batch as the stage of its step asks for it, in nats."""
        where = place(batch.step, self.config.stages)
        stage = self.config.stages[where.stage]
        rows = embedded(outputs, batch)
        total = self._contrast(rows, stage, batch.step, where.step)
        if stage.dissimilarity:
            total = total + stage.dissimilarity * dissimilarity(rows, self.world)
        # Not every loss uses scale and bias, and DDP waits for the gradient of whatever can learn.
        return total + 0 * (rows.scale + rows.bias)

    def backward(self, encoder: nn.Module, inputs: Inputs, batch: Batch) -> float:
        """Compute the loss and add its gradients.

        With `accumulate` above 1 the batch is encoded in parts: first without gradients, for the
        loss of the whole and its gradient by every embedding; then part by part again, to carry
        those on to the weights (Gao et al. 2021, "Scaling deep contrastive learning batch size").
        """
        if self.config.accumulate == 1:
            loss = self.loss(encode(encoder, inputs), batch)
            loss.backward()  # type: ignore[no-untyped-call]
            return loss.item()
        parts = list(inputs.parts(self.config.accumulate))
        device = inputs.ids.device
        states: list[RandomState] = []
        found: list[Outputs] = []
        with torch.no_grad(), without_statistics(encoder):
            for part in parts:
                states.append(RandomState.of(device))
                found.append(encode(encoder, part))
        whole = _leaves(found)
        loss = self.loss(whole, batch)
        loss.backward()  # type: ignore[no-untyped-call]
        for number, (part, state) in enumerate(zip(parts, states, strict=True)):
            last = number == len(parts) - 1
            state.restore(device)
            with nullcontext() if last else unsynchronised(encoder):
                _carry_on(encode(encoder, part), whole, found[:number], last)
        return loss.item()

    def _contrast(
        self, rows: Embedded, stage: Stage, step: int, step_of_stage: int
    ) -> Float[Tensor, ""]:
        if not isinstance(stage.loss, TextSwap):
            return loss_of(stage.loss, rows, self.world)
        swaps = stage.loss
        share = swaps.share_at(step_of_stage)
        # Drawn for all rows, so that each row's draws do not depend on the number of processes.
        total = len(self.world.gather(rows.texts))
        seed = int(digest(str(self.config.seed), "textswap", str(step))[:15], 16)
        uniform = torch.rand(total, total, generator=torch.Generator().manual_seed(seed))
        first = self.world.first(len(rows.audio))
        own = uniform[first : first + len(rows.audio)].to(rows.audio)
        return loss_of(swaps, rows, self.world, share, own)


def _leaves(found: Sequence[Outputs]) -> Outputs:
    """The outputs of all parts as one, at which gradients are caught."""
    return Outputs(
        torch.cat([each.audio for each in found]).requires_grad_(),
        torch.cat([each.texts for each in found]).requires_grad_(),
        found[0].scale.detach().clone().requires_grad_(),
        found[0].bias.detach().clone().requires_grad_(),
    )


def _carry_on(made: Outputs, whole: Outputs, before: Sequence[Outputs], last: bool) -> None:
    """Carry the caught gradients of one part on to the weights; what all share, with the last."""
    sounds = sum(len(each.audio) for each in before)
    texts = sum(len(each.texts) for each in before)
    shares = [
        (made.audio, _gradient(whole.audio)[sounds : sounds + len(made.audio)]),
        (made.texts, _gradient(whole.texts)[texts : texts + len(made.texts)]),
        (made.scale, _gradient(whole.scale) * last),
        (made.bias, _gradient(whole.bias) * last),
    ]
    learning = [(value, share) for value, share in shares if value.requires_grad]
    torch.autograd.backward([value for value, _ in learning], [share for _, share in learning])


def _gradient(leaf: Tensor) -> Tensor:
    return torch.zeros_like(leaf) if leaf.grad is None else leaf.grad
