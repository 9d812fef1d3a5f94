"""Groups that learn, adapters, layers computed again; what of the rest must not move."""

from __future__ import annotations

import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from synth.base.errors import SpecError
from tests.kit.tiny_models import CLAP_RATE, model_over, noise
from train.config.model import (
    ALL_GROUPS,
    AudioConfig,
    Group,
    HeadKind,
    LastLayers,
    LayerMix,
    Lora,
    ModelConfig,
    TokenKind,
)
from train.model.clap import build_model, clap_config
from train.model.freezing import adapter_parameters, freeze, merge_adapters, parameter_groups
from train.model.network import Clap, checkpoint_activations

IDS = torch.tensor([[0, 4, 5, 2]])


def whole(folder: Path, **changes: Any) -> Clap:
    return build_model(clap_config(str(folder)).model_copy(update=changes), CLAP_RATE, 0)


def small() -> Clap:
    return build_model(ModelConfig(dim=16, audio=AudioConfig(width=8, mels=16)), 16_000, 20)


def learn(model: Clap, rate: int, seconds: int = 1) -> None:
    """One step that moves whatever may move, in the direction of its gradient."""
    audio = model.encode_audio(noise(0, 3, seconds * rate))
    text = model.encode_text(IDS, IDS >= 0)
    loss = (model.scale() * audio @ text.T).square().sum() + model.bias
    loss.backward()
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.grad is not None:
                parameter.add_(parameter.grad.sign(), alpha=1e-3)


def moved(model: Clap, before: dict[str, torch.Tensor]) -> set[str]:
    return {name for name, value in model.state_dict().items() if not value.equal(before[name])}


def test_everything_learns_unless_told_otherwise(clap_folder: Path) -> None:
    for model in (small(), whole(clap_folder)):
        groups = parameter_groups(model)
        assert all(one.requires_grad for one in model.parameters())
        together = [id(one) for group in ALL_GROUPS for one in groups[group]]
        assert sorted(together) == sorted(id(one) for one in model.parameters())
        assert all(module.training for module in model.train().modules())


@pytest.mark.parametrize("group", list(Group))
def test_a_group_learns_alone(clap_folder: Path, group: Group) -> None:
    model = whole(clap_folder, trainable=(group,), bias=-10.0).train()
    before = deepcopy(model.state_dict())
    learn(model, CLAP_RATE)
    names = {id(value): name for name, value in model.named_parameters()}
    own = {names[id(one)] for one in parameter_groups(model)[group]}
    assert own == {name for name, one in model.named_parameters() if one.requires_grad}
    buffers = {name for name in moved(model, before) if name not in names.values()}
    if group is Group.AUDIO_TOWER:
        assert buffers
        assert all("batch_norm" in name for name in buffers)
    else:
        assert not buffers
    changed = moved(model, before) - buffers
    assert changed <= own
    # Keys' biases, padding and positions not used have no effect.
    assert len(changed) > 0.6 * len(own)
    expected = {
        Group.AUDIO_TOWER: "audio_tower.",
        Group.AUDIO_TOWER_LAST: "audio_tower.model.audio_encoder.",
        Group.TEXT_TOWER: "text_tower.",
        Group.TEXT_TOWER_LAST: "text_tower.model.",
        Group.AUDIO_HEAD: "audio_head.",
        Group.TEXT_HEAD: "text_head.",
    }.get(group)
    if expected:
        assert all(name.startswith(expected) for name in own)
    else:
        assert own == {"scale.log", "bias"}


def test_the_last_of_a_tower_is_its_last_layer_and_what_follows(clap_folder: Path) -> None:
    model = whole(clap_folder, trainable=(Group.AUDIO_TOWER_LAST, Group.TEXT_TOWER_LAST))
    learning = {name for name, one in model.named_parameters() if one.requires_grad}
    roots = {
        "audio_tower.model.audio_encoder.layers.1.",
        "audio_tower.model.audio_encoder.norm.",
        "text_tower.model.encoder.layer.1.",
        "text_tower.model.pooler.",
    }
    assert {root for root in roots for name in learning if name.startswith(root)} == roots
    assert all(name.startswith(tuple(roots)) for name in learning)


