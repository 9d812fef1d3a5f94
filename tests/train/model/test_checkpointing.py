"""Layers that are computed again in the backward pass: the same numbers, less memory."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from synth.base.errors import SpecError
from tests.kit.tiny_models import CLAP_RATE, model_over, noise
from train.config.model import Group, HeadKind, Lora, ModelConfig, TokenKind
from train.model.clap import build_model, clap_config
from train.model.network import Clap, checkpoint_activations

IDS = torch.tensor([[0, 4, 5, 6, 7, 2], [0, 8, 9, 10, 4, 2]])


def learn(config: ModelConfig, rate: int, recompute: bool) -> tuple[Clap, torch.Tensor, int]:
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
            loss = (audio @ model.encode_text(IDS, IDS >= 0).T).square().sum()
        size = sum(nbytes for place, nbytes in kept.items() if place not in weights)
        loss.backward()  # type: ignore[no-untyped-call]
    return model, loss.detach(), size


@pytest.mark.parametrize("kind", ["clap", "adapted clap", "frozen clap", "hubert"])
def test_gradients_are_the_same_and_less_is_kept(
    clap_folder: Path, hubert_folder: Path, kind: str
) -> None:
    config, rate = clap_config(str(clap_folder)), CLAP_RATE
    if kind == "adapted clap":
        adapted = config.audio.model_copy(update={"lora": Lora(dropout=0.2)})
        config = config.model_copy(update={"audio": adapted})
    elif kind == "frozen clap":
        config = config.model_copy(update={"trainable": (Group.AUDIO_TOWER_LAST, Group.TEXT_HEAD)})
    elif kind == "hubert":
        config, rate = model_over(hubert_folder, clap_folder, HeadKind.MLP, TokenKind.MAP), 16_000
    plain, loss, size = learn(config, rate, recompute=False)
    model, same, less = learn(config, rate, recompute=True)
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
