"""Which parts of a model learn, and adapters beside frozen layers (LoRA, through peft)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from torch import nn

from synth.base.errors import SpecError
from train.config.model import Group, LastLayers, Lora
from train.model.loading import explain
from train.model.network import Clap
from train.model.towers.base import Tower

_LAST: Final = (Group.AUDIO_TOWER_LAST, Group.TEXT_TOWER_LAST)
ONE_LAYER: Final = LastLayers()


def parameter_groups(
    model: Clap, last_layers: LastLayers = ONE_LAYER
) -> Mapping[Group, list[nn.Parameter]]:
    """The parameters of each group.

    Those that nothing depends on, such as a pooler that is not heard, are in none. The `last`
    groups are parts of the tower groups, and empty where a tower has no layers. A learned mix of
    a tower's layers belongs to the head: it is not pretrained. The sigmoid bias goes with the
    temperature. Of a tower with adapters only these learn.
    """
    idle = {id(parameter) for tower in _towers(model) for parameter in _idle_parameters(tower)}
    groups = {
        group: [
            parameter
            for module in modules
            for parameter in module.parameters(recurse=False)
            if id(parameter) not in idle
        ]
        for group, modules in _modules(model, last_layers).items()
    }
    if isinstance(model.bias, nn.Parameter):
        groups[Group.TEMPERATURE].append(model.bias)
    return groups


def freeze(model: Clap, trainable: Sequence[Group], last_layers: LastLayers = ONE_LAYER) -> None:
    """Let the named groups learn, and nothing else.

    What does not learn gets no gradient, and stays as in evaluation when the model is told to
    train: its batch norms keep their statistics, and nothing of it is dropped, masked or shifted.

    Args:
        trainable: Groups that learn; a group's `last` part is named beside or instead of it.
        last_layers: How many layers the `last` groups are.
    """
    _refuse_layers(model, trainable, last_layers)
    modules, parameters = _modules(model, last_layers), parameter_groups(model, last_layers)
    model.requires_grad_(False)
    for group in trainable:
        for parameter in parameters[group]:
            parameter.requires_grad_(True)
    active = {
        id(module)
        for group in trainable
        for module in modules[group]
        if not _keeps_statistics(module)
    }
    # The model itself has no behaviour of its own, and tells whether it trains.
    model.resting = tuple(
        module for module in model.modules() if id(module) not in active and module is not model
    )
    model.train(model.training)


def _refuse_layers(model: Clap, trainable: Sequence[Group], last_layers: LastLayers) -> None:
    for group, tower in zip(_LAST, _towers(model), strict=True):
        count, depth = getattr(last_layers, group.whole), len(tower.layers())
        if group in trainable and not depth:
            raise SpecError(
                f"trainable: {group}: this tower has no last layer",
                fix=f"name {group.whole}, or drop it",
            )
        if count > max(depth, 1):
            raise SpecError(
                f"last_layers: {group.whole}: this tower has {depth} layers, not {count}",
                fix=f"give at most {depth}",
            )


def _towers(model: Clap) -> tuple[Tower, Tower]:
    return model.audio_tower, model.text_tower


def _keeps_statistics(module: nn.Module) -> bool:
    """Whether it is a batch norm whose weights are frozen, as beside adapters."""
    is_norm = isinstance(module, nn.modules.batchnorm._BatchNorm)
    return is_norm and any(not parameter.requires_grad for parameter in module.parameters())


def _idle_parameters(tower: Tower) -> list[nn.Parameter]:
    adapters = {id(weight) for weight in adapter_parameters(tower)}
    if not adapters or tower.pretrained is None:
        return tower.unused_parameters()
    base = [weight for weight in tower.pretrained.parameters() if id(weight) not in adapters]
    return [*tower.unused_parameters(), *base]


def _modules(model: Clap, last_layers: LastLayers) -> dict[Group, list[nn.Module]]:
    """The modules of each group, with those inside them."""
    audio, text = _towers(model)
    return {
        Group.AUDIO_TOWER: _own_modules(audio),
        Group.AUDIO_TOWER_LAST: _submodules(audio.last_modules(last_layers.audio_tower)),
        Group.TEXT_TOWER: _own_modules(text),
        Group.TEXT_TOWER_LAST: _submodules(text.last_modules(last_layers.text_tower)),
        Group.AUDIO_HEAD: _submodules([model.audio_head, *audio.added_modules()]),
        Group.TEXT_HEAD: _submodules([model.text_head, *text.added_modules()]),
        Group.TEMPERATURE: _submodules([model.scale]),
    }


def _own_modules(tower: Tower) -> list[nn.Module]:
    added = {id(module) for module in _submodules(tower.added_modules())}
    return [module for module in tower.modules() if id(module) not in added]


def _submodules(parts: Sequence[nn.Module]) -> list[nn.Module]:
    return [module for part in parts for module in part.modules()]


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
            names = ", ".join(sorted({path.rpartition(".")[2] for path in linear}))
            raise SpecError(
                f"model.{name}.lora.target: the tower has no layer {target!r}",
                fix=f"choose of {names}, or drop `target` for all",
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