def test_the_last_layers_of_a_tower_are_as_many_as_asked_for(clap_folder: Path) -> None:
    trainable = (Group.AUDIO_TOWER_LAST, Group.TEXT_TOWER_LAST)
    last_layers = LastLayers(text_tower=2)
    model = whole(clap_folder, trainable=trainable, last_layers=last_layers).train()
    before = deepcopy(model.state_dict())
    learn(model, CLAP_RATE)
    learning = {name for name, one in model.named_parameters() if one.requires_grad}
    assert moved(model, before) <= learning
    for layer in (0, 1):
        assert any(name.startswith(f"text_tower.model.encoder.layer.{layer}.") for name in learning)
    assert not any(".embeddings." in name or ".layers.0." in name for name in learning)
    with pytest.raises(SpecError, match="text_tower: this tower has 2 layers, not 3"):
        freeze(model, trainable, LastLayers(text_tower=3))


def test_frozen_parts_stay_in_evaluation_also_in_a_copy(clap_folder: Path) -> None:
    model = whole(clap_folder, trainable=(Group.TEXT_TOWER_LAST, Group.TEXT_HEAD))
    for one in (model, deepcopy(model)):
        one.train()
        assert one.training
        assert not any(module.training for module in one.audio_tower.modules())
        assert not one.text_tower.model.embeddings.dropout.training
        assert all(module.training for module in one.text_tower.model.encoder.layer[1].modules())
        assert all(module.training for module in one.text_head.modules())
        one.eval()
        assert not any(module.training for module in one.modules())
        one.train()
        assert not one.audio_tower.training
    freeze(model, ALL_GROUPS)
    assert all(module.training for module in model.modules())
    assert all(one.requires_grad for one in model.parameters())


def test_the_small_tower_is_frozen_with_its_batch_norms_and_has_no_last_layer() -> None:
    model = small()
    freeze(model, [Group.AUDIO_HEAD, Group.TEXT_TOWER])
    before = deepcopy(model.state_dict())
    learn(model.train(), 16_000)
    changed = moved(model, before)
    assert changed
    assert all(name.startswith(("audio_head.", "text_tower.")) for name in changed)
    for group in (Group.AUDIO_TOWER_LAST, Group.TEXT_TOWER_LAST):
        with pytest.raises(SpecError, match="has no last layer") as error:
            freeze(model, [group])
        assert error.value.fix.startswith(f"name {group.removesuffix('.last')}")


def test_a_mix_of_layers_learns_with_the_head(hubert_folder: Path, clap_folder: Path) -> None:
    config = model_over(
        hubert_folder, clap_folder, HeadKind.MLP, TokenKind.MAP, layers=LayerMix.CONV
    ).model_copy(update={"trainable": (Group.AUDIO_HEAD,)})
    model = build_model(config, 16_000, 0).train()
    learning = {name for name, one in model.named_parameters() if one.requires_grad}
    assert "audio_tower.encoder.mixer.weight" in learning
    assert all(name.startswith(("audio_head.", "audio_tower.encoder.mixer.")) for name in learning)
    freeze(model, ALL_GROUPS)
    learn(model, 16_000)
    without = {name for name, one in model.named_parameters() if one.grad is None}
    idle = {"audio_tower.encoder.model.masked_spec_embed"}
    idle |= {f"text_tower.model.pooler.dense.{kind}" for kind in ("weight", "bias")}
    assert without == idle
    assert not any(one.requires_grad for name, one in model.named_parameters() if name in without)


def test_what_a_fused_clap_has_for_longer_audio_does_not_learn(fused_folder: Path) -> None:
    model = whole(fused_folder).train()
    learn(model, CLAP_RATE)
    without = {name for name, one in model.named_parameters() if one.grad is None}
    assert without == {name for name, one in model.named_parameters() if not one.requires_grad}
    assert any("fusion_model" in name for name in without)
    assert any("mel_conv2d" in name for name in without)
    assert isinstance(model.audio_head, nn.Module)


