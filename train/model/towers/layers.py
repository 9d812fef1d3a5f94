"""Where the layers of a transformers model are."""

from __future__ import annotations

from typing import Any, Final

from torch import nn

_LAYERS: Final = (
    "encoder.layer",  # BERT, RoBERTa, the text half of CLAP
    "encoder.layers",  # wav2vec 2.0 and its kin, the text half of CLIP
    "text_model.encoder.layers",  # the same in older transformers
    "transformer.layer",  # DistilBERT
    "block",  # T5
    "audio_encoder.layers",  # HTSAT
    "layers",  # AST, Whisper's encoder, ModernBERT, Qwen3
    "h",  # GPT-2
)
_AFTER: Final = (
    "pooler",
    "final_layer_norm",
    "text_model.final_layer_norm",
    "audio_encoder.norm",
    "layernorm",  # AST
    "layer_norm",  # Whisper's encoder
    "final_norm",  # ModernBERT
    "norm",  # Qwen3
    "ln_f",  # GPT-2
)


def layers_of(model: nn.Module) -> list[nn.Module]:
    """The layers or stages of an encoder, the first one first.

    Returns:
        Empty where the model has no layers at a known place.
    """
    for path in _LAYERS:
        if _has_submodule(model, path):
            return list(model.get_submodule(path).children())
    return []


def last_parts(model: nn.Module, count: int = 1) -> list[nn.Module]:
    """The last layers or stages of an encoder, and the norm and pooler behind them.

    Args:
        count: How many layers, at least 1.

    Returns:
        Empty where the model has no layers at a known place.
    """
    layers = layers_of(model)
    if not layers:
        return []
    after = [model.get_submodule(path) for path in _AFTER if _has_submodule(model, path)]
    config: Any = model.config
    # Other models of that family normalise before the first layer, under the same name.
    if getattr(config, "do_stable_layer_norm", False) and _has_submodule(
        model, "encoder.layer_norm"
    ):
        after.append(model.get_submodule("encoder.layer_norm"))
    return [*layers[-count:], *after]


def _has_submodule(model: nn.Module, path: str) -> bool:
    try:
        model.get_submodule(path)
    except AttributeError:
        return False
    return True
