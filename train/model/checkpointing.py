"""Activation checkpointing: layers whose inner values are computed again in the backward pass."""

from __future__ import annotations

from functools import partial
from typing import Any

from torch import nn
from torch.utils.checkpoint import checkpoint

from synth.base.errors import SpecError
from train.model.network import Clap


def checkpoint_activations(model: Clap) -> None:
    """Let the layers of the towers keep their inputs alone for the backward pass.

    Loss and gradients stay the same, dropout included. It does not rest on what transformers has
    for this, which its CLAP does not support and which leaves out layers in evaluation, as those
    under adapters may be.

    Args:
        model: Is changed. A copy that is made of it later keeps all values.
    """
    towers = (model.audio_tower, model.text_tower)
    layers = [layer for tower in towers for layer in tower.layers()]
    if not layers:
        raise SpecError(
            "checkpoint_activations: no tower has layers at a known place", fix="drop it"
        )
    for tower in towers:
        config: Any = getattr(tower.pretrained, "config", None)
        if getattr(config, "use_cache", False):
            config.use_cache = False  # it would be filled a second time
    for layer in layers:
        # The stages of an HTSAT are few and large.
        for part in getattr(layer, "blocks", [layer]):
            _recompute(part)


def _recompute(layer: nn.Module) -> None:
    layer.forward = partial(checkpoint, layer.forward, use_reentrant=False)
