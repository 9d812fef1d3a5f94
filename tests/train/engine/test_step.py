"""A batch encoded in parts gives the loss and the gradients of the batch encoded at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from tests.kit.loss_batches import LOSSES
from train.config.loss import HardNegatives, InfoNce
from train.config.model import ModelConfig
from train.config.run import Stage, TrainConfig
from train.data.audio import AudioBatch
from train.data.batch import Batch, SoundFrames
from train.data.loader import draw_uniform
from train.data.tokenizer import TokenIds
from train.engine.step import (
    Inputs,
    Outputs,
    Parts,
    backward,
    compute_loss,
    pause_batch_norm_statistics,
)
from train.losses.batch import Ragged, World
from train.model.device import matmul_precision

ROWS, TEXTS, WORDS, DIM = 9, 20, 4, 6
Settings = Callable[..., TrainConfig]


class Linear(nn.Module):
    """A model small enough to be seen through, with dropout to try the random state."""

    def __init__(self, dropout: float) -> None:
        super().__init__()
        self.audio = nn.Linear(8, DIM)
        self.words = nn.Embedding(50, DIM)
        self.dropout = nn.Dropout(dropout)
        self.log_scale = nn.Parameter(torch.tensor(2.0))
        self.bias = nn.Parameter(torch.tensor(-1.0))

    def forward(
        self, values: Tensor, heard: Tensor, places: None, ids: Tensor, mask: Tensor
    ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        audio = self.dropout(self.audio(values.mean(dim=1)))
        tokens = self.dropout(self.audio(values))
        texts = self.dropout(self.words(ids).mean(dim=1))
        unit = nn.functional.normalize
        audio, texts, tokens = (unit(each, dim=-1) for each in (audio, texts, tokens))
        return Outputs(audio, texts, self.log_scale.exp(), self.bias, tokens)


def batch() -> Batch:
    generator = torch.Generator().manual_seed(1)

    def numbers(high: int, *shape: int) -> Tensor:
        return torch.randint(high, shape, generator=generator)

    spoken = Ragged(numbers(TEXTS, 7), torch.tensor([0, 0, 0, 2, 5, 5, 8]))
    return Batch(
        step=0,
        audio=AudioBatch(tuple(range(ROWS))),
        texts=TokenIds(numbers(50, TEXTS, WORDS), torch.ones(TEXTS, WORDS, dtype=torch.bool)),
        captions=torch.arange(ROWS),
        positives=spoken,
        negatives=Ragged(numbers(TEXTS, 5), torch.tensor([1, 1, 3, 4, 8])),
        denied=Ragged(numbers(TEXTS, 2), torch.tensor([3, 6])),
        keys=torch.arange(2 * ROWS).reshape(2, ROWS),
        views=torch.arange(ROWS) % 3,
        groups=torch.arange(ROWS) // 3,
        classes=torch.stack([torch.arange(ROWS) // 3, torch.arange(ROWS) % 2], dim=1),
        unrefuted=torch.zeros(ROWS, ROWS, dtype=torch.bool),
        whole=0,
        counts=(ROWS,),
        uniform=draw_uniform(slice(ROWS), ROWS, 0, 0),
        sounds=SoundFrames(numbers(TEXTS, 4), numbers(3, ROWS, 4, 3).to(torch.int8)),
    )


def inputs() -> Inputs:
    generator = torch.Generator().manual_seed(2)
    values = torch.randn(ROWS, 3, 8, generator=generator, dtype=torch.float64)
    texts = batch().texts
    return values, torch.ones(ROWS, 3, dtype=torch.bool), None, texts.ids, texts.mask


def parts_of(config: TrainConfig) -> Parts:
    """As many as the settings ask for, and there are rows for."""
    count = min(config.accumulate, ROWS, TEXTS)
    split = [[None] * count if each is None else each.tensor_split(count) for each in inputs()]
    return [lambda part=part: part for part in zip(*split, strict=True)]  # type: ignore[misc]


def learnt(config: TrainConfig, rows: Batch, dropout: float = 0.0) -> tuple[float, list[Tensor]]:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = Linear(dropout).double()
        loss = backward(model, parts_of(config), rows, config, World())
    zero = torch.zeros((), dtype=torch.float64)
    return loss.item(), [zero if one.grad is None else one.grad for one in model.parameters()]


@pytest.mark.parametrize("parts", [2, 4, 50])
@pytest.mark.parametrize("name", LOSSES)
def test_parts_give_the_gradients_of_the_whole(settings: Settings, name: str, parts: int) -> None:
    stages = (Stage(steps=5, loss=LOSSES[name], dissimilarity=0.1, frames=2.0),)
    settings = partial(settings, model=ModelConfig(frames=True))
    rows = replace(batch(), views=batch().views % 2) if name == "teminal_a" else batch()
    whole, gradients = learnt(settings(stages=stages), rows)
    loss_in_parts, in_parts = learnt(settings(stages=stages, accumulate=parts), rows)
    assert loss_in_parts == pytest.approx(whole, abs=1e-12)
    assert len(in_parts) == len(gradients)
    for one, other in zip(gradients, in_parts, strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=1e-12)


def test_what_is_dropped_is_dropped_again_in_the_second_pass(settings: Settings) -> None:
    """Were other units dropped, the gradients would not be those of the loss that is told."""
    config = settings(stages=(Stage(steps=5, loss=InfoNce()),), accumulate=3)
    loss, gradients = learnt(config, batch(), dropout=0.5)
    step = 1e-6
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = Linear(0.5).double()
        with torch.no_grad():
            for parameter, gradient in zip(model.parameters(), gradients, strict=True):
                parameter += step * gradient
        moved = backward(model, parts_of(config), batch(), config, World()).item()
    rise = sum(float((gradient**2).sum()) for gradient in gradients)
    assert (moved - loss) / step == pytest.approx(rise, rel=1e-3)


def test_batch_norms_remember_each_batch_once() -> None:
    norm = nn.BatchNorm1d(3)
    values = torch.randn(8, 3)
    with pause_batch_norm_statistics(norm):
        norm(values)
    assert torch.equal(norm.running_mean, torch.zeros(3))
    norm(values)
    assert not torch.equal(norm.running_mean, torch.zeros(3))


def test_products_of_the_loss_are_full_float32_whatever_the_towers_do(settings: Settings) -> None:
    seen: set[str] = set()

    class OpWatch(TorchFunctionMode):
        def __torch_function__(
            self, function: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            if function in (Tensor.__matmul__, torch.matmul, torch.einsum, Tensor.matmul):
                seen.add(torch.get_float32_matmul_precision())
            return function(*args, **(kwargs or {}))

    config = settings(stages=(Stage(steps=5, loss=HardNegatives()),))
    outputs = Linear(0.0).double()(*inputs())
    with matmul_precision("high"), OpWatch():
        compute_loss(outputs, batch(), config, World())
        assert torch.get_float32_matmul_precision() == "high"
    assert seen == {"highest"}
