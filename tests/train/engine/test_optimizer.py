"""Which rate each parameter learns at, and what else reaches the optimizer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import torch

from synth.base.errors import SpecError
from tests.kit.tiny_models import CLAP_RATE
from train.config.model import ALL_GROUPS, Group, LastLayers
from train.config.run import TrainConfig
from train.engine.optimizer import build_optimizer, learning_rate, set_rates
from train.model.clap import build_model, clap_config
from train.model.network import Clap

Settings = Callable[..., TrainConfig]
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


def test_each_group_learns_at_its_own_rate_along_one_schedule(
    settings: Settings, clap_folder: Path
) -> None:
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


def test_one_rate_makes_two_groups_with_and_without_weight_decay(
    settings: Settings, clap_folder: Path
) -> None:
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