# Adapters: what they leave untouched, what they learn, and what becomes of them.


PAIR_IDS = torch.tensor([[0, 4, 5, 2], [0, 8, 9, 2]])


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
    return torch.cat([audio, model.encode_text(PAIR_IDS, PAIR_IDS >= 0)])


def adapt(model: Clap) -> None:
    """Steps that move whatever has a gradient: those of B come before those of A have any."""
    optimizer = torch.optim.Adam([one for one in model.parameters() if one.requires_grad], lr=0.05)
    for _ in range(3):
        optimizer.zero_grad()
        audio = model.train().encode_audio(noise(0, 2, CLAP_RATE))
        (audio @ model.encode_text(PAIR_IDS, PAIR_IDS >= 0).T).square().sum().backward()
        optimizer.step()


def test_adapters_learn_beside_weights_that_stay_and_merge_into_them(clap_folder: Path) -> None:
    plain = build(clap_config(str(clap_folder)))
    model = build(settings(clap_folder, Lora(rank=2, dropout=0.1)))
    assert torch.equal(embeddings(model), embeddings(plain))
    before = deepcopy(model.state_dict())
    adapt(model)
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
    with pytest.raises(SpecError, match=r"audio\.lora: peft is not installed.*segue-audio\[lora\]"):
        build(settings(clap_folder, Lora()))


# Layers that are computed again in the backward pass: the same numbers, less memory.


LONG_IDS = torch.tensor([[0, 4, 5, 6, 7, 2], [0, 8, 9, 10, 4, 2]])


def learn_once(config: ModelConfig, rate: int, recompute: bool) -> tuple[Clap, torch.Tensor, int]:
    """A model with gradients, its loss, and the bytes that were kept for the backward pass."""
    kept: dict[int, int] = {}

    def keep(value: torch.Tensor) -> torch.Tensor:
        storage = value.untyped_storage()
        kept[storage.data_ptr()] = storage.nbytes()
        return value

    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = build_model(config, rate, 0).train()
        if recompute:
            checkpoint_activations(model)
        weights = {one.untyped_storage().data_ptr() for one in model.parameters()}
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda value: value):
            audio = model.encode_audio(noise(0, 2, rate))
            loss = (audio @ model.encode_text(LONG_IDS, LONG_IDS >= 0).T).square().sum()
        size = sum(nbytes for place, nbytes in kept.items() if place not in weights)
        loss.backward()  # type: ignore[no-untyped-call]
    return model, loss.detach(), size


@pytest.mark.parametrize("kind", ["clap", "adapted clap", "frozen clap", "hubert"])
def test_the_gradients_are_the_same(clap_folder: Path, hubert_folder: Path, kind: str) -> None:
    config, rate = clap_config(str(clap_folder)), CLAP_RATE
    if kind == "adapted clap":
        adapted = config.audio.model_copy(update={"lora": Lora(dropout=0.2)})
        config = config.model_copy(update={"audio": adapted})
    elif kind == "frozen clap":
        config = config.model_copy(update={"trainable": (Group.AUDIO_TOWER_LAST, Group.TEXT_HEAD)})
    elif kind == "hubert":
        config, rate = model_over(hubert_folder, clap_folder, HeadKind.MLP, TokenKind.MAP), 16_000
    plain, loss, size = learn_once(config, rate, recompute=False)
    model, same, less = learn_once(config, rate, recompute=True)
    assert torch.equal(loss, same)
    assert less < 0.8 * size
    for (name, one), other in zip(plain.named_parameters(), model.parameters(), strict=True):
        assert (one.grad is None) == (other.grad is None), name
        if one.grad is not None and other.grad is not None:
            assert torch.equal(one.grad, other.grad), name
    for (name, one), other in zip(plain.named_buffers(), model.buffers(), strict=True):
        assert torch.equal(one, other), name
    assert plain.state_dict().keys() == model.state_dict().keys()


def test_a_model_without_layers_is_told() -> None:
    with pytest.raises(SpecError, match="no tower has layers"):
        checkpoint_activations(build_model(ModelConfig(dim=16), 16_000, 20))
