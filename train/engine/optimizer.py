"""The optimizer of a run: which parameters learn, each at its own rate."""

from __future__ import annotations

import math

import torch
from torch import nn

from synth.base.errors import SpecError
from train.config.model import Group
from train.config.run import Decay, TrainConfig
from train.model.clap import Clap
from train.model.freezing import parameter_groups

PEAK = "peak"
"""Under which the optimizer, and so a checkpoint, keeps the peak rate of some parameters."""
_LEAST = 1e-3


def build_optimizer(model: Clap, config: TrainConfig, device: torch.device) -> torch.optim.AdamW:
    """AdamW over the parameters that learn, those of equal rate and weight decay together."""
    peaks = peak_rates(model, config)
    # Weight decay pulls towards zero, which is no neutral value for gains, biases and temperature.
    together: dict[tuple[float, float], list[nn.Parameter]] = {}
    for decays in (True, False):
        for parameter in model.parameters():
            if parameter.requires_grad and decays == (parameter.dim() > 1):
                key = peaks[id(parameter)], config.weight_decay if decays else 0.0
                together.setdefault(key, []).append(parameter)
    groups = [
        {"params": parameters, "weight_decay": decay, PEAK: peak}
        for (peak, decay), parameters in together.items()
    ]
    return torch.optim.AdamW(
        groups, lr=config.lr, betas=config.betas, eps=config.eps, fused=is_fused(device)
    )


def peak_rates(model: Clap, config: TrainConfig) -> dict[int, float]:
    """The peak rate of every parameter, by its id."""
    rates = dict.fromkeys(map(id, model.parameters()), config.lr)
    groups = parameter_groups(model, config.model.last_layers)
    for group in Group:  # a tower stands before its last layers
        if group in config.lr_of:
            if not groups[group]:
                raise SpecError(f"lr_of: {group}: this model has no such part", fix="drop it")
            rates |= dict.fromkeys(map(id, groups[group]), config.lr_of[group])
    if config.layer_decay < 1:
        for index, factor in layer_factors(model, config.layer_decay).items():
            rates[index] *= factor
    return rates


def layer_factors(model: Clap, decay: float) -> dict[int, float]:
    """What the rate of each parameter of the towers is multiplied by, by its id.

    The last layer of a tower, and what stands behind it, has all of the rate, and every layer
    below `decay` times that of the one above. What stands before the first layer counts as one
    more.
    """
    factors: dict[int, float] = {}
    for tower in (model.audio_tower, model.text_tower):
        layers = tower.layers()
        if not layers or tower.pretrained is None:
            continue
        factors |= dict.fromkeys(map(id, tower.pretrained.parameters()), decay ** len(layers))
        for depth, layer in enumerate(reversed(layers)):
            factors |= dict.fromkeys(map(id, layer.parameters()), decay**depth)
        for module in tower.last_modules():
            factors |= dict.fromkeys(map(id, module.parameters()), 1.0)
    if not factors:
        raise SpecError("layer_decay: no tower has layers at a known place", fix="drop it")
    return factors


def set_rates(optimizer: torch.optim.Optimizer, config: TrainConfig, step: int) -> None:
    """Give every parameter the rate of a step."""
    for group in optimizer.param_groups:
        group["lr"] = rate_at(group[PEAK], config, step)


def rate_at(peak: float, config: TrainConfig, step: int) -> float:
    """The rate of a step where the peak is `peak`."""
    return learning_rate(step, config.steps, peak, config.warmup, config.schedule)


def learning_rate(
    step: int, steps: int, peak: float, warmup: float, decay: Decay = Decay.COSINE
) -> float:
    """Learning rate: linear rise to `peak`, then down to nearly nothing, or on.

    Args:
        step: From 0 to `steps - 1`.
        warmup: Share of the run in which the rate rises, 0 to 1.
    """
    rise = max(round(warmup * steps), 1)
    if step < rise:
        return peak * (step + 1) / rise
    fallen = (step + 1 - rise) / max(steps - rise, 1)
    match decay:
        case Decay.COSINE:
            share = (1 + math.cos(math.pi * fallen)) / 2
        case Decay.LINEAR:
            share = 1 - fallen
        case Decay.CONSTANT:
            share = 1.0
    return peak * max(share, _LEAST)


def is_fused(device: torch.device) -> bool:
    """Whether the optimizer steps in one kernel, which on the device can leave a step out."""
    return device.type != "mps"
