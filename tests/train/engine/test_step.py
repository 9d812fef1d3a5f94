"""A batch encoded in parts gives the loss and the gradients of the batch encoded at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from synth.base.errors import SpecError
from tests.kit.loss_batches import LOSSES
from tests.kit.tiny_models import CLAP_RATE
from train.config.loss import HardNegatives, InfoNce
from train.config.model import ALL_GROUPS, Group, LastLayers, ModelConfig
from train.config.run import Stage, TrainConfig
from train.data.audio import AudioBatch
from train.data.batch import Batch, SoundFrames
from train.data.loader import draw_uniform
from train.data.tokenizer import TokenIds
from train.engine.optimizer import build_optimizer, learning_rate, set_rates
from train.engine.step import (
    Inputs,
    Outputs,
    Parts,
    backward,
    compute_loss,
    pause_batch_norm_statistics,
)
from train.losses.batch import Ragged, World
from train.model.clap import build_model, clap_config
from train.model.device import matmul_precision
from train.model.network import Clap

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


# Which rate each parameter learns at, and what else reaches the optimizer.


CPU = torch.device("cpu")


def make(
    settings: Settings, clap: Path, model: Mapping[str, Any] | None = None, **changes: Any
) -> tuple[Clap, torch.optim.AdamW, TrainConfig]:
    of_clap = clap_config(str(clap)).model_copy(update=dict(model or {}))
    config = TrainConfig.model_validate(
        settings(model=of_clap, **changes).model_dump(mode="json")
    ).model_copy(update={"model": of_clap})
    built = build_model(of_clap, CLAP_RATE, 0)
    return built, build_optimizer(built, config, CPU), config


def rates(model: Clap, optimizer: torch.optim.Optimizer) -> dict[str, float]:
    names = {id(one): name for name, one in model.named_parameters()}
    return {
        names[id(one)]: group["lr"] for group in optimizer.param_groups for one in group["params"]
    }


def test_each_group_has_its_own_rate(settings: Settings, clap_folder: Path) -> None:
    own = {Group.AUDIO_TOWER: 1e-5, Group.AUDIO_TOWER_LAST: 1e-4, Group.TEXT_TOWER: 2e-5}
    model, optimizer, config = make(settings, clap_folder, lr=1e-3, lr_of=own)
    for step in (0, 5, config.steps - 1):
        set_rates(optimizer, config, step)
        for name, found in rates(model, optimizer).items():
            peak = 1e-3
            if name.startswith(("audio_tower.model.audio_encoder.layers.1.", LAST_NORM)):
                peak = 1e-4
            elif name.startswith("audio_tower."):
                peak = 1e-5
            elif name.startswith("text_tower."):
                peak = 2e-5
            assert found == learning_rate(step, config.steps, peak, config.warmup), name
    assert rates(model, optimizer).keys() == dict(model.named_parameters()).keys()


LAST_NORM = "audio_tower.model.audio_encoder.norm."


def test_rates_sink_layer_by_layer_below_the_last(settings: Settings, clap_folder: Path) -> None:
    model, optimizer, config = make(
        settings,
        clap_folder,
        {"last_layers": LastLayers(text_tower=2)},
        lr=1.0,
        layer_decay=0.5,
        lr_of={Group.TEXT_TOWER_LAST: 4.0},
    )
    set_rates(optimizer, config, 1)  # the peak
    found = rates(model, optimizer)
    expected = {
        "text_tower.model.pooler.": 4.0,
        "text_tower.model.encoder.layer.1.": 4.0,
        "text_tower.model.encoder.layer.0.": 2.0,
        "text_tower.model.embeddings.": 0.25,
        LAST_NORM: 1.0,
        "audio_tower.model.audio_encoder.layers.1.": 1.0,
        "audio_tower.model.audio_encoder.layers.0.": 0.5,
        "audio_tower.model.audio_encoder.patch_embed.": 0.25,
        "audio_head.": 1.0,
        "scale.": 1.0,
    }
    for start, rate in expected.items():
        own = [each for name, each in found.items() if name.startswith(start)]
        assert own
        assert set(own) == {rate}, start


def test_one_rate_makes_two_groups(settings: Settings, clap_folder: Path) -> None:
    model, optimizer, _ = make(settings, clap_folder, betas=(0.8, 0.98), eps=1e-6)
    decayed, plain = optimizer.param_groups
    assert all(one.dim() > 1 for one in decayed["params"])
    assert all(one.dim() <= 1 for one in plain["params"])
    assert (decayed["weight_decay"], plain["weight_decay"]) == (0.01, 0.0)
    assert len(decayed["params"]) + len(plain["params"]) == len(list(model.parameters()))
    for group in optimizer.param_groups:
        assert (group["betas"], group["eps"]) == ((0.8, 0.98), 1e-6)


def test_a_rate_for_layers_that_are_not_there_is_told(settings: Settings) -> None:
    own = {Group.AUDIO_TOWER_LAST: 1e-4}
    config = settings(lr_of=own)
    assert set(ALL_GROUPS) == set(config.model.trainable)
    with pytest.raises(SpecError, match=r"lr_of: audio_tower\.last: this model has no such part"):
        build_optimizer(build_model(config.model, 16_000, 20), config, CPU)
