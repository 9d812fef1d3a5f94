"""LoRA through peft: adapters beside the frozen linear layers of a transformers model."""

from __future__ import annotations

from torch import nn

from synth.base.errors import SpecError
from train.config.model import Lora
from train.model.loading import explain
from train.model.network import Clap
from train.model.towers.base import Tower

_MARK = "lora_"
"""What peft's names of an adapter's parts begin with."""


def add_adapters(tower: Tower, settings: Lora, name: str) -> None:
    """Put adapters beside the linear layers of a tower; they change nothing until they learn.

    Args:
        name: What errors call the tower: `audio` or `text`.
    """
    try:
        from peft import LoraConfig, inject_adapter_in_model
    except ImportError as error:
        raise SpecError(
            f"model.{name}.lora: peft is not installed",
            fix="pip install 'segue-audio[lora]', or drop `lora`",
        ) from error
    model = tower.pretrained
    if model is None:
        raise SpecError(f"model.{name}.lora: the tower is not of transformers", fix="drop it")
    linear = [path for path, module in model.named_modules() if isinstance(module, nn.Linear)]
    for target in settings.target:
        if not any(f".{path}".endswith(f".{target}") for path, _ in model.named_modules()):
            there = ", ".join(sorted({path.rpartition(".")[2] for path in linear}))
            raise SpecError(
                f"model.{name}.lora.target: the tower has no layer {target!r}",
                fix=f"choose of {there}, or drop `target` for all",
            )
    config = LoraConfig(
        r=settings.rank,
        lora_alpha=settings.alpha,
        lora_dropout=settings.dropout,
        target_modules=list(settings.target) or "all-linear",
    )
    try:
        inject_adapter_in_model(config, model)
    except ValueError as error:  # a target that is no layer with weights
        raise SpecError(
            f"model.{name}.lora: {explain(error)}", fix="choose linear layers"
        ) from error


def adapter_parameters(tower: Tower) -> list[nn.Parameter]:
    """The parameters of a tower's adapters; empty where it has none."""
    return [
        parameter
        for path, parameter in tower.named_parameters()
        if any(part.startswith(_MARK) for part in path.split("."))
    ]


def merge_adapters(model: Clap) -> None:
    """Add what adapters have learnt to the weights beside them, and remove the adapters.

    The embeddings stay as they are, but for the last bits.

    Args:
        model: Is changed; may have no adapters.
    """
    for tower in (model.audio_tower, model.text_tower):
        inside = tower.pretrained
        if inside is None or not adapter_parameters(tower):
            continue
        from peft.tuners.lora import LoraLayer

        for path, module in list(inside.named_modules()):
            if isinstance(module, LoraLayer):
                module.merge()
                inside.set_submodule(path, module.get_base_layer())
        del inside.peft_config
