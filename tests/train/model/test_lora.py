"""Adapters: what they leave untouched, what they learn, and what becomes of them."""

from __future__ import annotations

import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch

from synth.base.errors import SpecError
from tests.kit.tiny_models import CLAP_RATE, noise
from train.config.model import Group, Lora, ModelConfig
from train.model.clap import build_model, clap_config
from train.model.freezing import adapter_parameters, merge_adapters
from train.model.network import Clap

IDS = torch.tensor([[0, 4, 5, 2], [0, 8, 9, 2]])


def settings(clap: Path, lora: Lora, **changes: Any) -> ModelConfig:
    base = clap_config(str(clap))
    towers = {side: getattr(base, side).model_copy(update={"lora": lora}) for side in SIDES}
    return base.model_copy(update=towers | changes)


SIDES = ("audio", "text")


def build(config: ModelConfig) -> Clap:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return build_model(config, CLAP_RATE, 0)


@torch.no_grad()
def embeddings(model: Clap) -> torch.Tensor:
    audio = model.eval().encode_audio(noise(0, 2, CLAP_RATE))
    return torch.cat([audio, model.encode_text(IDS, IDS >= 0)])


def learn(model: Clap) -> None:
    """Steps that move whatever has a gradient: those of B come before those of A have any."""
    optimizer = torch.optim.Adam([one for one in model.parameters() if one.requires_grad], lr=0.05)
    for _ in range(3):
        optimizer.zero_grad()
        audio = model.train().encode_audio(noise(0, 2, CLAP_RATE))
        (audio @ model.encode_text(IDS, IDS >= 0).T).square().sum().backward()
        optimizer.step()


def test_adapters_learn_beside_weights_that_stay_and_merge_into_them(clap_folder: Path) -> None:
    plain = build(clap_config(str(clap_folder)))
    model = build(settings(clap_folder, Lora(rank=2, dropout=0.1)))
    assert torch.equal(embeddings(model), embeddings(plain))
    before = deepcopy(model.state_dict())
    learn(model)
    moved = {name for name, value in model.state_dict().items() if not value.equal(before[name])}
    towers = {name for name in moved if "_tower." in name}
    assert towers
    assert all("lora_" in name for name in towers)
    assert {"audio_head", "text_head"} <= {name.split(".")[0] for name in moved}

    tuned = embeddings(model)
    assert (tuned - embeddings(plain)).abs().max() > 1e-2
    merge_adapters(model)
    assert (embeddings(model) - tuned).abs().max() < 1e-5
    assert model.state_dict().keys() == plain.state_dict().keys()
    merge_adapters(model)  # nothing is left to do
    assert (embeddings(model) - tuned).abs().max() < 1e-5


def test_adapters_of_the_last_layer_learn_alone(clap_folder: Path) -> None:
    trainable = (Group.AUDIO_TOWER_LAST, Group.TEXT_TOWER_LAST, Group.TEXT_HEAD)
    model = build(settings(clap_folder, Lora(target=("query", "value")), trainable=trainable))
    learning = {name for name, one in model.named_parameters() if one.requires_grad}
    starts = (
        "audio_tower.model.audio_encoder.layers.1.",
        "text_tower.model.encoder.layer.1.attention.",
        "text_head.",
    )
    assert all(name.startswith(starts) for name in learning)
    assert all(any(name.startswith(start) for name in learning) for start in starts)
    adapters = [name for name in learning if "_tower." in name]
    assert all(("query" in name or "value" in name) and "lora_" in name for name in adapters)
    assert len(adapter_parameters(model.text_tower)) == 2 * 2 * 2  # layers, targets, A and B


def test_what_cannot_be_adapted_is_told(clap_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(
        SpecError, match=r"audio\.lora\.target: the tower has no layer 'qeury'"
    ) as told:
        build(settings(clap_folder, Lora(target=("qeury",))))
    assert "query" in told.value.fix
    with pytest.raises(SpecError, match=r"audio\.lora: "):
        build(settings(clap_folder, Lora(target=("batch_norm",))))
    monkeypatch.setitem(sys.modules, "peft", None)
    with pytest.raises(SpecError, match=r"audio\.lora: peft is not installed") as told:
        build(settings(clap_folder, Lora()))
    assert "segue-audio[lora]" in told.value.fix
